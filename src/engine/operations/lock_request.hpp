// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/lock_settings.hpp"
#include "dlock/lock_key.hpp"
#include "engine/operations/operation.hpp"
#include "engine/registry/owner_state.hpp"

namespace dlock::engine {

/// The least time for a statement, however short the wait is: a brief delay must not fail a single attempt.
constexpr microseconds statement_timeout = std::chrono::seconds{2};

/// The mode as a store knows it.
constexpr key_mode mode_of(const detail::lock_settings& terms) noexcept {
  return {.units = terms.mode.units, .permits = terms.mode == shared ? 0 : terms.mode.permits};
}

/// The request of one call. `terms` must outlive it.
struct lock_request {
  /// How the caller waits.
  struct wait_mode {
    bool once = false;           ///< one attempt at the store, whatever the options say
    bool counted = false;        ///< the operation of which it is a part counts it as a waiter
    bool tries = false;          ///< the caller goes on without the key, so a deadlock only means that it is busy
    bool holds_nothing = false;  ///< a search has just found no lease of the owner that could be entered again
  };
  lock_request(const detail::lock_settings& asked, std::shared_ptr<owner_state> whose, bool named_owner, instant now,
               const wait_mode& waiting) noexcept
      : terms(asked),
        owner(std::move(whose)),
        begun(now),
        deadline(waiting.once ? now : now + asked.wait),
        named(named_owner),
        once(waiting.once),
        counted(waiting.counted),
        holds_nothing(waiting.holds_nothing) {}

  const detail::lock_settings& terms;
  const std::shared_ptr<owner_state> owner;
  const instant begun;
  const instant deadline;  ///< of the whole wait
  const bool named;        ///< the program named the owner; otherwise the thread is the owner
  const bool once;
  const bool counted;
  const bool holds_nothing;

  /// The owner whose grants this caller may enter again, or null.
  request poll_request(const lock_key& key) const noexcept {
    return {.action = verb::poll,
            .resource = key.view(),
            .row = key.row(),
            .request_id = owner->request_id,
            .units = mode_of(terms).units,
            .permits = mode_of(terms).permits,
            .in_order = in_order()};
  }
  /// Whether processes that have waited longer come first.
  bool in_order() const noexcept { return terms.fairness == fairness::fifo; }
  /// Whether it asks for a shared lock or permits.
  bool shares() const noexcept { return terms.mode != exclusive; }
  /// The limit of one statement.
  instant limit(instant now) const noexcept { return std::max(deadline, now + statement_timeout); }
  /// Whether it polls first, because a take may wait behind an open transaction for longer than this caller wants.
  bool polls_first(const store& where) const noexcept {
    return (once || terms.wait < 2 * statement_timeout) && where.takes_wait();
  }
};

/// How long this process must yield a key that it has had again and again before it takes it once more.
inline microseconds time_to_yield(engine_services& services, const lock_key& key, const lock_request& request,
                                  instant now) {
  if (request.once || request.in_order() || request.terms.mode == shared || !services.shared.time.runs_by_itself())
    return microseconds{0};
  if (services.caps.tells_free() && services.caps.keeps_order) return microseconds{0};  // a waiter has its turn anyway
  const auto remaining = std::max(microseconds{request.deadline - now}, microseconds{0});
  return std::min(services.grants.history().time_to_yield(key, now), remaining);
}

/// Counts one waiter while it exists (service_options::max_waiters).
class waiter_slot {
 public:
  waiter_slot() = default;
  waiter_slot(const waiter_slot&) = delete;
  waiter_slot& operator=(const waiter_slot&) = delete;
  ~waiter_slot() {
    if (in_ != nullptr) in_->end_waiting(call_);
  }
  /// Begins to count it. `since` is the beginning of the call. Returns false if too many wait. Further calls do
  /// nothing.
  bool take(wait_queue& in, instant since) noexcept {
    if (in_ == nullptr && in.begin_waiting(call_, since)) in_ = &in;
    return in_ != nullptr;
  }

 private:
  waiting_call call_{};
  wait_queue* in_ = nullptr;
};

}  // namespace dlock::engine
