// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A store is chosen by URL:
///   mysql://user:password@host:port,host2:port2/database?socket=/run/m.sock&tls=verify&...     mariadb: is the same
///   sqlite:relative/or/absolute/path?schema=verify      sqlite:///absolute/path      memory:name
///   redis://user:password@host:port/0     redlock://a,b,c/0     zookeeper://a,b,c/path

#include "dlock/detail/cxx20.hpp"
//
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

class store;

/// A parsed URL. Percent-escapes are decoded: needed for '?', '%' and the ':' '/' '@' of a user, '?' and '%' of a
/// password, '@' in a parameter. Owning.
struct store_url {
  struct endpoint {
    std::string host{};
    std::uint16_t port = 0;  ///< 0 for the store's default
  };
  std::string scheme{};
  std::string user{};
  std::string password{};
  std::vector<endpoint> hosts{};
  std::string path{};  ///< database or file; without its leading '/' after hosts or a user
  std::map<std::string, std::string> params{};
  /// There is no '@' before the path, or the scheme is unknown: what looks like the rest may be a password after which
  /// '@' and host were forgotten. Then errors name no parameter.
  bool unclear = false;

  /// Parses a URL.
  /// Errors: std::invalid_argument with the reason. The text quotes nothing between "//" and the path, because a
  /// password may be anywhere there.
  static store_url parse(std::string_view text);
  /// The URL again, with `***` for the password. Parameters named like secrets are hidden too.
  std::string redacted() const;

  /// Removes and returns a parameter, or `fallback`. Stores take all they know, then call expect_no_more_params().
  std::string take_param(const std::string& name, std::string fallback = {});
  /// Likewise a whole number. `unit`: for the text.
  /// Errors: std::invalid_argument, naming the parameter, its value and the range.
  std::int64_t take_number(const std::string& name, std::int64_t fallback, std::int64_t least, std::int64_t most,
                           std::string_view unit = {});
  /// Called when all known parameters are taken, because a typo must not be ignored.
  /// Errors: std::invalid_argument, a parameter remains; names the first (unless unclear).
  void expect_no_more_params() const;
};

using store_factory = std::function<std::shared_ptr<store>(store_url)>;

/// Makes `scheme` known to open_store(). Linking dlock::sqlite or dlock::mysql does it for theirs (see dlock/stores/).
/// Returns false if it was known before.
/// Thread safety: any thread.
DLOCK_EXPORT bool register_store(std::string scheme, store_factory make);

/// Makes the store that the URL names, which connects to nothing yet.
/// Errors: std::invalid_argument, a bad URL or a scheme that no linked library serves.
DLOCK_EXPORT std::shared_ptr<store> open_store(std::string_view url);

}  // namespace dlock
