// SPDX-License-Identifier: BSL-1.0
#include "engine/books/pause_watch.hpp"

namespace dlock::engine {

namespace {
/// Who pauses may look earlier by this part of its pause, if somebody else looks then.
constexpr int early = 8;

instant earliest(instant now, instant until) noexcept {
  return until == instant::max() ? until : until - (until - now) / early;
}
}  // namespace

void pause::answered(statement&) noexcept {
  const base::lock_guard lock(in_.mutex_);
  at_ = place::looked;
  wake();
}

void pause::shorten(instant until) noexcept {
  const base::lock_guard lock(in_.mutex_);
  if (at_ != place::waiting || until >= until_) return;
  until_ = until;
  auto node = in_.pauses_.extract(timer_);
  node.key() = until;
  timer_ = in_.pauses_.insert(std::move(node));
  wake();
}

void pause_watch::enter(pause& pause, instant now, instant until) {
  const base::lock_guard lock(mutex_);
  pause.until_ = until;
  pause.timer_ = pauses_.emplace(earliest(now, until), &pause);
  pause.at_ = pause::place::waiting;
}

bool pause_watch::leave(pause& pause) noexcept {
  const base::lock_guard lock(mutex_);
  if (pause.at_ == pause::place::looking) return false;
  if (pause.at_ == pause::place::waiting) pauses_.erase(pause.timer_);
  pause.at_ = pause::place::outside;
  return true;
}

std::size_t pause_watch::due(instant now, looks& found) noexcept {
  const base::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (auto at = pauses_.begin(); at != pauses_.end() && at->first <= now && count < most_looks;) {
    pause& pause = *at->second;
    if (pause.look == nullptr) {  // it ends by itself
      ++at;
      continue;
    }
    at = pauses_.erase(at);
    pause.at_ = pause::place::looking;
    pause.look->owner = &pause;
    found[count++] = pause.look_now(now);
  }
  return count;
}

instant pause_watch::end_of(const pause& pause) const noexcept {
  const base::lock_guard lock(mutex_);
  // While its look is under way, or answered, it need not look at the clock.
  return pause.at_ == pause::place::waiting ? pause.until_ : instant::max();
}

bool pause_watch::looked(const pause& pause) const noexcept {
  const base::lock_guard lock(mutex_);
  return pause.at_ == pause::place::looked;
}

}  // namespace dlock::engine
