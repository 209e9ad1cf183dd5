// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "dlock/store/store_url.hpp"
#include "stores/sql/schema.hpp"

namespace dlock::detail {

enum class tls_mode { off, prefer, require, verify };

/// A mysql:// URL, checked. dlock/stores/mysql.hpp documents the parameters.
struct mysql_settings {
  std::string name{};  ///< the URL without its password
  std::string user{};
  std::string password{};
  std::vector<store_url::endpoint> hosts{};  ///< never empty; with a socket: one without a name
  std::string socket{};
  std::string database{};
  tls_mode tls = tls_mode::prefer;
  std::string tls_ca{};
  std::string tls_cert{};
  std::string tls_key{};
  schema_mode schema = schema_mode::create;
  std::string prefix{};
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};

  /// Throws std::invalid_argument naming the parameter and its value.
  static mysql_settings parse(store_url url);
  /// "host:port" or the socket's path, for messages.
  std::string where(const store_url::endpoint& host) const;
};

}  // namespace dlock::detail
