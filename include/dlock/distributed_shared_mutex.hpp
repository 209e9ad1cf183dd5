// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <utility>

#include "dlock/distributed_mutex.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_options.hpp"

namespace DLOCK_EXPORT dlock {

/// A std::shared_timed_mutex across processes and machines: works with std::shared_lock and std::unique_lock. Many may
/// hold it shared, or one exclusively; a caller that waits for it exclusively stops new readers.
///
///   dlock::distributed_shared_mutex m{locks, "catalogue"};
///   std::shared_lock reading{m};
///
/// What distributed_mutex says of losses, of std::lock and of unlock() holds for both sides. No upgrade: an owner that
/// holds it shared and asks for it exclusively gets lock_deadlock.
///
/// Precondition: the service outlives the mutex.
/// Errors: as distributed_mutex; std::invalid_argument, options.mode is set, or the store has only exclusive locks.
/// Thread safety: all functions but the destructor may be called from any thread.
class distributed_shared_mutex {
 public:
  /// Errors: std::invalid_argument, bad options.
  /// Cost: no statement.
  distributed_shared_mutex(lock_service& service, const lock_key& key, const lock_options& options = {})
      : writer_(service, key, in_mode(options, exclusive)), reader_(service, key, in_mode(options, shared)) {}

  void lock() { writer_.lock(); }
  [[nodiscard]] bool try_lock() { return writer_.try_lock(); }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit) {
    return writer_.try_lock_for(limit);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return writer_.try_lock_until(limit);
  }
  void unlock() { writer_.unlock(); }

  void lock_shared() { reader_.lock(); }
  [[nodiscard]] bool try_lock_shared() { return reader_.try_lock(); }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& limit) {
    return reader_.try_lock_for(limit);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return reader_.try_lock_until(limit);
  }
  void unlock_shared() { reader_.unlock(); }

  /// Turns the current owner's exclusive lock into a shared one, with no other exclusive holder in between
  /// (lease::downgrade()): unlock_shared() ends it.
  /// Precondition: the current owner holds it exclusively; std::system_error (operation_not_permitted) otherwise.
  /// Errors: as lease::downgrade(). Where that leaves the lease, the owner still holds it exclusively; otherwise it
  /// holds nothing.
  void unlock_and_lock_shared();

  /// The current owner's lease, exclusive or shared, as distributed_mutex::held().
  const lease& held() const& { return writer_.held(); }
  const lease& held_shared() const& { return reader_.held(); }
  const lease& held() const&& = delete;
  const lease& held_shared() const&& = delete;

 private:
  static lock_options in_mode(lock_options options, lock_mode mode);

  distributed_mutex writer_;
  distributed_mutex reader_;
};

}  // namespace dlock
