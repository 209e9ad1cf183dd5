// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/machines/fair_share.hpp"

#include <algorithm>

namespace dlock::engine {

microseconds reigns::leave_alone(const lock_key& key, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto& one = of(key);
  if (one.key != key.hash() || one.released == instant{}) return microseconds{0};
  if (now - one.released >= enough || now - one.begun < one.length) return microseconds{0};
  one.left_alone = true;
  return moment;
}

void reigns::granted(const lock_key& key, std::uint64_t fence, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto& one = of(key);
  const bool again = one.key == key.hash() && one.released != instant{} && fence == one.fence + 1;
  if (!again) {
    one = {.key = key.hash(), .begun = now, .length = shortest};
  } else if (one.left_alone) {  // nobody came
    one.begun = now;
    one.length = std::min(2 * one.length, longest);
  } else if (now - one.released >= enough) {
    one.begun = now;
  }
  one.fence = fence;
  one.released = instant{};
  one.left_alone = false;
}

void reigns::released(const lock_key& key, std::uint64_t fence, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto& one = of(key);
  if (one.key == key.hash() && one.fence == fence) one.released = now;
}

void missed_turns::looked(const seen& holder, instant now) noexcept {
  if (!holder.holder || holder.holder != holder_) {
    holder_ = holder.holder;
    since_ = now;
  } else if (holder.fence != fence_ && now - since_ >= 2 * reigns::shortest) {
    hurry_ = true;  // for less time than that, others may just be slower than it is
  }
  fence_ = holder.fence;
}

}  // namespace dlock::engine
