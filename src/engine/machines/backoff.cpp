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

bool retry_clock::may_retry(instant now) const noexcept {
  if (settings_.once || now >= settings_.deadline) return false;
  return !settings_.retry.limited() || retries_ < settings_.retry.limit;
}

unsigned retry_clock::remaining_retries() const noexcept {
  const auto limit = settings_.retry.limit;
  return settings_.retry.limited() ? limit - std::min(retries_, limit) : limit;
}

void retry_clock::begin_pause(instant now, std::chrono::microseconds at_most, bool hurries, bool sees_holder) noexcept {
  ++retries_;
  // Not past the moment when the holder's lease can end.
  const auto bound = std::min(std::max(at_most, shortest_pause), time_remaining(settings_.deadline, now));
  const auto next = backoff_.next();
  pause_ = std::min(hurries ? std::min(next, backoff_.brief()) : next, bound);
  // A limit counts polls, which come after the pauses of the policy. If the holder was not seen, it is unknown when its
  // lease ends and whether its end is notified: its process may die, or clean-up may have deleted the row.
  const bool relies = sees_holder && !settings_.retry.limited();
  pause_if_notified_ = relies ? std::min(longest_if_notified, bound) : pause_;
}

}  // namespace dlock::engine
