// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores::mysql {

enum class tls_mode { off, prefer, require, verify };

/// How a mysql:// URL says that its servers are reached, checked. dlock/stores/mysql.hpp documents the parameters.
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
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};

  /// Takes its parameters out of the URL, so that those of a scheme are left. Throws std::invalid_argument naming the
  /// parameter and its value.
  static mysql_settings take(store_url& url);
  /// "host:port" or the socket's path, for messages.
  std::string where(const store_url::endpoint& host) const;
};

}  // namespace dlock::stores::mysql
