// SPDX-License-Identifier: BSL-1.0
#include "engine/books/nested_wait.hpp"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <utility>

#include "base/mutex.hpp"
#include "engine/books/fork_guard.hpp"

namespace dlock::engine {

/// All of this process.
struct nested_waits {
  using by_key = std::unordered_multimap<std::uint64_t, nested_wait*>;
  /// A wait, and that of the thread that holds what it waits for; null: no waiting thread of this process does.
  struct behind {
    nested_wait& wait;
    const behind* holder;
  };

  base::mutex mutex{};
  by_key holders DLOCK_GUARDED_BY(mutex){};  // by the hashes of the keys that they hold
  by_key waiters DLOCK_GUARDED_BY(mutex){};  // by that of the key that they wait for

  static nested_waits& all() { return one_per_process<nested_waits>(); }

  const nested_wait* holder_of(const store& where, const lock_key& key) const DLOCK_REQUIRES(mutex) {
    const auto [first, last] = holders.equal_range(key.hash());
    const auto found = std::find_if(first, last, [&](const auto& each) { return each.second->holds(where, key); });
    return found == last ? nullptr : found->second;
  }
  /// Those that wait for the key, and those that wait for what these hold, and so on.
  template <class Use>
  void for_each_waiter(const store& where, const lock_key& key, const Use& use, const behind* holder = nullptr)
      DLOCK_REQUIRES(mutex) {
    const auto [first, last] = waiters.equal_range(key.hash());
    for (auto at = first; at != last; ++at) {
      const behind here{*at->second, holder};
      if (here.wait.where_ != &where || *here.wait.key_ != key) continue;
      use(here);
      // The waits that have begun form no circle of locks that are still held, so this ends.
      for (const auto& each : here.wait.held_) {
        if (each.is_held()) for_each_waiter(*each.where, each.held->key, use, &here);
      }
    }
  }
  static void remove(by_key& from, std::uint64_t hash, const nested_wait* which) noexcept {
    const auto [first, last] = from.equal_range(hash);
    const auto at = std::find_if(first, last, [&](const auto& each) { return each.second == which; });
    if (at != last) from.erase(at);
  }
};

bool nested_wait::holds(const store& where, const lock_key& key) const noexcept {
  return std::any_of(held_.begin(), held_.end(), [&](const held_lock& each) {
    return each.where == &where && each.held->key == key && each.is_held();
  });
}

std::vector<circle_link> nested_wait::begin(const store& where, const lock_key& key, std::vector<held_lock> held) {
  end();
  held_ = std::move(held);
  if (holds(where, key)) return {};  // it waits for itself, as reentry::busy wants, and says so when its wait has ended
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  circle_.clear();
  std::vector<circle_link> circle;
  // The waits that have begun form no circle, so this ends.
  for (auto* at = waits.holder_of(where, key); at != nullptr; at = waits.holder_of(*at->where_, *at->key_)) {
    circle.push_back({.who = {}, .waits_for = std::string(at->key_->view())});
    if (holds(*at->where_, *at->key_)) return circle;
  }
  where_ = &where;
  key_ = &key;
  waits.waiters.emplace(key.hash(), this);
  for (const auto& each : held_) waits.holders.emplace(each.held->key.hash(), this);
  return {};
}

void nested_wait::end() noexcept {
  if (key_ == nullptr) return;
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  nested_waits::remove(waits.waiters, std::exchange(key_, nullptr)->hash(), this);
  for (const auto& each : held_) nested_waits::remove(waits.holders, each.held->key.hash(), this);
}

std::vector<circle_link> nested_wait::circle() const {
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  return circle_;
}

std::vector<std::string> nested_wait::keys_ahead() const noexcept {
  std::vector<std::string> keys;
  if (key_ == nullptr) return keys;
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  try {
    for (const auto* at = this; at != nullptr && at->where_ == where_; at = waits.holder_of(*at->where_, *at->key_))
      keys.emplace_back(at->key_->view());
  } catch (const std::bad_alloc&) {
    // The store finds out by itself in a while.
  }
  return keys;
}

void nested_wait::list_held(const store& where, const lock_key& key, std::vector<lock_held_meanwhile>& all) {
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  waits.for_each_waiter(where, key, [&](const nested_waits::behind& each) {
    for (const auto& own : each.wait.held_) {
      const auto& held = *own.held;
      if (held.key.row() != nullptr || !held.pin || !own.is_held()) continue;
      all.push_back({.key = std::string(held.key.view()), .session = held.pin->id, .fence = held.fence});
    }
  });
}

void nested_wait::closes_circle(const store& where, const lock_key& key, std::string_view held,
                                std::span<const circle_link> others) noexcept {
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  waits.for_each_waiter(where, key, [&](const nested_waits::behind& each) {
    auto& wait = each.wait;
    const bool meant = std::any_of(wait.held_.begin(), wait.held_.end(),
                                   [&](const held_lock& of) { return of.held->key.view() == held && of.is_held(); });
    if (!meant) return;
    try {
      wait.circle_.clear();
      for (const auto* at = each.holder; at != nullptr; at = at->holder)
        wait.circle_.push_back({.who = {}, .waits_for = std::string(at->wait.key_->view())});
      wait.circle_.insert(wait.circle_.end(), others.begin(), others.end());
      wait.thread_.wake();
    } catch (const std::bad_alloc&) {
      // The store finds it again.
    }
  });
}

}  // namespace dlock::engine
