// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <semaphore>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/key_listeners.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/parked/parked_connection.hpp"
#include "stores/mysql/parked/waiter_table.hpp"
#include "stores/sql/deadlock_cycles.hpp"

namespace dlock::stores::mysql::parked {

/// The keys that this process waits for, and the connection on which a release of another process wakes it. Each key
/// has a row in the waiter table. One connection for all of them sleeps at the server while it has the process's wake
/// id, a named lock; a release finds the first row whose wake id is held, and ends that sleep by KILL QUERY. Another
/// connection writes the rows, and looks at the keys after each sleep and now and then: a key that became free without
/// a ring is found so. One thread, which begins with the first watch. Thread safety: all functions from any thread.
class parked_waiters {
 public:
  /// A key is looked at so long after its row was written, then after four times as long each time, up to `last_look`.
  /// It bounds what a lost ring costs.
  static constexpr std::chrono::milliseconds first_look{25};
  static constexpr std::chrono::milliseconds last_look{4'000};

  /// `client` must outlive it.
  parked_waiters(mysql_client& client, waiter_sql sql, waiter_table::report says)
      : client_(client), sql_(std::move(sql)), says_(std::move(says)), table_(sql_, says_) {}
  ~parked_waiters();
  parked_waiters(const parked_waiters&) = delete;
  parked_waiters& operator=(const parked_waiters&) = delete;

  /// What store::watch() and unwatch() say.
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept;
  void unwatch(std::string_view key, key_listener& listener) noexcept;
  /// What the key's listeners say of locks that are held has changed.
  void changed(std::string_view key) noexcept;

  /// What execute() does, and operators ask.
  waiter_table& table() noexcept { return table_; }
  const waiter_table& table() const noexcept { return table_; }
  /// Tells those of this process that wait what was done.
  void note_done(std::span<const request> requests, std::span<const reply> replies) noexcept;

 private:
  using clock = std::chrono::steady_clock;
  struct watched_key {
    key_listeners listeners{};
    id128 session{};
    bool registered = false;  ///< it has a row
    bool stale = false;       ///< that is of a wait which a grant has ended: another wait has another place
    bool was_rung = false;    ///< perhaps by a release that took this process for the next
    std::uint64_t fence = 0;  ///< as the last look has seen it; 0: none has
    bool missed = false;      ///< it was found free without a ring
    held_meanwhile held{};    ///< as its row has it
    std::string text{};       ///< likewise
    bool asked = false;       ///< a look asks about it
  };

  void run(const std::stop_token& stop) noexcept;
  void serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  bool work(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  void hear_notes() DLOCK_REQUIRES(mutex_);
  bool connected(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  bool enter_new() DLOCK_REQUIRES(mutex_);
  bool leave_old() DLOCK_REQUIRES(mutex_);
  bool enter_held() DLOCK_REQUIRES(mutex_);
  held_meanwhile held_by_waiters(const watched_key& about) const DLOCK_REQUIRES(mutex_);
  bool write_held(const std::string& key, const std::string& held, std::optional<std::uint64_t> since)
      DLOCK_REQUIRES(mutex_);
  bool break_cycles(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool look(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool drop_dead_rows(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool awake() DLOCK_REQUIRES(mutex_);
  bool wake_next(const std::string& keys, bool held_too) DLOCK_REQUIRES(mutex_);
  template <class Step>
  bool at_server(Step step) DLOCK_REQUIRES(mutex_);
  bool ask(const std::string& sql, const char* doing, mysql_rows* rows) DLOCK_REQUIRES(mutex_);
  bool failed(const fault& why) DLOCK_REQUIRES(mutex_);
  bool give_up(const std::string& why) DLOCK_REQUIRES(mutex_);
  void lost() noexcept DLOCK_REQUIRES(mutex_);
  void wind_up() noexcept DLOCK_REQUIRES(mutex_);
  bool wanted() const noexcept DLOCK_REQUIRES(mutex_);
  clock::time_point next_time() const DLOCK_REQUIRES(mutex_);

  mysql_client& client_;
  const waiter_sql sql_;
  const waiter_table::report says_;
  waiter_table table_;
  const base::wake_event changed_{"dlock: a file descriptor for waiting"};
  // The thread's:
  parked_connection link_{};
  bool new_sleep_ = false;  // no key was looked at since it began
  bool killed_ = false;     // its last sleep was ended
  clock::time_point look_at_{};
  std::chrono::milliseconds look_after_{first_look};
  clock::time_point dead_rows_at_{};
  clock::time_point off_until_{};
  clock::time_point idle_since_{};
  unsigned missed_ = 0;  // looks that found keys free without a ring, one after the other
  clock::time_point missed_at_{};
  std::string said_{};

  base::mutex mutex_;  // held while a listener is notified, so that none is after unwatch()
  std::map<std::string, watched_key, std::less<>> keys_ DLOCK_GUARDED_BY(mutex_){};
  key_notes notes_{};
  std::binary_semaphore ended_{0};    // the thread has done all that needs the server
  base::background_thread thread_{};  // ends before what it uses
};

}  // namespace dlock::stores::mysql::parked
