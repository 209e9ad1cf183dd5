// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"

namespace dlock::stores::mysql {

enum class tls_mode { off, prefer, require, verify };

/// How to reach the servers of a mysql:// URL, checked. dlock/stores/mysql.hpp documents the parameters.
struct mysql_settings {
  std::string name{};  ///< the URL without its password
  std::string user{};
  std::string password{};
  std::string credentials{};                 ///< of set_mysql_credentials(), in the place of user and password
  std::vector<store_url::endpoint> hosts{};  ///< never empty; with a socket one without a name
  std::string socket{};
  std::string database{};
  tls_mode tls = tls_mode::prefer;
  std::string tls_ca{};
  std::string tls_cert{};
  std::string tls_key{};
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};

  /// Takes its parameters out of the URL, so that those of a scheme remain. Throws std::invalid_argument naming the
  /// parameter and its value.
  static mysql_settings take(store_url& url);
  /// The user and password of a connection that is made now. Throws what the function of set_mysql_credentials()
  /// throws.
  stores::mysql_login login() const;
  /// "host:port" or the socket's path, for messages.
  std::string where(const store_url::endpoint& host) const;
};

/// The hosts of one URL: the order in which they are tried, and each one's share of the time. No I/O and no clock of
/// its own. Thread safety: all functions may be called from any thread.
class mysql_hosts {
 public:
  using clock = std::chrono::steady_clock;

  /// `longest` is the longest share of one host.
  mysql_hosts(std::size_t count, microseconds longest);

  /// The host that worked last comes first, then the others in the URL's order. Hosts that failed within the last
  /// minute come last: first those that failed at once, which cost no time, then those that timed out. The one of these
  /// that had the least time is the very last, because that gets the most.
  std::vector<std::size_t> order(clock::time_point now) const;

  /// How long to try a host, with `remaining` time left and `others` to try after it. The last one gets the longest
  /// share, because giving it up early gains nothing. The others get an equal share of the time: at most a second, but
  /// at least 100 ms and twice what their last connection took.
  microseconds share(std::size_t host, std::size_t others, microseconds remaining) const;

  void succeeded(std::size_t host, microseconds took);
  /// `allowed` is the share that ran out, or 0 if it failed before.
  void failed(std::size_t host, clock::time_point now, microseconds allowed);

  /// A server that accepts no more locks (read-only, outside its cluster) keeps its connections. After one of them has
  /// noticed that, all that were made before must not be used again. `seen` is refusals() at the time when that one was
  /// made.
  void refuses(std::size_t host, std::uint64_t seen, clock::time_point now);
  /// How often refuses() was called.
  std::uint64_t refusals(std::size_t host) const noexcept {
    return states_[host].refusals.load(std::memory_order_acquire);
  }

 private:
  struct state {
    microseconds took{0};        // how long its last connection took to make
    clock::time_point failed{};  // its last failure, unless it has worked since
    microseconds allowed{0};     // the share that ran out then; 0 if it failed before
    std::atomic<std::uint64_t> refusals{0};
  };

  const microseconds longest_;
  mutable base::mutex mutex_;
  std::vector<state> states_;  // guarded by mutex_, except refusals
  std::size_t good_ DLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace dlock::stores::mysql
