// SPDX-License-Identifier: BSL-1.0
#include "engine/drivers/blocking_driver.hpp"

#include <algorithm>

namespace dlock::engine {

instant blocking_driver::run(operation& op, instant begun) {
  auto at = begun;
  for (auto next = op.start(at); next.what != action::kind::finished;) {
    if (next.what == action::kind::send) {
      at = send(next);
      next = op.resume(at);
    } else {
      if (check_ != nullptr && check_at_ == instant::max()) check_at_ = at + short_wait;
      std::optional<interruption> why;
      if (at >= check_at_ && never_ends(op, at)) {
        why = interruption::deadlock;
      } else {
        why = wait(at < check_at_ ? std::min(next.until, check_at_) : next.until);
        at = now();
      }
      next = why ? op.interrupt(*why, at) : op.resume(at);
    }
  }
  return at;
}

instant blocking_driver::send(const action& next) {
  if (next.with_polls) {
    poll_scheduler::polls others;
    const auto count = services_.pauses.due(now(), others);
    services_.statements.run(next.statements, {others.data(), count});
  } else {
    services_.statements.run(next.statements);
  }
  return next.statements.size() == 1 ? next.statements.front()->answered_at : now();
}

/// If the key was granted meanwhile, no waiting thread holds it, and the check finds no deadlock cycle.
bool blocking_driver::never_ends(const operation& op, instant at) noexcept {
  const auto* const key = op.waits_for();
  if (interrupted_ || key == nullptr) return false;
  const auto said = check_->check(op, *key);
  if (said == wait_check::verdict::unknown) check_at_ = at + short_wait;
  interrupted_ = said == wait_check::verdict::never_ends;
  return interrupted_;
}

std::optional<interruption> blocking_driver::wait(instant until) {
  if (!on_close_) {
    on_close_.emplace(closing_, interrupts{*this});
    on_cancel_.emplace(cancel_, interrupts{*this});
  }
  const auto asked = [&]() -> std::optional<interruption> {
    if (interrupted_) return std::nullopt;  // the operation knows
    if (cancel_.stop_requested()) return interruption::cancelled;
    if (closing_.stop_requested()) return interruption::closed;
    return std::nullopt;
  };
  auto why = asked();
  if (!why) {
    signal_.wait(until);
    why = asked();
  }
  interrupted_ = interrupted_ || why.has_value();
  return why;
}

}  // namespace dlock::engine
