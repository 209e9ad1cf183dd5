// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/wait_queue.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>

#include "engine/pause_watch.hpp"

namespace dlock::engine {

struct wait_line {
  const lock_key* key = nullptr;       // of its own entry
  std::list<queue_waiter*> waiters{};  // allocates nothing while nobody waits
  pause* between_looks = nullptr;      // of the one whose turn it is
};

struct wait_shard {
  struct key_hash {
    std::size_t operator()(const lock_key& key) const noexcept { return static_cast<std::size_t>(key.hash()); }
  };
  std::mutex mutex{};
  std::unordered_map<lock_key, wait_line, key_hash> taken{};  // by whole key: keys never share a place
};

namespace {
constexpr std::size_t shard_count = 16;
}  // namespace

// ---- the turn -------------------------------------------------------------------------------------------------------

void queue_turn::hand_on(bool freed) noexcept {
  auto* const mine = of_.exchange(nullptr);
  if (mine == nullptr) return;
  auto& line = *mine;
  auto& shard = *in_;
  const std::lock_guard lock(shard.mutex);
  line.between_looks = nullptr;
  if (line.waiters.empty()) {
    shard.taken.erase(shard.taken.find(*line.key));
    return;
  }
  auto& next = *line.waiters.front();
  line.waiters.pop_front();
  next.turn = queue_turn(shard, line);
  next.freed = freed;
  next.wake();
}

void queue_turn::granted(const owner_state* owner) noexcept {
  const std::lock_guard lock(in_->mutex);
  auto* const line = of_.load();  // whoever hands it on meanwhile waits for the lock
  if (line == nullptr || owner == nullptr) return;
  for (auto at = line->waiters.begin(); at != line->waiters.end();) {
    if ((*at)->owner != owner) {
      ++at;
      continue;
    }
    auto& waiter = **at;
    at = line->waiters.erase(at);
    waiter.enter_again = true;
    waiter.wake();
  }
}

void queue_turn::begins_pause(pause& how, instant now) noexcept {
  const std::lock_guard lock(in_->mutex);
  auto* const line = of_.load();
  if (line == nullptr) return;
  line->between_looks = &how;
  for (const auto* waiter : line->waiters) how.shorten(now + waiter->longest_pause);
}

void queue_turn::ends_pause() noexcept {
  const std::lock_guard lock(in_->mutex);
  if (auto* const line = of_.load()) line->between_looks = nullptr;
}

// ---- the queue ------------------------------------------------------------------------------------------------------

wait_queue::wait_queue(std::size_t most_waiters)
    : most_waiters_(most_waiters), shards_(std::make_unique<wait_shard[]>(shard_count)) {}

wait_queue::~wait_queue() = default;

wait_shard& wait_queue::shard_of(const lock_key& key) noexcept { return shards_[(key.hash() >> 32U) % shard_count]; }

queue_turn wait_queue::try_enter(const lock_key& key) {
  auto& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto [at, free] = shard.taken.try_emplace(key);
  if (!free) return {};
  at->second.key = &at->first;
  return {shard, at->second};
}

bool wait_queue::enter(const lock_key& key, queue_waiter& waiter, instant now) {
  auto& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto [at, free] = shard.taken.try_emplace(key);
  auto& line = at->second;
  if (free) {
    line.key = &at->first;
    waiter.turn = queue_turn(shard, line);
    return true;
  }
  line.waiters.push_back(&waiter);
  // The one before would look more seldom than this one wants to.
  if (line.between_looks != nullptr) line.between_looks->shorten(now + waiter.longest_pause);
  return false;
}

bool wait_queue::told(const lock_key& key, const queue_waiter& waiter) noexcept {
  const std::lock_guard lock(shard_of(key).mutex);
  return waiter.turn || waiter.enter_again;
}

bool wait_queue::leave(const lock_key& key, queue_waiter& waiter) noexcept {
  auto& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  if (waiter.turn || waiter.enter_again) return false;
  const auto line = shard.taken.find(key);
  if (line != shard.taken.end()) line->second.waiters.remove(&waiter);
  return true;
}

std::size_t wait_queue::in_line() const noexcept {
  std::size_t all = 0;
  for (std::size_t i = 0; i < shard_count; ++i) {
    auto& shard = shards_[i];
    const std::lock_guard lock(shard.mutex);
    for (const auto& [key, line] : shard.taken) all += line.waiters.size();
  }
  return all;
}

bool wait_queue::begin_waiting() noexcept {
  if (waiters_.fetch_add(1, std::memory_order_relaxed) < most_waiters_) return true;
  end_waiting();
  return false;
}

}  // namespace dlock::engine
