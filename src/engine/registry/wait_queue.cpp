// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/wait_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "base/mutex.hpp"
#include "engine/registry/linked_table.hpp"
#include "engine/registry/poll_scheduler.hpp"

namespace dlock::engine {

/// Finds waiters by their owner and key.
struct waiters_by_owner {
  static std::uint64_t hash_of(const owner_state* owner, const lock_key& key) noexcept {
    return key.hash() ^ (reinterpret_cast<std::uintptr_t>(owner) * 0x9E3779B97F4A7C15U);
  }
  static std::uint64_t hash(const queue_waiter& of) noexcept { return hash_of(of.owner, *of.waits_for_); }
  static queue_waiter*& next(queue_waiter& of) noexcept { return of.next_of_owner_; }
};

/// The waiters for a key whose turn is taken.
struct key_queue {
  const lock_key* key = nullptr;  // of the caller that has the turn
  queue_waiter* first = nullptr;
  queue_waiter* last = nullptr;
  std::chrono::microseconds shortest_pause{0};  // the shortest pause that a waiter wants
  std::size_t with_shortest = 0;                // the number of those waiters
  pause* between_polls = nullptr;               // of the one whose turn it is
  queue_turn* spared = nullptr;                 // the turn, while a single attempt may take it
  std::unique_ptr<fault> trouble{};             // of the caller that has the turn, or had it before
  bool answered = false;                        // the store has replied about the key
  key_queue* same_bucket = nullptr;

  std::uint64_t hash() const noexcept { return key->hash(); }
  template <class Use>
  void for_each(Use&& use) const {
    for (auto* each = first; each != nullptr;) {
      auto* const behind = each->behind_;  // it may be removed
      use(*each);
      each = behind;
    }
  }
  void add(queue_waiter& waiter, const lock_key& of) noexcept {
    waiter.waits_for_ = &of;
    note_pause(waiter.longest_pause);
    waiter.before_ = waiter.first ? nullptr : last;
    waiter.behind_ = waiter.first ? first : nullptr;
    (waiter.before_ == nullptr ? first : waiter.before_->behind_) = &waiter;
    (waiter.behind_ == nullptr ? last : waiter.behind_->before_) = &waiter;
  }
  void remove(queue_waiter& waiter) noexcept {
    (waiter.before_ == nullptr ? first : waiter.before_->behind_) = waiter.behind_;
    (waiter.behind_ == nullptr ? last : waiter.behind_->before_) = waiter.before_;
    waiter.waits_for_ = nullptr;
    if (waiter.longest_pause != shortest_pause || --with_shortest > 0) return;
    for_each([this](const queue_waiter& each) { note_pause(each.longest_pause); });
  }

 private:
  void note_pause(std::chrono::microseconds wanted) noexcept {
    if (with_shortest > 0 && wanted > shortest_pause) return;
    with_shortest = with_shortest > 0 && wanted == shortest_pause ? with_shortest + 1 : 1;
    shortest_pause = wanted;
  }
};

struct wait_shard {
  base::mutex mutex{};
  linked_table<key_queue> taken DLOCK_GUARDED_BY(mutex){};  // by whole keys, so that two keys never share a queue
  linked_table<queue_waiter, waiters_by_owner> owned DLOCK_GUARDED_BY(mutex){};  // the waiters with an owner
  key_queue* spare DLOCK_GUARDED_BY(mutex) = nullptr;                            // linked by same_bucket
  std::size_t spares DLOCK_GUARDED_BY(mutex) = 0;
  waiting_call* newest DLOCK_GUARDED_BY(mutex) = nullptr;

  ~wait_shard() {
    while (spare != nullptr) delete std::exchange(spare, spare->same_bucket);
  }
  key_queue* find(const lock_key& key) const DLOCK_REQUIRES(mutex) {
    return taken.find(key.hash(), [&](const key_queue& each) { return *each.key == key; });
  }
  void add(key_queue& to, queue_waiter& waiter, const lock_key& key) noexcept DLOCK_REQUIRES(mutex) {
    to.add(waiter, key);
    if (waiter.owner != nullptr) owned.add(waiter);
  }
  void remove(key_queue& from, queue_waiter& waiter) noexcept DLOCK_REQUIRES(mutex) {
    if (waiter.owner != nullptr) owned.remove(waiter);
    from.remove(waiter);
  }
  /// Returns the queue of that key, and whether it is new.
  std::pair<key_queue&, bool> queue_of(const lock_key& key) DLOCK_REQUIRES(mutex) {
    if (auto* const found = find(key)) return {*found, false};
    auto* queue = spare;
    if (queue == nullptr) {
      queue = new key_queue;
    } else {
      spare = std::exchange(queue->same_bucket, nullptr);
      --spares;
    }
    queue->key = &key;
    taken.add(*queue);
    return {*queue, true};
  }
  void drop(key_queue& queue) noexcept DLOCK_REQUIRES(mutex) {
    taken.remove(queue);
    queue.spared = nullptr;
    queue.between_polls = nullptr;
    queue.trouble.reset();
    queue.answered = false;
    if (spares == most_spares) {
      delete &queue;
      return;
    }
    queue.same_bucket = std::exchange(spare, &queue);
    ++spares;
  }

 private:
  static constexpr std::size_t most_spares = 16;
};

namespace {
constexpr std::size_t shard_count = 16;
}  // namespace

// ---- the turn -------------------------------------------------------------------------------------------------------

void queue_turn::hand_on(bool freed) noexcept {
  if (queue_.load() == nullptr) return;
  auto& shard = *in_;
  const base::lock_guard lock(shard.mutex);
  auto* const mine = queue_.load();
  if (mine == nullptr) return;
  if (mine->first == nullptr) {
    shard.drop(*mine);
    queue_.store(nullptr);  // not earlier, because a caller that sees the turn gone may destroy its key
    return;
  }
  auto& next = *mine->first;
  next.freed = freed;
  give_to(next);
}

void queue_turn::give_to(queue_waiter& next) noexcept {
  in_->mutex.assert_held();
  auto& queue = *queue_.load();
  queue.spared = nullptr;
  queue.between_polls = nullptr;
  queue.key = next.waits_for_;
  in_->remove(queue, next);
  next.turn = queue_turn(*in_, queue);
  queue_.store(nullptr);
  next.wake();
}

bool queue_turn::next_uses(std::chrono::microseconds ttl) const noexcept {
  const base::lock_guard lock(in_->mutex);
  const auto* const queue = queue_.load();
  return queue != nullptr && queue->first != nullptr && queue->first->uses == ttl;
}

bool queue_turn::pass_on(std::shared_ptr<grant>& to_next, std::chrono::microseconds ttl) noexcept {
  const base::lock_guard lock(in_->mutex);
  const auto* const queue = queue_.load();
  if (queue == nullptr || queue->first == nullptr || queue->first->uses != ttl) return false;
  auto& next = *queue->first;
  next.passed = std::move(to_next);
  give_to(next);
  return true;
}

void queue_turn::granted(const lock_key& key, const owner_state* owner) noexcept {
  const base::lock_guard lock(in_->mutex);
  auto* const queue = queue_.load();  // a thread that hands it on meanwhile waits for the mutex
  if (queue == nullptr) return;
  queue->key = &key;
  queue->trouble.reset();
  queue->answered = true;
  if (owner == nullptr || queue->first == nullptr) return;
  const auto is = [&](const queue_waiter& each) { return each.owner == owner && *each.waits_for_ == key; };
  while (auto* const waiter = in_->owned.find(waiters_by_owner::hash_of(owner, key), is)) {
    in_->remove(*queue, *waiter);
    waiter->enter_again = true;
    waiter->wake();
  }
}

void queue_turn::begins_pause(pause& pause, instant now) noexcept {
  const base::lock_guard lock(in_->mutex);
  auto* const queue = queue_.load();
  if (queue == nullptr) return;
  queue->between_polls = &pause;
  if (queue->first != nullptr) pause.shorten(now + queue->shortest_pause);
}

void queue_turn::ends_pause() noexcept {
  const base::lock_guard lock(in_->mutex);
  if (auto* const queue = queue_.load()) queue->between_polls = nullptr;
}

void queue_turn::spare() noexcept {
  const base::lock_guard lock(in_->mutex);
  if (auto* const queue = queue_.load()) queue->spared = this;
}

bool queue_turn::retake() noexcept {
  const base::lock_guard lock(in_->mutex);
  auto* const queue = queue_.load();
  if (queue != nullptr) queue->spared = nullptr;
  return queue != nullptr;
}

void queue_turn::in_trouble(const fault* why) noexcept {
  if (queue_.load() == nullptr) return;
  const base::lock_guard lock(in_->mutex);
  auto* const queue = queue_.load();
  if (queue == nullptr) return;
  queue->answered = true;
  try {
    queue->trouble = why != nullptr ? std::make_unique<fault>(*why) : nullptr;
  } catch (const std::bad_alloc&) {
    queue->trouble.reset();
  }
}

// ---- the queue ------------------------------------------------------------------------------------------------------

wait_queue::wait_queue(std::size_t most_waiters)
    : most_waiters_(most_waiters), shards_(std::make_unique<wait_shard[]>(shard_count)) {}

wait_queue::~wait_queue() = default;

wait_shard& wait_queue::shard_of(const lock_key& key) const noexcept {
  return shards_[(key.hash() >> 32U) % shard_count];
}

queue_turn wait_queue::try_enter(const lock_key& key, bool once) {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  const auto [queue, free] = shard.queue_of(key);
  if (!free) {
    if (!once || queue.spared == nullptr) return {};
    std::exchange(queue.spared, nullptr)->queue_.store(nullptr);
    queue.key = &key;
  }
  return queue_turn(shard, queue);
}

bool wait_queue::enter(const lock_key& key, queue_waiter& waiter, instant now) {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  const auto [queue, free] = shard.queue_of(key);
  if (free) {
    waiter.turn = queue_turn(shard, queue);
    return true;
  }
  shard.add(queue, waiter, key);
  // The caller with the turn would poll less often than this waiter wants.
  if (queue.between_polls != nullptr) queue.between_polls->shorten(now + waiter.longest_pause);
  return false;
}

bool wait_queue::signalled(const lock_key& key, const queue_waiter& waiter) noexcept {
  const base::lock_guard lock(shard_of(key).mutex);
  return waiter.turn || waiter.enter_again;
}

bool wait_queue::trouble(const lock_key& key, fault& why, bool long_since) const noexcept {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  const auto* const queue = shard.find(key);
  if (queue == nullptr || (queue->trouble == nullptr && (queue->answered || !long_since))) return false;
  try {
    why = queue->trouble != nullptr ? *queue->trouble : passing_fault("the store has not answered so far", true);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void wait_queue::member_left(const lock_key& key) noexcept {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  const auto* const queue = shard.find(key);
  if (queue != nullptr && queue->between_polls != nullptr) queue->between_polls->shorten(instant::min());
}

bool wait_queue::leave(const lock_key& key, queue_waiter& waiter) noexcept {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  if (waiter.turn || waiter.enter_again) return false;
  if (waiter.waits_for_ != nullptr) shard.remove(*shard.find(key), waiter);
  return true;
}

std::size_t wait_queue::queued() const noexcept {
  std::size_t all = 0;
  for (std::size_t i = 0; i < shard_count; ++i) {
    auto& shard = shards_[i];
    const base::lock_guard lock(shard.mutex);
    shard.taken.for_each([&](const key_queue& queue) { queue.for_each([&](const queue_waiter&) { ++all; }); });
  }
  return all;
}

wait_shard& wait_queue::shard_of(const waiting_call& call) const noexcept {
  return shards_[reinterpret_cast<std::uintptr_t>(&call) / 1024 % shard_count];
}

bool wait_queue::begin_waiting(waiting_call& call, instant since) noexcept {
  if (waiters_.fetch_add(1, std::memory_order_relaxed) >= most_waiters_) {
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  call.since_ = since;
  auto& shard = shard_of(call);
  const base::lock_guard lock(shard.mutex);
  call.behind_ = std::exchange(shard.newest, &call);
  if (call.behind_ != nullptr) call.behind_->before_ = &call;
  return true;
}

void wait_queue::end_waiting(waiting_call& call) noexcept {
  auto& shard = shard_of(call);
  {
    const base::lock_guard lock(shard.mutex);
    if (call.behind_ != nullptr) call.behind_->before_ = call.before_;
    if (call.before_ != nullptr) {
      call.before_->behind_ = call.behind_;
    } else {
      shard.newest = call.behind_;
    }
  }
  call.before_ = call.behind_ = nullptr;
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

instant wait_queue::oldest_wait() const noexcept {
  auto oldest = instant::max();
  for (std::size_t i = 0; i < shard_count; ++i) {
    auto& shard = shards_[i];
    const base::lock_guard lock(shard.mutex);
    for (const auto* each = shard.newest; each != nullptr; each = each->behind_)
      oldest = std::min(oldest, each->since_);
  }
  return oldest;
}

}  // namespace dlock::engine
