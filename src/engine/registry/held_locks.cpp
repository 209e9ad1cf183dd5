// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/held_locks.hpp"

#include <utility>

#include "engine/registry/owner_state.hpp"

namespace dlock::engine {

grant*& held_locks::list_of(shard& shard, const owner_state& owner) noexcept {
  const auto hash = reinterpret_cast<std::uintptr_t>(&owner) * 0x9E3779B97F4A7C15U;
  return shard.by_owner[(hash >> 32U) % shard.by_owner.size()];
}

template <class Use>
void held_locks::for_each_of(shard& shard, const owner_state& owner, const Use& use) {
  for (auto* each = list_of(shard, owner); each != nullptr; each = each->of_owner.next()) {
    if (each->owner.get() == &owner && each->leases != 0) use(*each);
  }
}

void held_locks::add(grant& grant) noexcept {
  auto& in = shard_of(grant.key);
  const base::lock_guard lock(in.mutex);
  in.grants.add(grant);
  list_link<engine::grant>::add(list_of(in, *grant.owner), grant, &engine::grant::of_owner);
  ++grant.owner->grants;
}

bool held_locks::unlist(shard& shard, grant& grant) noexcept {
  if (!list_link<engine::grant>::remove(grant, &engine::grant::of_owner)) return false;
  shard.grants.remove(grant);
  --grant.owner->grants;
  return true;
}

bool held_locks::drop(grant& grant) noexcept {
  auto& in = shard_of(grant.key);
  const base::lock_guard lock(in.mutex);
  return unlist(in, grant);
}

held_locks::found held_locks::find(const owner_state& owner, const lock_key& key, bool named, bool enter,
                                   lock_mode mode) noexcept {
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
    result.being_freed = result.without_lease && each.transactions.open == 0;
    return within_reach;
  });
  if (!enter || !result.within_reach || result.being_freed) return result;
  if (result.held->mode != exclusive && result.held->mode != mode) return result;
  result.entered = true;
  // Without a lease: the previous one has ended, and the key waits for a transaction's outcome.
  result.first = result.held->leases.fetch_add(1, std::memory_order_relaxed) == 0;
  return result;
}

std::size_t held_locks::size() noexcept {
  std::size_t all = 0;
  for (auto& in : shards_) {
    const base::lock_guard lock(in.mutex);
    all += in.grants.size();
  }
  return all;
}

instant held_locks::oldest_grant() noexcept {
  auto oldest = instant::max();
  for (auto& in : shards_) {
    const base::lock_guard lock(in.mutex);
    in.grants.for_each([&](const grant& each) { oldest = std::min(oldest, each.granted_at); });
  }
  return oldest;
}

held_locks::leave_result held_locks::leave(grant& grant, bool in_transaction) noexcept {
  auto& in = shard_of(grant.key);
  const base::lock_guard lock(in.mutex);
  if (--grant.leases > 0) return leave_result::inner;
  if (grant.transactions.open > 0 || in_transaction) {
    // Until the outcome the thread that holds it may enter it again at any place.
    grant.anchor.store(is_own_owner(*grant.owner) ? end_of_own_stack() : nullptr);
  }
  if (grant.transactions.open > 0) return leave_result::later;
  if (in_transaction) {
    ++grant.transactions.open;
    return leave_result::asks;
  }
  unlist(in, grant);
  return leave_result::last;
}

held_locks::leave_result held_locks::leave_after_all(grant& grant) noexcept {
  auto& in = shard_of(grant.key);
  const base::lock_guard lock(in.mutex);
  if (--grant.transactions.open > 0 || grant.leases > 0) return leave_result::later;  // it was entered again meanwhile
  unlist(in, grant);
  return leave_result::last;
}

void held_locks::outlive_transaction(grant& grant) noexcept {
  const base::lock_guard lock(shard_of(grant.key).mutex);
  ++grant.transactions.open;
  ++grant.transactions.verified;
  grant.transactions.verified_on = std::this_thread::get_id();
}

bool held_locks::transaction_ended(grant& grant, bool verified) noexcept {
  auto& in = shard_of(grant.key);
  const base::lock_guard lock(in.mutex);
  if (verified) --grant.transactions.verified;
  if (--grant.transactions.open > 0 || grant.leases > 0) return false;
  if (grant.state.load() == grant_state::held) return true;
  unlist(in, grant);  // it was lost: there is nothing to free, and the service may have ended
  return false;
}

bool held_locks::verified_here(grant& grant) noexcept {
  const base::lock_guard lock(shard_of(grant.key).mutex);
  return grant.transactions.verified > 0 && grant.transactions.verified_on == std::this_thread::get_id();
}

void held_locks::abandon(const owner_state& owner, const std::function<bool(const grant&)>& wanted,
                         std::vector<std::shared_ptr<grant>>& mine) {
  for (auto& in : shards_) {
    const base::lock_guard lock(in.mutex);
    const struct taken_out {  // also if memory runs out
      shard& from;
      std::vector<std::shared_ptr<grant>>& all;
      std::size_t at;
      ~taken_out() {
        for (; at < all.size(); ++at) unlist(from, *all[at]);
      }
    } done{in, mine, mine.size()};
    for_each_of(in, owner, [&](grant& each) {
      if (each.transactions.open > 0 || !wanted(each)) return;
      if (auto alive = each.alive()) mine.push_back(std::move(alive));
    });
  }
}

bool held_locks::drop_if_sole(grant& grant) noexcept {
  auto& in = shard_of(grant.key);
  const base::lock_guard lock(in.mutex);
  if (grant.leases != 1 || grant.transactions.open > 0) return false;
  grant.leases = 0;
  unlist(in, grant);
  return true;
}

bool held_locks::sole(grant& grant) noexcept {
  const base::lock_guard lock(shard_of(grant.key).mutex);
  return grant.leases == 1 && grant.transactions.open == 0;
}

bool held_locks::pinned_by_transaction(grant& grant) noexcept {
  const base::lock_guard lock(shard_of(grant.key).mutex);
  return grant.transactions.open > 0;
}

void held_locks::find_own(const owner_state& owner, std::vector<std::shared_ptr<grant>>& all) {
  for (auto& in : shards_) {
    const base::lock_guard lock(in.mutex);
    for_each_of(in, owner, [&](grant& each) {
      // Who waits for a shared key need not wait for this holder of it.
      if (each.freed_by_time() || each.mode != exclusive) return;
      const auto* const anchor = each.anchor.load(std::memory_order_relaxed);
      if (anchor != &grant::by_mutex && !on_own_stack(anchor)) return;
      if (auto alive = each.alive()) all.push_back(std::move(alive));
    });
  }
}

}  // namespace dlock::engine
