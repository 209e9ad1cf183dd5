// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// A local deadline (rule 4). Once a caller has seen that it passed, it can't be moved any more: "lost" is never taken
/// back. Any thread may call any function.
class trust {
 public:
  static constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
  explicit trust(std::int64_t until = for_ever) noexcept : until_(until) {}
  explicit trust(instant until) noexcept : until_(until.time_since_epoch().count()) {}

  /// 0: it is over, and stays so.
  std::chrono::microseconds remaining(instant now) noexcept {
    auto end = until_.load(std::memory_order_acquire);
    while (end != over) {
      if (end == for_ever) return std::chrono::microseconds::max();
      if (now.time_since_epoch().count() < end) return std::chrono::microseconds{end - now.time_since_epoch().count()};
      if (until_.compare_exchange_weak(end, over, std::memory_order_acq_rel)) break;
    }
    return std::chrono::microseconds{0};
  }
  /// False if it was over. Never moves back.
  bool extend(instant until) noexcept {
    const auto wanted = until.time_since_epoch().count();
    auto end = until_.load(std::memory_order_acquire);
    while (end != over) {
      if (wanted <= end || until_.compare_exchange_weak(end, wanted, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  /// Only before another thread can see it.
  void reset(instant until) noexcept { until_.store(until.time_since_epoch().count(), std::memory_order_release); }
  void end() noexcept { until_.store(over, std::memory_order_release); }

 private:
  static constexpr std::int64_t over = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> until_;
};

}  // namespace dlock::engine
