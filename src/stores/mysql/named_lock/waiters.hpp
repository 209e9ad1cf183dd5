// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store/store.hpp"
#include "stores/mysql/client/bound_link.hpp"
#include "stores/mysql/client/client.hpp"

namespace dlock::stores::mysql::named_lock {

/// Connections that wait at the server for keys in their callers' place, a few for all keys: each gets the lock of one key,
/// frees it in the same statement, and tells. A key for which there is none is not told of. One thread, which begins with the
/// first watch. Thread safety: all functions may be called from any thread.
class waiters {
 public:
  /// `client` must outlive it.
  waiters(mysql_client& client, std::string prefix, std::size_t most);
  ~waiters();
  waiters(const waiters&) = delete;
  waiters& operator=(const waiters&) = delete;

  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept;
  void unwatch(std::string_view key, const id128& session, key_listener& listener) noexcept;

 private:
  using clock = std::chrono::steady_clock;
  struct watched {
    std::vector<std::pair<id128, key_listener*>> listeners{};
    bool begins = false;              ///< somebody is to be told that it works
    clock::time_point rests_until{};  ///< whoever was told takes the key meanwhile
  };
  /// One connection.
  struct slot {
    std::unique_ptr<mysql_connection> link{};
    std::string key{};  ///< what it waits for; empty: nothing
    clock::time_point until{};
  };

  bool start() noexcept DLOCK_REQUIRES(mutex_);
  void run(const std::stop_token& end);
  void serve(base::unique_lock& lock, const std::stop_token& end) DLOCK_REQUIRES(mutex_);
  void assign(base::unique_lock& lock, const std::stop_token& end) DLOCK_REQUIRES(mutex_);
  slot* free_slot() DLOCK_REQUIRES(mutex_);
  bool connect(slot& with, base::unique_lock& lock, const std::stop_token& end) DLOCK_REQUIRES(mutex_);
  void send(slot& with, const std::string& key) DLOCK_REQUIRES(mutex_);
  void answered(slot& with) DLOCK_REQUIRES(mutex_);
  void lost(slot& with) DLOCK_REQUIRES(mutex_);
  static void tell(const watched& about, bool works) noexcept;
  slot* waiting_for(std::string_view key) DLOCK_REQUIRES(mutex_);
  std::optional<clock::time_point> next_time() const DLOCK_REQUIRES(mutex_);

  mysql_client& client_;
  const std::string prefix_;
  const pid_t made_in_;
  caller_signal end_{};
  int wake_;  // an eventfd
  base::mutex mutex_;
  std::map<std::string, watched, std::less<>> keys_ DLOCK_GUARDED_BY(mutex_){};
  std::vector<slot> slots_ DLOCK_GUARDED_BY(mutex_);  // the links are the thread's
  clock::time_point retry_at_ DLOCK_GUARDED_BY(mutex_){};
  bool failed_ DLOCK_GUARDED_BY(mutex_) = false;  // there is no thread to be had
  std::jthread thread_{};
};

}  // namespace dlock::stores::mysql::named_lock
