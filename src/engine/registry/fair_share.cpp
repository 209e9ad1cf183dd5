// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/fair_share.hpp"

#include <algorithm>

namespace dlock::engine {

namespace {
/// How long a process expects others at a key for which they waited.
constexpr microseconds contended_for = std::chrono::seconds{1};
}  // namespace

microseconds tenure_tracker::time_to_yield(const lock_key& key, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto* const slot = keys_.find(key);
  if (slot == nullptr || slot->released == instant{}) return microseconds{0};
  if (slot->waiters > 0) {
    const auto ends = slot->released + std::clamp(slot->waiters * waiter_precedence, tenure_gap, tenure_yield);
    return std::max(ends - now, microseconds{0});
  }
  if (now - slot->released >= tenure_gap || now - slot->begun < slot->length) return microseconds{0};
  slot->yielded = true;
  return tenure_yield;
}

bool tenure_tracker::is_over(const lock_key& key, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  const auto* const slot = keys_.find(key);
  return slot == nullptr || now - slot->begun >= slot->length;
}

void tenure_tracker::granted(const lock_key& key, const acquisition& got) noexcept {
  const base::lock_guard lock(mutex_);
  auto& slot = keys_.slot_of(key);
  // Measured until the request, because its statement may take longer than that, and meanwhile the key is not left
  // alone.
  const auto gap = got.asked - slot.released;
  const bool again =
      slot.key == key.hash() && slot.released != instant{} &&
      (got.counts ? got.fence == slot.fence + 1 : gap < (slot.yielded ? tenure_yield : microseconds{0}) + tenure_gap);
  if (!again) {
    slot = {.key = key.hash(), .begun = got.now, .length = shortest_tenure};
  } else if (slot.yielded) {  // no other process took it
    slot.begun = got.now;
    slot.length = std::min(2 * slot.length, longest);
  } else if (gap >= tenure_gap) {
    slot.begun = got.now;
  }
  slot.fence = got.fence;
  slot.released = instant{};
  slot.used = got.now;
  slot.yielded = false;
  slot.waiters = 0;
  slot.watched = got.watched;
}

void tenure_tracker::renumbered(const lock_key& key, std::uint64_t from, std::uint64_t to) noexcept {
  const base::lock_guard lock(mutex_);
  auto* const slot = keys_.find(key);
  if (slot != nullptr && slot->fence == from) slot->fence = to;
}

void tenure_tracker::notified(const lock_key& key, std::uint64_t fence, unsigned waiters, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto* const slot = keys_.find(key);
  if (slot == nullptr || slot->fence != fence) return;
  // This process counts as one of them if the server has not noticed yet that it does not wait any more.
  slot->waiters = slot->watched && now - slot->used < tenure_gap ? waiters - 1 : waiters;
}

void tenure_tracker::gave_way(const lock_key& key, unsigned waiters, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  keys_.slot_of(key) = {
      .key = key.hash(), .begun = now, .released = now, .used = now, .length = shortest_tenure, .waiters = waiters};
}

unsigned tenure_tracker::rivals(const lock_key& key, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  const auto* const slot = keys_.find(key);
  return slot != nullptr && slot->waiters > 0 && now - slot->used < longest ? slot->waiters - 1 : 0;
}

bool tenure_tracker::handed_over(const lock_key& key) noexcept {
  const base::lock_guard lock(mutex_);
  const auto* const slot = keys_.find(key);
  return slot != nullptr && slot->waiters > 0;
}

void tenure_tracker::released(const lock_key& key, std::uint64_t fence, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto* const slot = keys_.find(key);
  if (slot == nullptr || slot->fence != fence) return;
  slot->released = slot->used = now;
}

void wake_knowledge::granted(const lock_key& key, std::uint64_t nonce, bool waited, instant asked_at) noexcept {
  const base::lock_guard lock(mutex_);
  auto* at = keys_.find(key);
  if (at == nullptr) {
    at = &keys_.slot_of(key);
    *at = {.key = key.hash(), .nobody_at = asked_at};
  } else if (at->nonce == 0 && at->nobody_at != instant{} && asked_at - at->used >= quiet_without_waiters) {
    // It was free long enough for a waiter to take it.
    at->nobody_at = asked_at;
  }
  if (waited) at->nobody_at = instant{};
  at->nonce = nonce;
  at->used = asked_at;
}

bool wake_knowledge::looks(const lock_key& key, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  const auto* const at = keys_.find(key);
  return at == nullptr || at->nobody_at == instant{} || now - at->nobody_at >= quiet_without_waiters;
}

bool wake_knowledge::contended(const lock_key& key, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  const auto* const at = keys_.find(key);
  return at != nullptr && at->nobody_at == instant{} && now - at->used < contended_for;
}

void wake_knowledge::looked(const lock_key& key, std::uint64_t nonce, unsigned waiters, instant sent) noexcept {
  const base::lock_guard lock(mutex_);
  auto* at = keys_.find(key);
  const bool ours = at != nullptr && at->nonce == nonce;
  if (waiters == 0 && (!ours || sent < at->used)) return;  // nothing is known of a later grant, or a later look
  if (at == nullptr) {
    at = &keys_.slot_of(key);
    *at = {.key = key.hash()};
  }
  at->nobody_at = waiters == 0 ? sent : instant{};
  at->used = sent;
  if (ours) at->nonce = 0;
}

void wake_knowledge::released(const lock_key& key, std::uint64_t nonce, instant now) noexcept {
  const base::lock_guard lock(mutex_);
  auto* const at = keys_.find(key);
  if (at == nullptr || at->nonce != nonce) return;
  at->nonce = 0;
  at->used = now;
}

}  // namespace dlock::engine
