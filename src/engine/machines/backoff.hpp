// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>

#include "base/lock_settings.hpp"
#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// A waiter that the store notifies polls even so after this time: if a store fails to notify it, the waiter is late,
/// and no more than that.
constexpr std::chrono::microseconds longest_if_notified = std::chrono::seconds{10};

/// How long it is until `deadline`; instant::max() is never, on any clock. Negative: it has passed.
inline std::chrono::microseconds time_remaining(instant deadline, instant now) noexcept {
  return deadline == instant::max() ? std::chrono::microseconds::max() : std::chrono::microseconds{deadline - now};
}

/// The pauses of one waiter: pause * multiplier^n, capped, each shortened by a random part so that waiters of
/// several processes do not march in step. Pure: the randomness comes from the seed.
class backoff {
 public:
  backoff(const detail::retry_settings& policy, std::uint64_t seed) noexcept;
  std::chrono::microseconds next() noexcept;
  /// From now on they are the longest.
  void grow() noexcept { pause_us_ = max_us_; }
  /// One like the second, however many there were; it is not one of them.
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

}  // namespace dlock::engine
