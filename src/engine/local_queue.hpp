// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <unordered_map>

#include "dlock/lock_key.hpp"
#include "dlock/store/clock.hpp"

namespace dlock::detail {

struct owner_state;

/// Threads of one process that want one key stand in line here, first come first served; only the first of
/// them speaks to the database. A key's turn belongs to whoever acquires or holds it, until leave().
class local_queue {
 public:
  enum class turn {
    mine,   ///< go on; leave() must follow
    freed,  ///< the same, and the one before has freed the key: nobody of this process has it
    timed_out,
    cancelled,
    reenter,   ///< the caller's own owner got it meanwhile, by another thread
    too_many,  ///< the bound of waiters is reached
  };

  local_queue(time_source& time, std::size_t max_waiters) : time_(time), max_waiters_(max_waiters) {}

  /// True: it is the caller's turn; leave() must follow. False: somebody of this process has it.
  bool try_enter(const lock_key& key);
  /// Waits for the turn. `who`: for whom, null if re-entry is of no use. `held`: whether `who` holds the key
  /// now; asked once the caller stands in line, since it may have been granted just before that.
  turn enter(const lock_key& key, const owner_state* who, instant deadline, const std::stop_token& cancel,
             const std::function<bool()>& held);
  /// The one whose turn it is was granted the key: waiters of the same owner may re-enter it.
  void granted(const lock_key& key, const owner_state* who);
  /// Ends the turn; the first in line gets it. `freed`: the key was ours and is free now.
  void leave(const lock_key& key, bool freed = false) noexcept;
  /// Threads in line, all keys together.
  std::size_t waiting() const noexcept { return waiters_.load(); }

 private:
  struct waiter {
    const owner_state* who = nullptr;
    std::condition_variable wake{};
    bool mine = false;
    bool freed = false;
    bool reenter = false;
    bool cancelled = false;
  };
  using waiters = std::list<waiter*>;  // allocates nothing while nobody waits
  struct key_hash {
    std::size_t operator()(const lock_key& key) const noexcept { return static_cast<std::size_t>(key.hash()); }
  };
  struct shard {
    std::mutex mutex;
    std::unordered_map<lock_key, waiters, key_hash> taken;  // by whole key: keys never share a place
  };

  shard& shard_of(const lock_key& key) noexcept { return shards_[(key.hash() >> 32U) % shards_.size()]; }
  turn wait(shard& in, const lock_key& key, waiter& me, instant deadline, const std::stop_token& cancel);

  time_source& time_;
  const std::size_t max_waiters_;
  std::atomic<std::size_t> waiters_{0};
  std::array<shard, 16> shards_;
};

}  // namespace dlock::detail
