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

/// How a mysql:// URL says that its servers are reached, checked. dlock/stores/mysql.hpp documents the parameters.
struct mysql_settings {
  std::string name{};  ///< the URL without its password
  std::string user{};
  std::string password{};
  std::string credentials{};                 ///< of set_mysql_credentials(), in the place of user and password
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
  /// By whom, and by which password, a connection that is made now logs in. Throws what the function of
  /// set_mysql_credentials() throws.
  stores::mysql_login login() const;
  /// "host:port" or the socket's path, for messages.
  std::string where(const store_url::endpoint& host) const;
};

/// Several hosts in one URL: in which order they are tried, and how much of the time each of them gets. No I/O and no
/// clock of its own. Thread safety: all functions may be called from any thread.
class mysql_hosts {
 public:
  using clock = std::chrono::steady_clock;

  /// `longest`: what one host gets at most.
  mysql_hosts(std::size_t count, microseconds longest);

  /// The host that worked last comes first, then the others as the URL has them. Those that failed within the last
  /// minute come after these: first the quick ones, which cost no time, then those that did not answer in theirs. Of
  /// these the one that was given the least comes last, where it gets the most.
  std::vector<std::size_t> order(clock::time_point now) const;

  /// How long a host is tried, with so much time left and `others` to be tried after it. The last one gets all that a
  /// host can get, because nothing is won by giving it up. The others get an equal share of the time, at most a second,
  /// but at least 100 ms and twice what their last connection took.
  microseconds share(std::size_t host, std::size_t others, microseconds remaining) const;

  void succeeded(std::size_t host, microseconds took);
  /// `allowed`: what it was given, if that ran out; else 0.
  void failed(std::size_t host, clock::time_point now, microseconds allowed);

  /// A server that takes part no more (read-only, outside its cluster) keeps its connections. After one of them has
  /// found that out, all that were made before are of no more use. `seen`: what refusals() was when that one was made.
  void refuses(std::size_t host, std::uint64_t seen, clock::time_point now);
  /// How often that happened.
  std::uint64_t refusals(std::size_t host) const noexcept {
    return states_[host].refusals.load(std::memory_order_acquire);
  }

 private:
  struct state {
    microseconds took{0};        // its last connection
    clock::time_point failed{};  // its last failure, if it failed since it worked
    microseconds allowed{0};     // what ran out then; 0: it failed before
    std::atomic<std::uint64_t> refusals{0};
  };

  const microseconds longest_;
  mutable base::mutex mutex_;
  std::vector<state> states_;  // guarded by mutex_, but for refusals
  std::size_t good_ DLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace dlock::stores::mysql
