// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/pause_watch.hpp"

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

void pause_watch::enter(pause& one, instant now, instant until) {
  const base::lock_guard lock(mutex_);
  one.until_ = until;
  one.timer_ = pauses_.emplace(earliest(now, until), &one);
  one.at_ = pause::place::waiting;
}

bool pause_watch::leave(pause& one) noexcept {
  const base::lock_guard lock(mutex_);
  if (one.at_ == pause::place::looking) return false;
  if (one.at_ == pause::place::waiting) pauses_.erase(one.timer_);
  one.at_ = pause::place::outside;
  return true;
}

std::size_t pause_watch::due(instant now, looks& found) noexcept {
  const base::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (auto at = pauses_.begin(); at != pauses_.end() && at->first <= now && count < most_looks;) {
    pause& one = *at->second;
    if (one.look == nullptr) {  // it ends by itself
      ++at;
      continue;
    }
    at = pauses_.erase(at);
    one.at_ = pause::place::looking;
    one.look->owner = &one;
    found[count++] = one.look;
  }
  return count;
}

instant pause_watch::end_of(const pause& one) const noexcept {
  const base::lock_guard lock(mutex_);
  // While its look is under way, or answered, it need not look at the clock.
  return one.at_ == pause::place::waiting ? one.until_ : instant::max();
}

bool pause_watch::looked(const pause& one) const noexcept {
  const base::lock_guard lock(mutex_);
  return one.at_ == pause::place::looked;
}

}  // namespace dlock::engine
