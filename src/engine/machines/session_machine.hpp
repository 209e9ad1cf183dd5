// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::engine {

/// When a session of ours is renewed and until when it is trusted (rules 3 to 5). Pure: time is handed in.
///
///            renewed yes, in time: deadline = sent + ttl - margin, due = sent + ttl/3
///   live --- failed or unknown: due = soon again, the deadline stays
///     |      renewed no, or the deadline has passed, or any reply after it
///     +---> over, for ever
class session_machine {
 public:
  enum class verdict { live, late, over };

  session_machine(std::chrono::microseconds ttl, std::chrono::microseconds margin, instant opened_sent) noexcept;

  /// Handles a renewal that was sent at `sent` and whose reply was read at `now`. live: confirmed; late: no reply,
  /// retry at due().
  verdict renewed(outcome answer, instant sent, instant now) noexcept;
  /// The store suspects a problem, so a renewal is due at once.
  void hurry(instant now) noexcept;
  /// Checks only the clock.
  verdict at(instant now) noexcept;

  instant due() const noexcept { return due_; }
  instant deadline() const noexcept { return deadline_; }

 private:
  std::chrono::microseconds ttl_;
  std::chrono::microseconds margin_;
  instant due_;
  instant deadline_;
  bool over_ = false;
};

/// max(50 ms, ttl/20) unless set. A lease with a separate expiry may be shorter than that; then the margin is a quarter
/// of it.
std::chrono::microseconds margin_for(std::chrono::microseconds ttl, std::chrono::microseconds set) noexcept;

/// A local deadline (rule 4). Once a caller has seen that it passed, it can't be moved any more: "lost" is never taken
/// back. Any thread may call any function.
class trust {
 public:
  static constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
  explicit trust(std::int64_t until = for_ever) noexcept : until_(until) {}
  explicit trust(instant until) noexcept : until_(until.time_since_epoch().count()) {}

  /// Returns 0 if it is over, for ever.
  std::chrono::microseconds remaining(instant now) noexcept {
    auto end = until_.load(std::memory_order_acquire);
    while (end != over) {
      if (end == for_ever) return std::chrono::microseconds::max();
      if (now.time_since_epoch().count() < end) return std::chrono::microseconds{end - now.time_since_epoch().count()};
      if (until_.compare_exchange_weak(end, over, std::memory_order_acq_rel)) break;
    }
    return std::chrono::microseconds{0};
  }
  /// Returns false if it was over. Never moves back.
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
