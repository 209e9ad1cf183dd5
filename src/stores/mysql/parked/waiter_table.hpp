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

namespace dlock::stores::mysql::parked {

/// What is sent about waiters, to be filled in by sql::write_values().
struct waiter_sql {
  std::string table{};  ///< quoted
  /// Fails if the table lacks a column that the others need.
  std::string fits{};
  std::string enter{};
  std::string leave{};
  /// Of the keys for which this process has a row: the key, whether it is free, whether its holder is dead, and the
  /// fence (0: not known).
  std::string look{};
  std::string first{};  ///< waiters of keys
  std::string count{};
  std::string dead{};
  std::string one_dead{};
  std::string remove_dead{};
  /// By which deadlock cycles of processes are found. Empty: none are.
  std::string set_held{};
  std::string nested{};
  std::string present_grants{};
  /// capabilities::others_release: that keys become free without a wake-up is nothing odd.
  bool others_release = false;
};

/// Of what follows an IN, without its brackets.
void append_literal(std::string& list, const std::string& literal);

/// {waiter}, {waiter.<column>} and {sleeper}.
void add_waiter_names(sql::table_names& to);

/// The statements that all stores have. `names` has those above, {now}, and what they need of the lock table:
/// {with_lock} joins it to the waiters `w`, {is_free} is a condition on it, {and_held} selects the column for deadlock
/// cycles. `look` is the store's.
waiter_sql make_waiter_sql(const sql::table_names& names, const char* look);

/// What statements do with the rows of waiters, on connections that are not parked: a release wakes the first waiter.
/// It takes no lock that is held while a listener is notified. Thread safety: all functions from any thread.
class waiter_table {
 public:
  /// Why waiters can't be woken at present: said once for each reason.
  using report = std::function<void(const std::string& why)>;

  waiter_table(const waiter_sql& sql, report says) : sql_(sql), says_(std::move(says)) {}

  /// The wake id of this process, which its own releases pass over. Zero: it has never waited.
  id128 own() const noexcept {
    const base::lock_guard lock(mutex_);
    return own_;
  }
  void set_own(const id128& wake_id) noexcept {
    const base::lock_guard lock(mutex_);
    own_ = wake_id;
  }
  /// Whether there are rows of waiters to be read there.
  bool can_read(const mysql_connection& by) const noexcept {
    return by.sync_prefix().empty() && !unreadable_.load(std::memory_order_relaxed);
  }
  /// Whether it can wake a waiter by that connection. If not, it says so once.
  bool can_wake(const mysql_connection& by);
  /// Whether it looks for a waiter, once it has freed the key.
  bool looks(const mysql_connection& by, const request& asked) {
    const bool frees = asked.action == verb::release || asked.action == verb::cancel;
    return frees && asked.wake && asked.min_hold.count() <= 0 && can_read(by) && can_wake(by);
  }
  /// Whether that error says that the table is missing or lacks a column, or that this user lacks a right. Says it
  /// once.
  bool lacks_table(const fault& why);
  /// The same, of rows that can't be read. They are not read again before set_readable().
  bool note_unreadable(const fault& why);
  void set_readable() noexcept { unreadable_ = false; }
  /// Before anybody waits: says it if the waiter table is not as it must be.
  void check_table(mysql_connection& by);
  /// The same for `dlock doctor`.
  reply examine_table(mysql_connection& by, std::vector<store_finding>& found) const;
  /// Wakes a waiter, whose number `by` has just read. Whether that succeeded.
  bool wake(mysql_connection& by, std::uint64_t sleeper) noexcept;
  /// Wakes the first waiter of each key that was released by another statement. `held_too`: also where somebody has it
  /// again, who may not know of waiters. What goes wrong here is no matter of the release.
  void wake_first(mysql_connection& by, std::span<const request> requests, std::span<reply> replies,
                  bool held_too = true) noexcept;
  /// Counts those of keys that are held. Where there are none to be seen, nothing is counted.
  reply count(mysql_connection& by, std::vector<holder_info>& of);

 private:
  bool fits_table(mysql_connection& by, fault& why) const;
  /// What to do about it. Empty: it is about something else.
  std::string remedy(const fault& why) const;
  void wake_first(mysql_connection& by, const std::string& keys, std::span<const request> requests,
                  std::span<reply> replies, bool held_too);

  const waiter_sql& sql_;
  const report says_;
  mutable base::mutex mutex_;  // never held while anything else is locked or called
  id128 own_ DLOCK_GUARDED_BY(mutex_){};
  std::atomic<bool> unreadable_{false};
  std::atomic<bool> said_lacks_{false};
  std::atomic<bool> said_refused_{false};  // of some waiter, whose connection is another user's
  std::atomic<bool> said_proxy_{false};
};

}  // namespace dlock::stores::mysql::parked
