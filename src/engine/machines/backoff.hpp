// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/lock_settings.hpp"
#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// The time until `deadline`; instant::max() is never, on any clock. Negative if it has passed.
inline std::chrono::microseconds time_remaining(instant deadline, instant now) noexcept {
  return deadline == instant::max() ? std::chrono::microseconds::max() : std::chrono::microseconds{deadline - now};
}

/// The pauses of one waiter: pause * multiplier^n, capped, each shortened by a random part so that waiters of several
/// processes do not poll in step. Pure: the randomness comes from the seed.
class backoff {
 public:
  backoff(const detail::retry_settings& policy, std::uint64_t seed) noexcept;
  std::chrono::microseconds next() noexcept;
  /// From now on pauses are the longest.
  void grow() noexcept { pause_us_ = max_us_; }
  /// A pause like the second one, whatever their number; it does not count as one of them.
  std::chrono::microseconds brief() noexcept;

 private:
  double random() noexcept;  // [0, 1)
  std::chrono::microseconds shortened(double whole) noexcept;
  double pause_us_;
  double max_us_;
  double brief_us_;
  double multiplier_;
  double jitter_;
  std::uint64_t state_;
};

/// Whether one waiter retries, and how long it pauses before. Pure: time is passed in.
class retry_clock {
 public:
  struct settings {
    instant deadline{};  ///< of the whole wait
    bool once = false;   ///< one attempt or round, whatever the deadline
    detail::retry_settings retry{};
    std::uint64_t seed = 0;
  };
  static constexpr std::chrono::microseconds no_bound = std::chrono::microseconds::max();
  /// Never zero, so that a poll does not follow a poll at once.
  static constexpr std::chrono::microseconds shortest_pause{500};
  /// A waiter that the store notifies still polls after this time: if the store fails to notify it, the only
  /// consequence is that the waiter is late.
  static constexpr std::chrono::microseconds longest_if_notified = std::chrono::seconds{10};

  explicit retry_clock(const settings& given) noexcept : settings_(given), backoff_(given.retry, given.seed) {}

  /// From now on its pauses are the longest.
  void grow() noexcept { backoff_.grow(); }
  bool may_retry(instant now) const noexcept;
  /// The remaining retries of retry_settings::limit.
  unsigned remaining_retries() const noexcept;
  /// Begins the next pause. `at_most` is when the holder's lease can end. `hurries`: the pause is brief. `sees_holder`:
  /// the store will notify the waiter of the end of that lease, if it notifies at all.
  void begin_pause(instant now, std::chrono::microseconds at_most, bool hurries, bool sees_holder) noexcept;
  /// The pause is over because the key may be free, so the next statement is no retry.
  void notified() noexcept { retries_ -= std::min(retries_, 1U); }

  std::chrono::microseconds pause() const noexcept { return pause_; }
  /// The pause of a waiter that the store notifies when the key may be free.
  std::chrono::microseconds pause_if_notified() const noexcept { return pause_if_notified_; }
  /// The pause of a waiter that a release wakes if it looks for waiters (waiting::woken). `until_relied_on` is
  /// how long it may take until a release of the present grant does so. Then a poll shows whether that is still the
  /// present grant.
  std::chrono::microseconds pause_if_registered(std::chrono::microseconds until_relied_on) const noexcept {
    if (until_relied_on.count() <= 0) return pause_if_notified_;
    return std::min(pause_, std::max(until_relied_on, shortest_pause));
  }

 private:
  const settings settings_;
  backoff backoff_;
  unsigned retries_ = 0;
  std::chrono::microseconds pause_{0};
  std::chrono::microseconds pause_if_notified_{0};
};

}  // namespace dlock::engine
