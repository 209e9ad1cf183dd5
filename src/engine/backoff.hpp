// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>

#include "dlock/lock_options.hpp"

namespace dlock::detail {

/// The pauses of one waiter: pause * multiplier^n, capped, each shortened by a random part so that waiters of
/// several processes do not march in step. Pure: the randomness comes from the seed.
class backoff {
 public:
  backoff(const retry_policy& policy, std::uint64_t seed) noexcept;
  std::chrono::microseconds next() noexcept;

 private:
  double random() noexcept;  // [0, 1)
  double pause_us_;
  double max_us_;
  double multiplier_;
  double jitter_;
  std::uint64_t state_;
};

}  // namespace dlock::detail
