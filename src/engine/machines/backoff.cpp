// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/backoff.hpp"

#include <algorithm>

namespace dlock::engine {

namespace {
double us(std::chrono::microseconds value) noexcept { return static_cast<double>(value.count()); }
}  // namespace

backoff::backoff(const detail::retry_settings& policy, std::uint64_t seed) noexcept
    : pause_us_(us(policy.pause)),
      max_us_(us(policy.max_pause)),
      brief_us_(std::min(us(policy.pause) * policy.multiplier, us(policy.max_pause))),
      multiplier_(policy.multiplier),
      jitter_(policy.jitter),
      state_(seed) {}

std::chrono::microseconds backoff::next() noexcept {
  const double whole = std::min(pause_us_, max_us_);
  pause_us_ = std::min(pause_us_ * multiplier_, max_us_);
  return shortened(whole);
}

std::chrono::microseconds backoff::brief() noexcept { return shortened(brief_us_); }

std::chrono::microseconds backoff::shortened(double whole) noexcept {
  const double remaining = whole * (1.0 - jitter_ * random());
  return std::chrono::microseconds{std::max<std::int64_t>(1, static_cast<std::int64_t>(remaining))};
}

double backoff::random() noexcept {
  // SplitMix64 (Steele, Lea, Flood 2014): one add and a mix, good enough to spread waiters.
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  z ^= z >> 31U;
  return static_cast<double>(z >> 11U) * 0x1.0p-53;
}

}  // namespace dlock::engine
