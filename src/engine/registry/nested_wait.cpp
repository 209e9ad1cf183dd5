// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/nested_wait.hpp"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <utility>

#include "base/mutex.hpp"
#include "engine/registry/fork_guard.hpp"

namespace dlock::engine {

/// All nested waits of this process.
struct nested_waits {
  using by_key = std::unordered_multimap<std::uint64_t, nested_wait*>;
  /// A wait, and the wait of the thread that holds what it waits for, or null if no waiting thread of this process
  /// does.
  struct behind {
    nested_wait& wait;
    const behind* holder;

    /// When the first of these waits has ended at the latest.
    instant until() const noexcept {
      auto first = wait.what_.until;
      for (const auto* at = holder; at != nullptr; at = at->holder) first = std::min(first, at->wait.what_.until);
      return first;
    }
  };

  base::mutex mutex{};
  by_key holders DLOCK_GUARDED_BY(mutex){};  // by the hashes of the keys that they hold
  by_key waiters DLOCK_GUARDED_BY(mutex){};  // by the hash of the key that they wait for

  static nested_waits& all() { return one_per_process<nested_waits>(); }

  /// Calls `use` for the threads that hold it.
  template <class Use>
  void for_each_holder(const nested_wait::awaited& what, const Use& use) const DLOCK_REQUIRES(mutex) {
    const auto [first, last] = holders.equal_range(what.key->hash());
    for (auto at = first; at != last; ++at) {
      if (at->second->holds(what)) use(*at->second);
    }
  }
  // Earlier waits form no cycle of locks that are still held, so this loop ends.

  /// Whether a wait for `what` leads, through the waits on `path`, to a lock of `whose`.
  bool leads_to(const nested_wait& whose, const nested_wait::awaited& what, std::vector<nested_wait*>& path) const
      DLOCK_REQUIRES(mutex) {
    bool found = false;
    for_each_holder(what, [&](nested_wait& holder) DLOCK_REQUIRES(mutex) {
      if (found) return;
      path.push_back(&holder);
      found = whose.holds(holder.what_) || leads_to(whose, holder.what_, path);
      if (!found) path.pop_back();
    });
    return found;
  }
  static void add_links(std::span<nested_wait* const> of, std::vector<cycle_link>& to) {
    for (const auto* const each : of) to.push_back({.who = {}, .waits_for = std::string(each->what_.key->view())});
  }
  void list_ahead(const nested_wait::awaited& what, std::vector<std::string>& keys) const DLOCK_REQUIRES(mutex) {
    keys.emplace_back(what.key->view());
    for_each_holder(what, [&](const nested_wait& holder) DLOCK_REQUIRES(mutex) {
      if (holder.what_.where == what.where) list_ahead(holder.what_, keys);
    });
  }
  /// Calls `use` for those that wait for it, for those that wait for what these hold, and so on.
  template <class Use>
  void for_each_waiter(const nested_wait::awaited& what, const Use& use, const behind* holder = nullptr)
      DLOCK_REQUIRES(mutex) {
    const auto [first, last] = waiters.equal_range(what.key->hash());
    for (auto at = first; at != last; ++at) {
      const behind here{*at->second, holder};
      const auto& theirs = here.wait.what_;
      if (!here.wait.cycle_.empty()) continue;  // it is refused
      if (theirs.where != what.where || *theirs.key != *what.key) continue;
      use(here);
      for (const auto& each : here.wait.held_) {
        if (each.is_held()) for_each_waiter({.where = each.where, .key = &each.key()}, use, &here);
      }
    }
  }
  static void remove(by_key& from, std::uint64_t hash, const nested_wait* which) noexcept {
    const auto [first, last] = from.equal_range(hash);
    const auto at = std::find_if(first, last, [&](const auto& each) { return each.second == which; });
    if (at != last) from.erase(at);
  }
  void remove(nested_wait& which) noexcept DLOCK_REQUIRES(mutex) {
    remove(waiters, std::exchange(which.what_, {}).key->hash(), &which);
    for (const auto& each : which.held_) remove(holders, each.key().hash(), &which);
  }
};

bool nested_wait::ends_before(const nested_wait* a, const nested_wait* b) noexcept {
  return a->what_.until < b->what_.until;
}

bool nested_wait::holds(const awaited& what) const noexcept {
  return cycle_.empty() && std::any_of(held_.begin(), held_.end(), [&](const held_lock& each) {
           return each.where == what.where && each.key() == *what.key && each.is_held();
         });
}

std::vector<cycle_link> nested_wait::begin(const awaited& what, std::vector<held_lock> held) {
  end();
  held_ = std::move(held);
  cycle_.clear();
  if (holds(what)) return {};  // it waits for itself, as reentry::busy allows, and reports that when its wait has ended
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  what_ = what;
  // The waits that are refused because of this one. Other threads see that only after the mutex is unlocked.
  std::vector<nested_wait*> others;
  const auto spare_others = [&others]() noexcept {
    for (auto* const each : others) each->cycle_.clear();
  };
  try {
    for (std::vector<nested_wait*> path; waits.leads_to(*this, what, path); path.clear()) {
      path.push_back(this);
      const auto in_vain =
          std::min_element(path.rbegin(), path.rend(), ends_before);  // of several equal ones, this one
      auto& refused = **in_vain;
      std::rotate(path.begin(), in_vain.base(), path.end());
      std::vector<cycle_link> cycle;
      nested_waits::add_links({path.data(), path.size() - 1}, cycle);
      if (&refused == this) {
        spare_others();  // this refusal frees what they wait for
        what_ = {};
        return cycle;
      }
      others.push_back(&refused);
      refused.cycle_ = std::move(cycle);
      refused.woken_.wake();
    }
    waits.waiters.emplace(what.key->hash(), this);
    for (const auto& each : held_) waits.holders.emplace(each.key().hash(), this);
  } catch (const std::bad_alloc&) {
    spare_others();
    waits.remove(*this);
    throw;
  }
  return {};
}

void nested_wait::end() noexcept {
  if (what_.key == nullptr) return;
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  waits.remove(*this);
}

std::vector<cycle_link> nested_wait::cycle() const {
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  return cycle_;
}

std::vector<std::string> nested_wait::keys_ahead() const noexcept {
  std::vector<std::string> keys;
  if (what_.key == nullptr) return keys;
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  try {
    waits.list_ahead(what_, keys);
  } catch (const std::bad_alloc&) {
    // The store finds out later by itself.
  }
  return keys;
}

namespace {

lock_held_meanwhile shown(const grant& held, instant until) {
  return {.key = std::string(held.key.view()),
          .session = held.pin->id,
          .fence = held.fence,
          .nonce = held.key.row() != nullptr ? held.nonce : 0,
          .until = until};
}

/// Whether shown() would describe that grant so. A store need not know the fence of a row.
bool is_that(const lock_held_meanwhile& one, const grant& held) noexcept {
  const bool same = one.nonce == 0 ? held.key.row() == nullptr && one.fence == held.fence
                                   : held.key.row() != nullptr && one.nonce == held.nonce;
  return same && one.session == held.pin->id && one.key == held.key.view();
}

}  // namespace

void nested_wait::list_held(const store& where, const lock_key& key, std::vector<lock_held_meanwhile>& all) {
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  waits.for_each_waiter({.where = &where, .key = &key}, [&](const nested_waits::behind& each) {
    for (const auto& own : each.wait.held_) {
      if (own.held->pin && own.is_held()) all.push_back(shown(*own.held, each.until()));
    }
  });
}

void nested_wait::closes_cycle(const store& where, const lock_key& key, const lock_held_meanwhile& held,
                               std::span<const cycle_link> others) noexcept {
  auto& waits = nested_waits::all();
  const base::lock_guard lock(waits.mutex);
  waits.for_each_waiter({.where = &where, .key = &key}, [&](const nested_waits::behind& each) {
    const auto& last = each.wait;
    const bool meant = std::any_of(last.held_.begin(), last.held_.end(), [&](const held_lock& of) {
      return of.held->pin && of.is_held() && is_that(held, *of.held);
    });
    if (!meant) return;
    try {
      // The thread queues for the key behind others of this process, and one of their waits may end earlier.
      std::vector<nested_wait*> path;
      for (const auto* at = &each; at != nullptr; at = at->holder) path.push_back(&at->wait);
      const auto in_vain = std::min_element(path.begin(), path.end(), ends_before);
      std::vector<cycle_link> cycle;
      nested_waits::add_links({in_vain + 1, path.end()}, cycle);
      cycle.insert(cycle.end(), others.begin(), others.end());
      nested_waits::add_links({path.begin(), in_vain}, cycle);
      (*in_vain)->cycle_ = std::move(cycle);
      (*in_vain)->woken_.wake();
    } catch (const std::bad_alloc&) {
      // The store finds the cycle again.
    }
  });
}

}  // namespace dlock::engine
