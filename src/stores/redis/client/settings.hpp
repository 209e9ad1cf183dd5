// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "stores/redis/client/tls.hpp"

namespace dlock::stores::redis {

/// What is left of the data after a crash of the server, from the least on.
enum class persistence { none, everysec, always };

/// How a redis:// URL says that its servers are reached, checked. dlock/stores/redis.hpp documents the parameters.
struct redis_settings {
  std::string name{};  ///< the URL without its password
  std::string user{};
  std::string password{};
  std::vector<store_url::endpoint> hosts{};  ///< never empty; with a socket: one without a name
  std::string socket{};
  std::string database{};  ///< its number
  tls_settings tls{};
  std::string sentinel{};  ///< the name of the primary that the hosts, which are sentinels then, know
  std::string sentinel_user{};
  std::string sentinel_password{};
  persistence least = persistence::everysec;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};

  /// Takes its parameters out of the URL, so that those of a scheme are left. Throws std::invalid_argument naming the
  /// parameter and its value.
  static redis_settings take(store_url& url);
  /// Throws std::invalid_argument for a prefix that no key's name may begin with.
  static std::string checked_prefix(std::string text);
  /// "host:port" or the socket's path, for messages.
  std::string where(const store_url::endpoint& host) const;
};

}  // namespace dlock::stores::redis
