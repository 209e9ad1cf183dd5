// SPDX-License-Identifier: BSL-1.0
#include "engine/books/wait_queue.hpp"

#include <new>
#include <utility>

#include "base/mutex.hpp"
#include "engine/books/linked_table.hpp"
#include "engine/books/pause_watch.hpp"

namespace dlock::engine {

/// Of a key whose turn somebody has: those who wait for it.
struct wait_line {
  const lock_key* key = nullptr;  // of whoever has the turn
  queue_waiter* first = nullptr;
  queue_waiter* last = nullptr;
  pause* between_looks = nullptr;    // of the one whose turn it is
  queue_turn* spared = nullptr;      // the turn, while a single attempt may take it
  std::unique_ptr<fault> trouble{};  // of the one whose turn it is, or was before
  bool answered = false;             // the store has said something about the key
  wait_line* same_bucket = nullptr;

  std::uint64_t hash() const noexcept { return key->hash(); }
  template <class Use>
  void for_each(Use&& use) const {
    for (auto* each = first; each != nullptr;) {
      auto* const behind = each->behind_;  // it may be taken out
      use(*each);
      each = behind;
    }
  }
  void add(queue_waiter& waiter) noexcept {
    waiter.before_ = waiter.first ? nullptr : last;
    waiter.behind_ = waiter.first ? first : nullptr;
    (waiter.before_ == nullptr ? first : waiter.before_->behind_) = &waiter;
    (waiter.behind_ == nullptr ? last : waiter.behind_->before_) = &waiter;
  }
  void remove(queue_waiter& waiter) noexcept {
    (waiter.before_ == nullptr ? first : waiter.before_->behind_) = waiter.behind_;
    (waiter.behind_ == nullptr ? last : waiter.behind_->before_) = waiter.before_;
    waiter.waits_for_ = nullptr;
  }
};

struct wait_shard {
  base::mutex mutex{};
  linked_table<wait_line> taken DLOCK_GUARDED_BY(mutex){};  // by whole key: keys never share a line
  wait_line* spare DLOCK_GUARDED_BY(mutex) = nullptr;       // linked by same_bucket
  std::size_t spares DLOCK_GUARDED_BY(mutex) = 0;

  ~wait_shard() {
    while (spare != nullptr) delete std::exchange(spare, spare->same_bucket);
  }
  wait_line* find(const lock_key& key) const DLOCK_REQUIRES(mutex) {
    return taken.find(key.hash(), [&](const wait_line& each) { return *each.key == key; });
  }
  /// The line of that key, and whether it was made now.
  std::pair<wait_line&, bool> line_of(const lock_key& key) DLOCK_REQUIRES(mutex) {
    if (auto* const found = find(key)) return {*found, false};
    auto* line = spare;
    if (line == nullptr) {
      line = new wait_line;
    } else {
      spare = std::exchange(line->same_bucket, nullptr);
      --spares;
    }
    line->key = &key;
    taken.add(*line);
    return {*line, true};
  }
  void drop(wait_line& line) noexcept DLOCK_REQUIRES(mutex) {
    taken.remove(line);
    line.trouble.reset();
    line.answered = false;
    if (spares == most_spares) {
      delete &line;
      return;
    }
    line.same_bucket = std::exchange(spare, &line);
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
  if (line_.load() == nullptr) return;
  auto& shard = *in_;
  const base::lock_guard lock(shard.mutex);
  auto* const mine = line_.load();
  if (mine == nullptr) return;
  auto& line = *mine;
  line.spared = nullptr;
  line.between_looks = nullptr;
  if (line.first == nullptr) {
    shard.drop(line);
    line_.store(nullptr);  // not before: whoever sees that the turn has gone may let its key go
    return;
  }
  auto& next = *line.first;
  line.key = next.waits_for_;
  line.remove(next);
  next.turn = queue_turn(shard, line);
  next.freed = freed;
  line_.store(nullptr);
  next.wake();
}

void queue_turn::granted(const lock_key& key, const owner_state* owner) noexcept {
  const base::lock_guard lock(in_->mutex);
  auto* const line = line_.load();  // whoever hands it on meanwhile waits for the lock
  if (line == nullptr) return;
  line->key = &key;
  line->trouble.reset();
  line->answered = true;
  if (owner == nullptr) return;
  line->for_each([&](queue_waiter& waiter) {
    if (waiter.owner != owner) return;
    line->remove(waiter);
    waiter.enter_again = true;
    waiter.wake();
  });
}

void queue_turn::begins_pause(pause& pause, instant now) noexcept {
  const base::lock_guard lock(in_->mutex);
  auto* const line = line_.load();
  if (line == nullptr) return;
  line->between_looks = &pause;
  line->for_each([&](const queue_waiter& waiter) { pause.shorten(now + waiter.longest_pause); });
}

void queue_turn::ends_pause() noexcept {
  const base::lock_guard lock(in_->mutex);
  if (auto* const line = line_.load()) line->between_looks = nullptr;
}

void queue_turn::spare() noexcept {
  const base::lock_guard lock(in_->mutex);
  if (auto* const line = line_.load()) line->spared = this;
}

bool queue_turn::retake() noexcept {
  const base::lock_guard lock(in_->mutex);
  auto* const line = line_.load();
  if (line != nullptr) line->spared = nullptr;
  return line != nullptr;
}

void queue_turn::in_trouble(const fault* why) noexcept {
  if (line_.load() == nullptr) return;
  const base::lock_guard lock(in_->mutex);
  auto* const line = line_.load();
  if (line == nullptr) return;
  line->answered = true;
  try {
    line->trouble = why != nullptr ? std::make_unique<fault>(*why) : nullptr;
  } catch (const std::bad_alloc&) {
    line->trouble.reset();
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
  const auto [line, free] = shard.line_of(key);
  if (!free) {
    if (!once || line.spared == nullptr) return {};
    std::exchange(line.spared, nullptr)->line_.store(nullptr);
    line.key = &key;
  }
  return queue_turn(shard, line);
}

bool wait_queue::enter(const lock_key& key, queue_waiter& waiter, instant now) {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  const auto [line, free] = shard.line_of(key);
  if (free) {
    waiter.turn = queue_turn(shard, line);
    return true;
  }
  waiter.waits_for_ = &key;
  line.add(waiter);
  // The one before would look more seldom than this one wants to.
  if (line.between_looks != nullptr) line.between_looks->shorten(now + waiter.longest_pause);
  return false;
}

bool wait_queue::told(const lock_key& key, const queue_waiter& waiter) noexcept {
  const base::lock_guard lock(shard_of(key).mutex);
  return waiter.turn || waiter.enter_again;
}

bool wait_queue::trouble(const lock_key& key, fault& why, bool long_since) const noexcept {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  const auto* const line = shard.find(key);
  if (line == nullptr || (line->trouble == nullptr && (line->answered || !long_since))) return false;
  try {
    why = line->trouble != nullptr ? *line->trouble : passing_fault("the store has not answered so far", true);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool wait_queue::leave(const lock_key& key, queue_waiter& waiter) noexcept {
  auto& shard = shard_of(key);
  const base::lock_guard lock(shard.mutex);
  if (waiter.turn || waiter.enter_again) return false;
  if (waiter.waits_for_ != nullptr) shard.find(key)->remove(waiter);
  return true;
}

std::size_t wait_queue::in_line() const noexcept {
  std::size_t all = 0;
  for (std::size_t i = 0; i < shard_count; ++i) {
    auto& shard = shards_[i];
    const base::lock_guard lock(shard.mutex);
    shard.taken.for_each([&](const wait_line& line) { line.for_each([&](const queue_waiter&) { ++all; }); });
  }
  return all;
}

bool wait_queue::begin_waiting() noexcept {
  if (waiters_.fetch_add(1, std::memory_order_relaxed) < most_waiters_) return true;
  end_waiting();
  return false;
}

}  // namespace dlock::engine
