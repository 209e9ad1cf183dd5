// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>

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

  /// Of a renewal sent at `sent` whose reply was read at `now`. live: confirmed; late: no answer, try again at due().
  verdict renewed(outcome answer, instant sent, instant now) noexcept;
  /// The store suspects that something is wrong: a renewal is due at once.
  void hurry(instant now) noexcept;
  /// Looks at the clock only.
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

/// max(50 ms, ttl/20) unless set. A lease with a separate expiry may be shorter than that: then the margin is a quarter
/// of it.
std::chrono::microseconds margin_for(std::chrono::microseconds ttl, std::chrono::microseconds set) noexcept;

}  // namespace dlock::engine
