// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/look_pause.hpp"

#include <utility>

namespace dlock::engine {

action look_pause::start(queue_turn& turn, statement* then, instant until, instant now) {
  interrupted_ = sends_ = was_told_ = false;
  pause::look = then;
  turn_ = &turn;
  with_.pauses.enter(*this, now, until);
  if (turn) turn.begins_pause(*this, now);
  if (told_) shorten(now);
  return action::wait(with_.pauses.end_of(*this));
}

void look_pause::tell() noexcept {
  told_ = true;
  shorten(instant::min());
}

void look_pause::end() noexcept {
  auto* const turn = std::exchange(turn_, nullptr);
  if (turn == nullptr) return;
  if (*turn) turn->ends_pause();
  with_.pauses.leave(*this);
}

action look_pause::resume(instant now) {
  if (std::exchange(sends_, false)) return {};  // its own look was answered
  const bool looked = with_.pauses.looked(*this);
  if (const auto until = with_.pauses.end_of(*this); !looked && now < until) return action::wait(until);
  if (!with_.pauses.leave(*this)) return action::wait(instant::max());  // somebody else's look has just been sent
  end();
  if (looked) return {};
  was_told_ = told_.exchange(false);
  if (was_told_ || pause::look == nullptr) return {};
  sends_ = true;
  sent_ = {pause::look_now(now)};
  return action::send(sent_, true);
}

action look_pause::interrupt(instant now) noexcept {
  if (with_.pauses.looked(*this) || !with_.pauses.leave(*this)) return resume(now);
  end();
  interrupted_ = true;
  return {};
}

}  // namespace dlock::engine
