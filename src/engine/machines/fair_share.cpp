// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/fair_share.hpp"

#include <algorithm>

namespace dlock::engine {

microseconds reigns::leave_alone(const lock_key& key, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto& slot = of(key);
  if (slot.key != key.hash() || slot.released == instant{}) return microseconds{0};
  if (now - slot.released >= enough || now - slot.begun < slot.length) return microseconds{0};
  slot.left_alone = true;
  return moment;
}

void reigns::granted(const lock_key& key, std::uint64_t fence, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto& slot = of(key);
  const bool again = slot.key == key.hash() && slot.released != instant{} && fence == slot.fence + 1;
  if (!again) {
    slot = {.key = key.hash(), .begun = now, .length = shortest};
  } else if (slot.left_alone) {  // nobody came
    slot.begun = now;
    slot.length = std::min(2 * slot.length, longest);
  } else if (now - slot.released >= enough) {
    slot.begun = now;
  }
  slot.fence = fence;
  slot.released = instant{};
  slot.left_alone = false;
}

void reigns::released(const lock_key& key, std::uint64_t fence, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto& slot = of(key);
  if (slot.key == key.hash() && slot.fence == fence) slot.released = now;
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
