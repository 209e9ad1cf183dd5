// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <memory>

#include "dlock/export.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"

namespace DLOCK_EXPORT dlock {

class distributed_shared_mutex;

/// A std::timed_mutex across processes and machines: works with std::unique_lock, std::scoped_lock over
/// several (free of deadlock), std::lock.
///
///   dlock::distributed_mutex door{locks, "report:daily", {.ttl = 30s, .wait = 2s}};
///   std::lock_guard guard{door};
///
/// One object may be shared by threads; two objects of one key exclude each other, in one process or in many, unless
/// lock_options::mode says otherwise.
/// It is held by an owner (see owner.hpp; normally the thread) and not recursive. Destroying it releases what is still
/// locked.
///
/// The std interface has no place for two truths of distributed locks. lock() ends after the wait of its
/// options. And the lock may be lost while held: ask held().ensure_held() before what matters, or use
/// with_lock, which checks at its end. unlock() can't throw that, so it reports a loss to the observer only.
///
/// std::lock and std::scoped_lock wait for one mutex, try the others, and begin again with the one that was busy, after
/// a random pause (lock_options::retry, growing from `pause` to `max_pause`). Several keys in one acquire_all({...})
/// are cheaper.
///
/// Precondition: the service outlives the mutex.
/// Errors: an owner that holds the key already, by this mutex or otherwise, gets lock_refused (already_held), or busy
/// with reentry::busy. A thread that holds the mutex gets the same from acquire() and with_lock() of the key, because
/// it could only wait for itself.
/// Thread safety: all functions but the destructor may be called from any thread.
/// Cost: one round trip to lock a key that is free.
class distributed_mutex {
 public:
  /// Errors: std::invalid_argument, bad options.
  /// Cost: no statement.
  distributed_mutex(lock_service& service, lock_key key, const lock_options& options = {});
  ~distributed_mutex();
  distributed_mutex(const distributed_mutex&) = delete;
  distributed_mutex& operator=(const distributed_mutex&) = delete;

  /// Waits at most options().wait.
  /// Errors: as lock_service::acquire().
  void lock();
  /// One attempt, regardless of options().wait. Returns false if busy.
  /// Errors: as lock_service::try_acquire().
  [[nodiscard]] bool try_lock();
  /// Waits at most `limit` instead of options().wait; rounded up to milliseconds, zero or less: one attempt, at most
  /// 365 days. Returns false if still busy.
  /// Errors: as lock(), but no lock_timeout.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit) {
    return lock_within(to_wait(limit));
  }
  /// The same until a time of any clock; how far it is away is measured once, at the call.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) {
    const auto now = Clock::now();
    // Subtracted only where it can't overflow.
    return lock_within(limit > now ? to_wait(limit - now) : std::chrono::milliseconds{0});
  }

  /// Releases it, in no longer than service_options::release_limit, and reports a lost lease or a failed release to the
  /// observer alone. In a forked child it does nothing: the parent has it.
  /// Precondition: the current owner holds the mutex. Otherwise std::system_error (operation_not_permitted): a bug,
  /// which a lock guard turns into std::terminate.
  /// Errors: no other.
  void unlock();

  /// The current owner's lease: fencing_token(), lost_token(), ensure_held(). Valid until its unlock().
  /// Precondition: the current owner holds the mutex; std::system_error (operation_not_permitted) otherwise.
  const lease& held() const&;
  const lease& held() const&& = delete;

  const lock_key& key() const& noexcept { return key_; }
  /// Every field is set, by the caller or inherited.
  const lock_options& options() const& noexcept { return options_; }
  const lock_key& key() const&& = delete;
  const lock_options& options() const&& = delete;

 private:
  friend class distributed_shared_mutex;
  struct holdings;

  template <class Duration>
  static std::chrono::milliseconds to_wait(const Duration& limit) {
    // Compared in floating point, where no duration overflows.
    constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365};
    const std::chrono::duration<double> seconds(limit);
    if (!(seconds.count() > 0)) return std::chrono::milliseconds{0};
    return seconds < longest ? std::chrono::ceil<std::chrono::milliseconds>(limit) : longest;
  }
  bool lock_within(std::chrono::milliseconds wait);
  void keep(lease held);
  /// The current owner's lease, which this mutex has no more.
  /// Errors: std::system_error, there is none.
  lease give_up(const char* call);
  [[noreturn]] void throw_not_held(const char* call) const;

  lock_service& service_;
  const lock_key key_;
  lock_options options_;
  const std::unique_ptr<holdings> holdings_;
};

}  // namespace dlock
