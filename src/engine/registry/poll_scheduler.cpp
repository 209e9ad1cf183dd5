// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/poll_scheduler.hpp"

namespace dlock::engine {

namespace {
/// A waiter may poll earlier by this fraction of its pause if another one polls then.
constexpr int early = 8;

instant earliest(instant now, instant until) noexcept {
  return until == instant::max() ? until : until - (until - now) / early;
}
}  // namespace

void pause::answered(statement&) noexcept {
  const base::lock_guard lock(in_.mutex_);
  state_ = state::polled;
  wake();
  if (in_.awaited_ > 0) in_.time_.notify(in_.answered_);
}

void pause::shorten(instant until) noexcept {
  const base::lock_guard lock(in_.mutex_);
  if (state_ != state::waiting || until >= until_) return;
  until_ = until;
  if (poll != nullptr) in_.pauses_.set(*this, until);
  wake();
}

void poll_scheduler::enter(pause& pause, instant now, instant until) noexcept {
  const base::lock_guard lock(mutex_);
  pause.until_ = until;
  if (pause.poll != nullptr) pauses_.set(pause, earliest(now, until));
  pause.state_ = pause::state::waiting;
}

bool poll_scheduler::leave(pause& pause) noexcept {
  const base::lock_guard lock(mutex_);
  if (pause.state_ == pause::state::polling) return false;
  pauses_.remove(pause);
  pause.state_ = pause::state::outside;
  return true;
}

void poll_scheduler::leave_for_good(pause& pause) noexcept {
  base::unique_lock lock(mutex_);
  ++awaited_;
  while (pause.state_ == pause::state::polling) time_.wait_until(answered_, lock.native(), instant::max());
  --awaited_;
  pauses_.remove(pause);
  pause.state_ = pause::state::outside;
}

std::size_t poll_scheduler::due(instant now, polls& found) noexcept {
  const base::lock_guard lock(mutex_);
  std::size_t count = 0;
  while (pauses_.first() <= now && count < most_polls) {
    pause& pause = pauses_.take_first();
    pause.state_ = pause::state::polling;
    pause.poll->owner = &pause;
    found[count++] = pause.poll_now(now);
  }
  return count;
}

instant poll_scheduler::end_of(const pause& pause) const noexcept {
  const base::lock_guard lock(mutex_);
  // While its poll is in progress, or answered, it need not check the clock.
  return pause.state_ == pause::state::waiting ? pause.until_ : instant::max();
}

bool poll_scheduler::polled(const pause& pause) const noexcept {
  const base::lock_guard lock(mutex_);
  return pause.state_ == pause::state::polled;
}

}  // namespace dlock::engine
