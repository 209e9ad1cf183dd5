// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dlock/export.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"

namespace DLOCK_EXPORT dlock {

/// A std::counting_semaphore across processes and machines: at most `permits` are held at a time. Every program names
/// the number itself, and is held to it.
///
///   dlock::distributed_semaphore s{locks, "mail-api", 10};
///   s.acquire();
///   ...
///   s.release();
///
/// A permit belongs to the object, not to a thread: any thread may release it. Unlike the standard's semaphore it can
/// only give back what this object has acquired, because a permit of a process that has died comes back by itself,
/// within the ttl. It may be lost while it is held, as any lease; the observer hears of that. Code that must know uses
/// lock_service::with_lock with lock_options::mode = one_of(n). Destroying it releases all its permits.
///
/// Precondition: the service outlives the semaphore.
/// Thread safety: all functions but the destructor may be called from any thread.
/// Cost: one round trip to acquire a permit that is free.
class distributed_semaphore {
 public:
  /// Errors: std::invalid_argument, permits is not 1 to 1,000,000, options.mode or options.reentry is set, or other bad
  /// options.
  /// Cost: no statement.
  distributed_semaphore(lock_service& service, lock_key key, std::uint32_t permits, const lock_options& options = {});
  ~distributed_semaphore();
  distributed_semaphore(const distributed_semaphore&) = delete;
  distributed_semaphore& operator=(const distributed_semaphore&) = delete;

  /// Waits at most options.wait for a permit.
  /// Errors: as lock_service::acquire().
  void acquire();
  /// One attempt. Returns false if all are held.
  /// Errors: as lock_service::try_acquire().
  [[nodiscard]] bool try_acquire();
  /// Waits at most `limit`, rounded up to milliseconds; zero or less: one attempt. Returns false if all are held.
  /// Errors: as acquire(), but no lock_timeout.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& limit) {
    constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365};
    const std::chrono::duration<double> seconds(limit);
    if (!(seconds.count() > 0)) return try_acquire();
    return acquire_within(seconds < longest ? std::chrono::ceil<std::chrono::milliseconds>(limit) : longest);
  }
  /// The same until a time of any clock; how far it is away is measured once, at the call.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit) {
    const auto now = Clock::now();
    return limit > now ? try_acquire_for(limit - now) : try_acquire();
  }
  /// Releases the permit that this object has held longest, in no longer than service_options::release_limit, and
  /// reports a lost lease or a failed release to the observer alone.
  /// Errors: std::system_error (operation_not_permitted), this object holds none.
  void release();

  /// How many permits this object holds.
  std::size_t held() const;
  std::uint32_t permits() const noexcept { return options_.mode->permits; }
  const lock_key& key() const& noexcept { return key_; }
  const lock_key& key() const&& = delete;

 private:
  struct holdings;

  bool acquire_within(std::chrono::milliseconds wait);
  void keep(lease held);

  lock_service& service_;
  const lock_key key_;
  lock_options options_;
  const std::unique_ptr<holdings> holdings_;
};

}  // namespace dlock
