// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"

namespace dlock::test {

/// Somewhere locks live: empty when made, gone when destroyed. Each backend has one, and all suites run on it. Unless
/// it says otherwise, time there is the machine's.
class store_fixture {
 public:
  virtual ~store_fixture() = default;
  /// Another store object on the same place, prepared: to the locks it is another process.
  virtual std::shared_ptr<store> open() = 0;
  /// Lets so much time pass there, or a little more.
  virtual void pass(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }
  /// The clock that services on it go by. It runs by itself from now on.
  virtual time_source& time() { return system_time(); }
  /// How much later than asked for an expiry may be, where a column keeps whole seconds.
  virtual std::chrono::microseconds rounding() const { return {}; }
  /// An expiry that is short enough to wait for; and long enough to get an answer before it, where that is the limit.
  virtual std::chrono::microseconds moments() const { return std::chrono::milliseconds{30}; }
  /// Whether a key is free by having no row.
  virtual bool deletes_free_rows() const { return false; }
  /// Whether the first take of a key only makes its row, and an insert is another take.
  virtual bool makes_rows_first() const { return false; }
  /// Whether nothing is left of a grant once its own expiry has passed.
  virtual bool forgets_expired() const { return false; }
  /// Whether a take or a release may be told that a row's lock was not to be had in time (fault::contended), which
  /// counts as a busy key.
  virtual bool may_be_contended() const { return false; }
  /// Whether of many that ask for a free key at once none may get it, each having won a part of several servers.
  virtual bool votes_may_split() const { return false; }
  /// Whether others than the holder are only told that a key is held, and not by whom.
  virtual bool hides_holders() const { return false; }
  /// Whether it says who waits for a key, and not only how many processes do.
  virtual bool names_waiters() const { return true; }
  /// Whether a release that looks for a waiter takes another statement for that.
  virtual bool looks_apart() const { return false; }
  /// Whether it keeps sessions alive by itself, however little of the service's gets through, until the process has
  /// died.
  virtual bool keeps_by_itself() const { return false; }
  /// Where stores find circles of processes: how many locks are on record that threads hold which wait for others.
  virtual std::size_t held_by_waiters() { return 0; }
  /// For a service in any process of this host. Empty: other processes can't reach it.
  virtual std::string url() const { return {}; }
  /// For a child of fork() whose parent has url() open: the same, if the store can be opened there.
  virtual std::string url_after_fork() const { return url(); }
};

/// Defined by each backend.
std::unique_ptr<store_fixture> make_store_fixture();

}  // namespace dlock::test
