// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/grant_table.hpp"

#include <utility>

#include "dlock/owner.hpp"
#include "engine/own_stack.hpp"

namespace dlock::engine {

void grant_table::add(grant& one) noexcept {
  auto& in = shard_of(one.key);
  const base::lock_guard lock(in.mutex);
  in.grants.add(one);
  one.listed = true;
  ++one.owner->grants;
}

bool grant_table::unlist(shard& of, grant& one) noexcept {
  if (!std::exchange(one.listed, false)) return false;
  of.grants.remove(one);
  --one.owner->grants;
  return true;
}

bool grant_table::drop(grant& one) noexcept {
  auto& in = shard_of(one.key);
  const base::lock_guard lock(in.mutex);
  return unlist(in, one);
}

grant_table::found grant_table::find(const owner_state& owner, const lock_key& key, bool named, bool enter) noexcept {
  auto& in = shard_of(key);
  const base::lock_guard lock(in.mutex);
  found result;
  in.grants.find(key.hash(), [&](grant& each) {
    if (each.owner.get() != &owner || !(each.key == key)) return false;
    const bool within_reach = named || on_own_stack(each.anchor.load(std::memory_order_relaxed));
    if (result.held != nullptr && !within_reach) return false;
    auto alive = each.alive();
    if (alive == nullptr) return false;
    result.held = std::move(alive);
    result.within_reach = within_reach;
    result.without_lease = each.leases.load(std::memory_order_relaxed) == 0;
    result.being_freed = each.outlived;
    return within_reach;
  });
  if (!enter || !result.within_reach || result.being_freed) return result;
  result.entered = true;
  // None: the one before has ended, and the key waits for a transaction's outcome.
  result.first = result.held->leases.fetch_add(1, std::memory_order_relaxed) == 0;
  return result;
}

grant_table::left grant_table::leave(grant& one, bool in_transaction) noexcept {
  auto& in = shard_of(one.key);
  const base::lock_guard lock(in.mutex);
  if (--one.leases > 0) return left::inner;
  if (one.transactions > 0 || in_transaction) {
    // Until the outcome the thread that holds it may enter it again from wherever it is.
    one.anchor.store(is_own_owner(*one.owner) ? end_of_own_stack() : nullptr);
  }
  if (one.transactions > 0) return left::later;
  if (in_transaction) {
    ++one.transactions;
    return left::asks;
  }
  unlist(in, one);
  return left::last;
}

grant_table::left grant_table::leave_after_all(grant& one) noexcept {
  auto& in = shard_of(one.key);
  const base::lock_guard lock(in.mutex);
  if (--one.transactions > 0 || one.leases > 0) return left::later;  // entered again meanwhile
  unlist(in, one);
  return left::last;
}

void grant_table::outlive_transaction(grant& one) noexcept {
  const base::lock_guard lock(shard_of(one.key).mutex);
  ++one.transactions;
  ++one.verified;
  one.verified_on = std::this_thread::get_id();
}

bool grant_table::transaction_ended(grant& one, bool verified) noexcept {
  auto& in = shard_of(one.key);
  const base::lock_guard lock(in.mutex);
  if (verified) --one.verified;
  if (--one.transactions > 0 || one.leases > 0) return false;
  if (one.state.load() != grant_state::held) {  // lost: nothing is left to be freed, and the service may have ended
    unlist(in, one);
    return false;
  }
  one.outlived = true;
  return true;
}

bool grant_table::verified_here(grant& one) noexcept {
  const base::lock_guard lock(shard_of(one.key).mutex);
  return one.verified > 0 && one.verified_on == std::this_thread::get_id();
}

void grant_table::abandon(const owner_state& owner, const std::function<bool(const grant&)>& wanted,
                          std::vector<std::shared_ptr<grant>>& mine) {
  for (auto& in : shards_) {
    const base::lock_guard lock(in.mutex);
    const struct taken_out {  // also without the memory for all
      shard& from;
      std::vector<std::shared_ptr<grant>>& all;
      std::size_t at;
      ~taken_out() {
        for (; at < all.size(); ++at) unlist(from, *all[at]);
      }
    } done{in, mine, mine.size()};
    in.grants.for_each([&](grant& each) {
      if (each.owner.get() != &owner || each.leases == 0 || each.transactions > 0 || !wanted(each)) return;
      if (auto alive = each.alive()) mine.push_back(std::move(alive));
    });
  }
}

bool grant_table::drop_if_sole(grant& one) noexcept {
  auto& in = shard_of(one.key);
  const base::lock_guard lock(in.mutex);
  if (one.leases != 1 || one.transactions > 0) return false;
  one.leases = 0;
  unlist(in, one);
  return true;
}

bool grant_table::sole(grant& one) noexcept {
  const base::lock_guard lock(shard_of(one.key).mutex);
  return one.leases == 1 && one.transactions == 0;
}

bool grant_table::pinned_by_transaction(grant& one) noexcept {
  const base::lock_guard lock(shard_of(one.key).mutex);
  return one.transactions > 0;
}

void grant_table::for_each(const std::function<void(const grant&)>& use) {
  for (auto& in : shards_) {
    const base::lock_guard lock(in.mutex);
    in.grants.for_each(use);
  }
}

}  // namespace dlock::engine
