// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/drivers/blocking_driver.hpp"

namespace dlock::engine {

void blocking_driver::run(operation& op) {
  for (auto next = op.start(now()); next.what != action::kind::finished;) {
    if (next.what == action::kind::send) {
      next = op.resume(send(next));
    } else if (const auto why = wait(next.until)) {
      next = op.interrupt(*why, now());
    } else {
      next = op.resume(now());
    }
  }
}

instant blocking_driver::send(const action& next) {
  if (next.with_looks) {
    pause_watch::looks others;
    const auto count = with_.pauses.due(now(), others);
    with_.statements.run(next.statements, {others.data(), count});
  } else {
    with_.statements.run(next.statements);
  }
  return next.statements.size() == 1 ? next.statements.front()->answered_at : now();
}

std::optional<interruption> blocking_driver::wait(instant until) {
  if (!on_close_) {
    on_close_.emplace(closing_, interrupts{*this});
    on_cancel_.emplace(cancel_, interrupts{*this});
  }
  const auto asked = [&]() -> std::optional<interruption> {
    if (interrupted_) return std::nullopt;  // it has been told
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
