// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/poll_wait.hpp"

#include <utility>

namespace dlock::engine {

action poll_wait::start(queue_turn& turn, statement* then, instant until, instant now) {
  interrupted_ = sends_ = was_notified_ = false;
  pause::poll = then;
  turn_ = &turn;
  services_.pauses.enter(*this, now, until);
  if (turn) turn.begins_pause(*this, now);
  if (notified_) shorten(now);
  return action::wait(services_.pauses.end_of(*this));
}

void poll_wait::tell() noexcept {
  notified_ = true;
  shorten(instant::min());
}

void poll_wait::end() noexcept {
  auto* const turn = std::exchange(turn_, nullptr);
  if (turn == nullptr) return;
  if (*turn) turn->ends_pause();
  services_.pauses.leave(*this);
}

action poll_wait::resume(instant now) {
  if (std::exchange(sends_, false)) return {};  // its own poll was answered
  const bool polled = services_.pauses.polled(*this);
  if (const auto until = services_.pauses.end_of(*this); !polled && now < until) return action::wait(until);
  if (!services_.pauses.leave(*this)) return action::wait(instant::max());  // somebody else's poll has just been sent
  end();
  if (polled) return {};
  was_notified_ = notified_.exchange(false);
  if (was_notified_ || pause::poll == nullptr) return {};
  sends_ = true;
  sent_ = {pause::poll_now(now)};
  return action::send(sent_, true);
}

action poll_wait::interrupt(instant now) noexcept {
  if (services_.pauses.polled(*this) || !services_.pauses.leave(*this)) return resume(now);
  end();
  interrupted_ = true;
  return {};
}

}  // namespace dlock::engine
