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
#include <vector>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/key_listeners.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/parked/parked_connection.hpp"
#include "stores/mysql/parked/waiter_table.hpp"
#include "stores/sql/deadlock_cycles.hpp"

namespace dlock::stores::mysql::parked {

/// The keys that this process waits for, and the connection on which a release by another process wakes it. Each key
/// has a row in the waiter table. One connection for all keys sleeps at the server and holds the process's wake id, a
/// named lock; a release finds the first row whose wake id is held, and ends that sleep by KILL QUERY. Another
/// connection writes the rows. It checks the keys after each sleep and now and then, to find keys that became free
/// without a wake-up. It has one thread, which starts with the first watch. Thread safety: all functions from any
/// thread.
class parked_waiters {
 public:
  /// A key is checked this long after its row was written, then after four times as long each time, up to `last_look`.
  /// That bounds the cost of a lost wake-up.
  static constexpr std::chrono::milliseconds first_look{25};
  static constexpr std::chrono::milliseconds last_look{4'000};

  /// `client` must outlive it.
  parked_waiters(mysql_client& client, waiter_sql sql, waiter_table::report says)
      : client_(client), sql_(std::move(sql)), says_(std::move(says)), table_(sql_, says_) {}
  ~parked_waiters();
  parked_waiters(const parked_waiters&) = delete;
  parked_waiters& operator=(const parked_waiters&) = delete;

  /// See store::watch() and unwatch().
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept;
  void unwatch(std::string_view key, key_listener& listener) noexcept;
  /// The locks that the key's listeners hold have changed.
  void changed(std::string_view key) noexcept;

  /// For execute() and operators.
  waiter_table& table() noexcept { return table_; }
  const waiter_table& table() const noexcept { return table_; }
  /// Notifies waiters of this process of the results.
  void note_done(std::span<const request> requests, std::span<const reply> replies) noexcept;

 private:
  using clock = std::chrono::steady_clock;
  struct watched_key {
    key_listeners listeners{};
    id128 session{};
    clock::time_point begun{};  ///< of the wait, which is also its place in the order
    bool registered = false;    ///< it has a row
    bool stale = false;         ///< its row is of a wait that a grant has ended; a new wait has another place
    bool was_rung = false;      ///< a release may have taken this process for the next waiter
    std::uint64_t fence = 0;    ///< as the last check read it; 0 if none did
    bool missed = false;        ///< it was found free without a wake-up
    bool second = false;        ///< one row is ahead of its own
    held_meanwhile held{};      ///< as written in its row
    std::string text{};         ///< likewise
    bool asked = false;         ///< a check is reading it
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
  enum class look_at : std::uint8_t { all_keys, second_keys };
  bool look(clock::time_point now, look_at which = look_at::all_keys, bool rung = false) DLOCK_REQUIRES(mutex_);
  bool look_for_free() DLOCK_REQUIRES(mutex_);
  bool let_first(const std::vector<std::pair<std::string, std::uint64_t>>& keys) DLOCK_REQUIRES(mutex_);
  bool drop_dead_rows(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool awake() DLOCK_REQUIRES(mutex_);
  bool wake_next(const std::string& keys, bool held_too) DLOCK_REQUIRES(mutex_);
  template <class Step>
  bool at_server(Step step) DLOCK_REQUIRES(mutex_);
  bool ask(const std::string& sql, const char* doing, mysql_rows* rows) DLOCK_REQUIRES(mutex_);
  bool failed(const fault& why, bool lacks_table) DLOCK_REQUIRES(mutex_);
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
  bool new_sleep_ = false;       // no key was checked since it began
  bool killed_ = false;          // KILL ended its last sleep
  bool entries_change_ = false;  // a row may have to be written or deleted
  clock::time_point look_at_{};
  clock::time_point second_look_at_{};
  std::chrono::milliseconds look_after_{first_look};
  clock::time_point dead_rows_at_{};
  clock::time_point off_until_{};
  clock::time_point idle_since_{};
  unsigned missed_ = 0;  // how many checks in a row found keys free without a wake-up
  clock::time_point missed_at_{};
  std::string said_{};

  base::mutex mutex_;  // locked while a listener is notified, so that no notification follows after unwatch()
  std::map<std::string, watched_key, std::less<>> keys_ DLOCK_GUARDED_BY(mutex_){};
  key_notes notes_{};
  std::binary_semaphore ended_{0};    // the thread needs the server no more
  base::background_thread thread_{};  // destroyed before what it uses
};

}  // namespace dlock::stores::mysql::parked
