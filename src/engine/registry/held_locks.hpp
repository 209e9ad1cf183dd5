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

/// The books: which owner of this process holds which key, by how many leases, and which transactions it must outlive.
/// Adding one can't fail. Finding one among 100,000 of one owner takes as long as among ten, and so does finding all of
/// one owner among those of others. Thread safety: all functions from any thread.
class held_locks {
 public:
  void add(grant& grant) noexcept;
  /// Takes it out. False: it was taken out before.
  bool drop(grant& grant) noexcept;

  /// What an owner has of a key. Of several, which there may be after a loss, the one that may be entered.
  struct found {
    std::shared_ptr<grant> held{};
    bool within_reach =
        false;  ///< the caller may enter it: its lease stands on this stack, or the program named the owner
    bool without_lease = false;  ///< its leases have ended, and the key waits for a transaction's outcome
    bool being_freed = false;    ///< by the background, after a transaction's outcome: it can't be entered
    bool entered = false;        ///< one lease more was counted
    bool first = false;          ///< entered: and there was none
  };
  /// `named`: the program named the owner. `enter`: counts one lease more, where that may be.
  found find(const owner_state& owner, const lock_key& key, bool named, bool enter) noexcept;

  /// The most of what is entered: one lease more, where find() would count it, on a grant that its session keeps, which
  /// has a lease, and is trusted at `now`. Null: what find() says holds.
  std::shared_ptr<grant> enter(const owner_state& owner, const lock_key& key, bool named, instant now) noexcept;
  /// How often that said yes. Counted here, because one atomic operation more would be felt.
  std::uint64_t entered() noexcept;
  std::size_t size() noexcept;
  /// When the one was granted that is held longest; instant::max(): none is held.
  instant oldest_grant() noexcept;

  enum class leave_result {
    inner,  ///< other leases are left
    later,  ///< a transaction's outcome is waited for; transaction_ended() will be called
    asks,   ///< as later, and the caller must have transaction_ended() called
    last,   ///< it was taken out: it can't be entered again, and the caller frees it
  };
  /// One lease ends. `in_transaction`: inside a transaction which its end must not precede.
  leave_result leave(grant& grant, bool in_transaction) noexcept;
  /// After `asks`: the end of the transaction can't be observed.
  leave_result leave_after_all(grant& grant) noexcept;
  /// A transaction of this thread has verified it: the key is not freed before transaction_ended() was called as often.
  void outlive_transaction(grant& grant) noexcept;
  /// True: there is neither a lease nor a transaction left, and the caller frees it. It can't be entered again.
  bool transaction_ended(grant& grant, bool verified) noexcept;
  /// Ends the one lease, and takes it out. False: there are others, or a transaction.
  bool drop_if_sole(grant& grant) noexcept;
  DLOCK_EXPORT bool sole(grant& grant) noexcept;
  bool pinned_by_transaction(grant& grant) noexcept;
  /// Whether a transaction of this thread has verified it, and has its row locked.
  bool verified_here(grant& grant) noexcept;
  /// Of an owner's, those that have leases, no transaction, and `wanted`'s consent are taken out, whatever becomes of
  /// their leases. Throws std::bad_alloc; what is in `all` by then was taken out.
  void abandon(const owner_state& owner, const std::function<bool(const grant&)>& wanted,
               std::vector<std::shared_ptr<grant>>& all);

  /// Adds what the calling thread, whose own owner that is, has to release itself: leases that stand on its stack, and
  /// those of a distributed_mutex. Of them, those that no time frees. Throws std::bad_alloc.
  void find_own(const owner_state& owner, std::vector<std::shared_ptr<grant>>& all);

 private:
  struct shard {
    base::mutex mutex{};
    linked_table<grant> grants DLOCK_GUARDED_BY(mutex){};
    std::array<grant*, 64> by_owner DLOCK_GUARDED_BY(mutex){};  // lists, by a hash
    std::uint64_t entered DLOCK_GUARDED_BY(mutex) = 0;
  };

  shard& shard_of(const lock_key& key) noexcept { return shards_[(key.hash() >> 32U) % shards_.size()]; }
  static grant*& list_of(shard& shard, const owner_state& owner) noexcept DLOCK_REQUIRES(shard.mutex);
  static bool unlist(shard& shard, grant& grant) noexcept DLOCK_REQUIRES(shard.mutex);
  /// Calls it for those of that owner that have leases.
  template <class Use>
  static void for_each_of(shard& shard, const owner_state& owner, const Use& use) DLOCK_REQUIRES(shard.mutex);

  std::array<shard, 16> shards_{};
};

}  // namespace dlock::engine
