// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/export.hpp"
#include "engine/registry/grant.hpp"
#include "engine/registry/linked_table.hpp"

namespace dlock::engine {

/// The registry of held locks: which owner of this process holds which key, by how many leases, and which transactions
/// the key must outlive. Adding one can't fail. Finding one among 100,000 of one owner takes as long as among ten, and
/// so does finding all of one owner among those of others. Thread safety: all functions from any thread.
class held_locks {
 public:
  void add(grant& grant) noexcept;
  /// Removes it. Returns false if it was removed before.
  bool drop(grant& grant) noexcept;

  /// An owner's grant of a key. If there are several, which is possible after a loss, the one that may be entered.
  struct found {
    std::shared_ptr<grant> held{};
    bool within_reach = false;  ///< the caller may enter it: its lease is on this stack, or the program named the owner
    bool without_lease = false;  ///< its leases have ended, and the key waits for a transaction's outcome
    bool being_freed = false;    ///< the background frees it after a transaction's outcome, so it can't be entered
    bool entered = false;        ///< another lease was counted
    bool first = false;          ///< entered, and there was no lease
  };
  /// `named`: the program named the owner. `enter`: counts another lease, if that is allowed: of an exclusive lock, or
  /// of one in the same mode.
  found find(const owner_state& owner, const lock_key& key, bool named, bool enter, lock_mode mode = {}) noexcept;
  std::size_t size() noexcept;
  /// When the lock that is held longest was granted; instant::max() if none is held.
  instant oldest_grant() noexcept;

  enum class leave_result {
    inner,  ///< other leases remain
    later,  ///< the key waits for a transaction's outcome; transaction_ended() will be called
    asks,   ///< as later, but the caller must see to the call of transaction_ended()
    last,   ///< it was removed: it can't be entered again, and the caller frees it
  };
  /// Ends one lease. `in_transaction`: inside a transaction that the key must outlive.
  leave_result leave(grant& grant, bool in_transaction) noexcept;
  /// After `asks`, if the end of the transaction can't be observed.
  leave_result leave_after_all(grant& grant) noexcept;
  /// A transaction of this thread has verified it: the key is not freed before transaction_ended() was called as often.
  void outlive_transaction(grant& grant) noexcept;
  /// Returns true if neither a lease nor a transaction is left; then it can't be entered again, and the caller frees
  /// it.
  bool transaction_ended(grant& grant, bool verified) noexcept;
  /// Ends the only lease, and removes the grant. Returns false if there are others, or a transaction.
  bool drop_if_sole(grant& grant) noexcept;
  DLOCK_EXPORT bool sole(grant& grant) noexcept;
  bool pinned_by_transaction(grant& grant) noexcept;
  /// Whether a transaction of this thread has verified it, and has its row locked.
  bool verified_here(grant& grant) noexcept;
  /// Removes an owner's grants that have leases and no transaction and for which `wanted` returns true, whatever
  /// happens to their leases. Throws std::bad_alloc; what is in `all` by then was removed.
  void abandon(const owner_state& owner, const std::function<bool(const grant&)>& wanted,
               std::vector<std::shared_ptr<grant>>& all);

  /// Adds the grants that the calling thread, whose own owner `owner` is, must release itself and that no time frees:
  /// those with a lease on its stack, and those of a distributed_mutex. Throws std::bad_alloc.
  void find_own(const owner_state& owner, std::vector<std::shared_ptr<grant>>& all);

 private:
  struct shard {
    base::mutex mutex{};
    linked_table<grant> grants DLOCK_GUARDED_BY(mutex){};
    std::array<grant*, 64> by_owner DLOCK_GUARDED_BY(mutex){};  // lists, by a hash
  };

  shard& shard_of(const lock_key& key) noexcept { return shards_[(key.hash() >> 32U) % shards_.size()]; }
  static grant*& list_of(shard& shard, const owner_state& owner) noexcept DLOCK_REQUIRES(shard.mutex);
  static bool unlist(shard& shard, grant& grant) noexcept DLOCK_REQUIRES(shard.mutex);
  /// Calls `use` for the grants of that owner that have leases.
  template <class Use>
  static void for_each_of(shard& shard, const owner_state& owner, const Use& use) DLOCK_REQUIRES(shard.mutex);

  std::array<shard, 16> shards_{};
};

}  // namespace dlock::engine
