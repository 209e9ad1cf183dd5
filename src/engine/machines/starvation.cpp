// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/starvation.hpp"

#include <algorithm>

namespace dlock::engine {

namespace {
/// How many takes in a row a starving waiter may send without having seen the key free: a fixed number for a distant
/// one; for a notified one, a number that grows with how often it was passed over.
constexpr unsigned takes_if_far = 4;
constexpr unsigned takes_if_notified = 16;
constexpr unsigned passed_over_per_take = 8;
}  // namespace

void starvation_detector::polled(const seen& holder, instant now) noexcept {
  if (first_poll_ == instant{}) first_poll_ = now;
  if (holder.holder != holder_ || holder.fence != fence_) grant_since_ = now;
  if (holder.holder && fence_ != 0 && holder.fence != fence_) ++passed_over_;
  if (!holder.holder || holder.holder != holder_) {
    holder_ = holder.holder;
    since_ = now;
  } else if (holder.fence != fence_ && now - since_ >= 4 * shortest_tenure) {
    starving_ = true;  // in a shorter time others may just be faster
  }
  if (holder.holder && has_second_turn(holder.holder)) outrun_ = true;
  fence_ = holder.fence;
  promised_ = holder.holder && (promises_to_look(holder.nonce) || lingers(holder.nonce));
}

bool starvation_detector::insists(instant now) noexcept {
  const auto if_far = far_ ? takes_if_far : 0;
  const auto if_notified = races_ ? std::min(passed_over_ / passed_over_per_take, takes_if_notified) : 0;
  if (!overlooked(now) || insisted_ >= std::max(if_far, if_notified)) return false;
  ++insisted_;
  return true;
}

bool starvation_detector::has_second_turn(const id128& holder) noexcept {
  if (turns_seen_ > 0 && turns_[(turns_seen_ - 1) % turns_known] == holder) return false;
  const bool second = std::find(turns_.begin(), turns_.end(), holder) != turns_.end();
  turns_[turns_seen_++ % turns_known] = holder;
  return second;
}

}  // namespace dlock::engine
