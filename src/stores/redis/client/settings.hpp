// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/redis.hpp"
#include "stores/redis/client/tls.hpp"

namespace dlock::stores::redis {

/// How much of the data survives a crash of the server, from the least on.
enum class persistence { none, everysec, always };

/// How to reach the servers of a redis:// URL, checked. dlock/stores/redis.hpp documents the parameters.
struct redis_settings {
  std::string name{};  ///< the URL without its password
  std::string user{};
  std::string password{};
  std::string credentials{};                 ///< of set_redis_credentials(), in the place of user and password
  std::vector<store_url::endpoint> hosts{};  ///< never empty; with a socket one without a name
  std::string socket{};
  std::string database{};  ///< its number
  tls_settings tls{};
  std::string sentinel{};  ///< the name of the primary if the hosts are sentinels
  std::string sentinel_user{};
  std::string sentinel_password{};
  persistence least = persistence::everysec;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};
  std::string prefix{};  ///< of the keys; may be empty
  bool expire = true;    ///< locks have an expiry in the server
  bool wake = true;      ///< scheme=setnx, redlock: dlock's releases notify waiters

  /// For scheme=setnx. This and the functions below throw std::invalid_argument naming the parameter and its value.
  static redis_settings parse(store_url url);
  /// Takes its parameters out of the URL, so that those of a scheme remain. `default_prefix` is empty if keys need
  /// none.
  static redis_settings take(store_url& url, const std::string& default_prefix = {});
  /// The login of a connection that is made now. Throws std::runtime_error if the function of set_redis_credentials()
  /// threw.
  stores::redis_login login() const;
  /// "host:port" or the socket's path, for messages.
  std::string where(const store_url::endpoint& host) const;

 protected:
  void take_wake(store_url& url);
};

/// For scheme=leases.
struct lease_settings : redis_settings {
  bool by_clock = true;  ///< fencing tokens come from the clock

  static lease_settings parse(store_url url);
};

/// A redlock:// URL, checked. dlock/stores/redlock.hpp documents the parameters.
struct redlock_settings : redis_settings {
  std::chrono::milliseconds master_timeout{200};
  std::chrono::milliseconds restart_delay{60'000};

  static redlock_settings parse(store_url url);
  /// How many masters must agree.
  std::size_t quorum() const noexcept { return hosts.size() / 2 + 1; }
};

}  // namespace dlock::stores::redis
