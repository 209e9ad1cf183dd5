// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/key_waiters.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/parked/parked_connection.hpp"
#include "stores/mysql/parked/waiter_table.hpp"

namespace dlock::stores::mysql::parked {

/// What the waiter table has of a key that this process waits for.
struct parked_key {
  bool registered = false;  ///< it has a row
  std::uint64_t since = 0;  ///< when the wait began, as its row says it; 0: unknown, because of a trigger
  bool stale = false;       ///< its row is of a wait that a grant has ended; a new wait has another place
  bool was_rung = false;    ///< a release may have taken this process for the next waiter
  std::uint64_t fence = 0;  ///< as the last check read it; 0 if none did
  bool missed = false;      ///< it was found free without a wake-up
  bool second = false;      ///< one row is ahead of its own
  std::string text{};       ///< the held locks as written in its row
  bool asked = false;       ///< a check is reading it
};

/// The connection on which a release by another process wakes this one. Each key has a row in the waiter table. One
/// connection for all keys sleeps at the server and holds the process's wake id, a named lock; a release finds the
/// first row whose wake id is held, and ends that sleep by KILL QUERY. Another connection writes the rows. It checks
/// the keys after each sleep and now and then, to find keys that became free without a wake-up.
class parked_waiters final : public key_waiters<parked_key> {
 public:
  /// A key is checked this long after its row was written, 16 times as long after that, and then after four times as
  /// long each time, up to `last_look`. That bounds the cost of a lost wake-up.
  static constexpr std::chrono::milliseconds first_look{25};
  static constexpr std::chrono::milliseconds last_look{4'000};

  /// `client` must outlive it.
  parked_waiters(mysql_client& client, waiter_sql sql, report says)
      : key_waiters(says), client_(client), sql_(std::move(sql)), table_(sql_, std::move(says)) {}
  ~parked_waiters();

  /// For execute() and operators.
  waiter_table& table() noexcept { return table_; }
  const waiter_table& table() const noexcept { return table_; }
  /// Notifies waiters of this process of the results.
  void note_done(std::span<const request> requests, std::span<const reply> replies) noexcept;
  /// The same about members of a key. Nothing if a waiter of another process was woken, which comes first.
  void note_shared(const request& asked, const reply& answer) noexcept;
  /// A service has looked for waiters of its keys, so its bell can ring again.
  void bell_heard() noexcept;

 private:
  void entered(place at) DLOCK_REQUIRES(mutex_) override;
  void left(place) noexcept DLOCK_REQUIRES(mutex_) override { change_entries(); }
  void held_changed(place) DLOCK_REQUIRES(mutex_) override { change_entries(); }
  bool serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_) override;
  clock::time_point next(clock::time_point served) const DLOCK_REQUIRES(mutex_) override;
  void wait(clock::time_point until) DLOCK_REQUIRES(mutex_) override;
  void interrupt() noexcept DLOCK_REQUIRES(mutex_) override { link_.interrupt(); }
  void close() noexcept DLOCK_REQUIRES(mutex_) override;
  void wind_up() noexcept DLOCK_REQUIRES(mutex_) override;

  void change_entries() noexcept DLOCK_REQUIRES(mutex_);
  void hear_notes() DLOCK_REQUIRES(mutex_);
  bool connected(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  bool enter_new() DLOCK_REQUIRES(mutex_);
  bool fall_asleep() DLOCK_REQUIRES(mutex_);
  void begin_new_sleep() DLOCK_REQUIRES(mutex_);
  void inform_new() DLOCK_REQUIRES(mutex_);
  bool any_informed() const DLOCK_REQUIRES(mutex_);
  void end_settling() noexcept;
  void begin_settling() DLOCK_REQUIRES(mutex_);
  bool settles(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool wake_next_of_left() DLOCK_REQUIRES(mutex_);
  bool leave_old(bool ends = false) DLOCK_REQUIRES(mutex_);
  struct own_rows;
  std::string with_rows(const std::string& sql, const own_rows& rows) const;
  bool enter_held() DLOCK_REQUIRES(mutex_);
  bool write_held(const std::string& key, const std::string& held, std::optional<std::uint64_t> since)
      DLOCK_REQUIRES(mutex_);
  bool look_for_cycles(clock::time_point now) DLOCK_REQUIRES(mutex_);
  enum class look_at : std::uint8_t { all_keys, second_keys };
  bool look(clock::time_point now, look_at which = look_at::all_keys, bool rung = false) DLOCK_REQUIRES(mutex_);
  bool look_for_free() DLOCK_REQUIRES(mutex_);
  bool look_for_room(bool rung) DLOCK_REQUIRES(mutex_);
  bool has_one_listener() const noexcept DLOCK_REQUIRES(mutex_);
  bool let_first(const std::vector<std::pair<std::string, std::uint64_t>>& keys) DLOCK_REQUIRES(mutex_);
  bool drop_dead_rows(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool awake() DLOCK_REQUIRES(mutex_);
  bool wake_next(const std::string& keys, bool held_too) DLOCK_REQUIRES(mutex_);
  template <class Step>
  bool at_server(Step step) DLOCK_REQUIRES(mutex_);
  bool ask(const std::string& sql, const char* doing, mysql_rows* rows) DLOCK_REQUIRES(mutex_);
  bool failed(const fault& why, bool lacks_table) DLOCK_REQUIRES(mutex_);

  mysql_client& client_;
  const waiter_sql sql_;
  waiter_table table_;
  // The thread's:
  parked_connection link_{};
  bool new_sleep_ = false;    // no key was checked since it began
  bool seen_asleep_ = false;  // since it began, a statement of another connection has seen it
  bool killed_ = false;       // KILL ended its last sleep
  bool rung_awake_ = false;   // likewise, for its only key, and the next sleep has not begun
  clock::time_point settles_until_{};
  std::atomic<bool> settles_{false};      // a listener that was notified may be taking its key
  std::atomic<bool> asked_again_{false};  // it has polled since
  std::string left_{};  // keys whose rows were deleted without a check for the waiter behind, as an IN has them
  clock::time_point left_at_{};
  bool entries_change_ = false;  // a row may have to be written or deleted
  clock::time_point look_at_{};
  clock::time_point second_look_at_{};
  std::chrono::milliseconds look_after_{first_look};
  clock::time_point dead_rows_at_{};
  unsigned missed_ = 0;  // how many checks in a row found keys free without a wake-up
  clock::time_point missed_at_{};
};

}  // namespace dlock::stores::mysql::parked
