// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_overview.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/sql/table_names.hpp"
#include "stores/waiter_turns.hpp"

namespace dlock::stores::mysql::parked {

/// The statements about waiters, for sql::write_values().
struct waiter_sql {
  std::string table{};  ///< quoted
  /// Fails if the table lacks a column that the other statements need.
  std::string fits{};
  /// Fails if the table lacks a column other than {and_held}.
  std::string fits_without_held{};
  std::string enter{};  ///< does nothing unless the process sleeps, on the connection of that number
  std::string leave{};
  /// A condition for `leave` and `look`: the beginnings of the waits. It may be left out.
  std::string and_since{};
  /// For the keys of this process's rows: the key, the connection that sleeps with the wake id, whether the key is
  /// free, whether its holder is dead, and the fence (0 if unknown).
  std::string look{};
  /// Selects the free ones among all keys of this process's rows.
  std::string look_for_free{};
  std::string first{};       ///< selects the first waiters of keys
  std::string waited_for{};  ///< selects those keys for which other processes wait
  /// Selects those of these keys that take members, and the units that their members have. If empty, no key has
  /// members.
  std::string room{};
  /// Selects the first process that waits and registered before this one. If empty, no order is kept.
  std::string others_first{};
  std::string count{};
  std::string dead{};
  std::string one_dead{};
  std::string remove_dead{};
  /// Finds deadlock cycles of processes. If empty, none are found.
  std::string set_held{};
  std::string nested{};
  std::string present_grants{};
  /// waiting::woken_beside_others: keys may become free without a wake-up.
  bool others_release = false;
};

/// Appends to the list of an IN, without its brackets.
void append_literal(std::string& list, const std::string& literal);

/// Adds {waiter}, {waiter.<column>} and {sleeper}.
void add_waiter_names(sql::table_names& to);

/// The statements that all stores share. `names` has those words, {now}, and these about the lock table: {with_lock}
/// joins it to the waiters `w`, {is_free} is a condition on it, and {and_held} selects the column for deadlock cycles.
/// `look` is the store's.
waiter_sql make_waiter_sql(const sql::table_names& names, const char* look);

/// Whether a statement that failed so would fail again, also on a new connection.
inline bool lasts(const fault& why) noexcept { return !why.connection && !why.transient && !why.contended; }

/// Handles the rows of waiters on connections that are not parked: a release wakes the first waiter. It takes no lock
/// that is held while a listener is notified. Thread safety: all functions from any thread.
class waiter_table {
 public:
  /// Reports why waiters can't be woken at present, once for each reason.
  using report = std::function<void(const std::string& why)>;

  waiter_table(const waiter_sql& sql, report says) : sql_(sql), says_(std::move(says)) {}

  /// The wake id of this process, which its own releases skip. Zero if it has never waited.
  id128 own() const noexcept {
    const base::lock_guard lock(mutex_);
    return own_;
  }
  void set_own(const id128& wake_id) noexcept {
    const base::lock_guard lock(mutex_);
    own_ = wake_id;
  }
  /// Whether the connection's server has readable rows of waiters.
  bool can_read(const mysql_connection& by) const noexcept {
    return by.sync_prefix().empty() && !unreadable_.load(std::memory_order_relaxed);
  }
  /// Whether that connection can wake a waiter. If not, reports it once.
  bool can_wake(const mysql_connection& by);
  /// Whether the request looks for a waiter after it has freed the key.
  bool looks(const mysql_connection& by, const request& asked) {
    const bool frees = asked.action == verb::release || asked.action == verb::cancel;
    return frees && asked.wake && asked.min_hold.count() <= 0 && can_read(by) && can_wake(by);
  }
  /// Whether that error of `by` says that the table is missing or lacks a column, or that this user lacks a right.
  /// Reports it once.
  bool lacks_table(mysql_connection& by, const fault& why);
  /// The same for rows that can't be read. They are not read again before set_readable().
  bool note_unreadable(mysql_connection& by, const fault& why);
  void set_readable() noexcept { unreadable_ = false; }
  /// Whether a statement of `by` that also reads rows of waiters failed, and would fail again. Then it must be sent
  /// without them: whatever is wrong with them, a key must become free.
  bool keeps_failing(mysql_connection& by, const reply& said);
  /// Reports a waiter table that does not fit, before anybody waits.
  void check_table(mysql_connection& by);
  /// The same check for `dlock doctor`.
  reply examine_table(mysql_connection& by, std::vector<store_finding>& found) const;
  /// Wakes a waiter, whose connection number `by` has just read. Returns whether that succeeded.
  bool wake(mysql_connection& by, std::uint64_t sleeper) noexcept;
  /// The same, if the last statement of `by` has left that number in LAST_INSERT_ID(), and 0 otherwise.
  bool wake_found(mysql_connection& by) noexcept;
  /// Wakes the first waiter of each key that was released by another statement. `held_too`: even if the key has a
  /// holder again, who may not know of waiters. Errors here don't fail the release.
  void wake_first(mysql_connection& by, std::span<const request> requests, std::span<reply> replies,
                  bool held_too = true) noexcept;
  /// Whether a process that registered before this one waits for the key, which is free; its last grant had that fence.
  /// Wakes the first of them. A process that doesn't take the key in its turn loses its row, so it is woken no more
  /// until it enters a row again.
  reply others_first(mysql_connection& by, std::string_view key, std::uint64_t fence, bool registered, bool& others);
  /// See store::waited_for().
  reply waited_for(mysql_connection& by, std::span<const request> keys, std::span<reply> replies);
  /// See request::wake of a poll. An error here does not fail the polls.
  void ring(mysql_connection& by, std::span<const request> polls, std::span<reply> replies) noexcept;
  /// Counts the waiters for held keys. Counts nothing where waiters are not visible.
  reply count(mysql_connection& by, std::vector<holder_info>& of);

 private:
  bool is_woken(kill_result said) noexcept;
  bool fits_table(mysql_connection& by, fault& why) const;
  /// What to do about an error. Empty if it is about something else.
  std::string remedy(mysql_connection& by, const fault& why) const;
  /// The same for a missing table or column: the error's number does not name it.
  std::string remedy_of_missing(mysql_connection& by) const;
  void wake_first(mysql_connection& by, const std::string& keys, std::span<const request> requests,
                  std::span<reply> replies, bool held_too);

  const waiter_sql& sql_;
  const report says_;
  waiter_turns turns_{};
  mutable base::mutex mutex_;  // never locked while anything else is locked or called
  id128 own_ DLOCK_GUARDED_BY(mutex_){};
  std::atomic<bool> unreadable_{false};
  std::atomic<bool> said_lacks_{false};
  std::atomic<bool> said_refused_{false};  // for some waiter whose connection belongs to another user
  std::atomic<bool> said_proxy_{false};
};

}  // namespace dlock::stores::mysql::parked
