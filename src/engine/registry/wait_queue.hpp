// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include "dlock/lock_key.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::engine {

class pause;
class queue_waiter;
struct grant;
struct owner_state;
struct key_queue;
struct wait_shard;

/// Wakes a waiting operation so that it re-checks its condition. Its driver provides it. Called under locks, so it may
/// only signal.
class waker {
 public:
  virtual void wake() noexcept = 0;

 protected:
  ~waker() = default;
};

/// The right to ask the store about one key, and to hold it. When it ends, the next in the queue gets it. Move-only.
class queue_turn {
 public:
  queue_turn() = default;
  queue_turn(queue_turn&& other) noexcept : in_(other.in_), queue_(other.queue_.exchange(nullptr)) {}
  queue_turn& operator=(queue_turn&& other) noexcept {
    hand_on();
    in_ = other.in_;
    queue_.store(other.queue_.exchange(nullptr));
    return *this;
  }
  ~queue_turn() { hand_on(); }
  explicit operator bool() const noexcept { return queue_.load() != nullptr; }

  /// Any thread, also while another one calls granted(), because a grant may be lost at once. `freed`: the key was
  /// ours, and is free now.
  void hand_on(bool freed = false) noexcept;
  /// Whether the next in the queue can use a lease of that ttl that the caller passes on.
  bool next_uses(std::chrono::microseconds ttl) const noexcept;
  /// Gives the turn to the next in the queue, with a grant of that ttl. Returns false and does nothing if there is none
  /// that can use it.
  bool pass_on(std::shared_ptr<grant>& to_next, std::chrono::microseconds ttl) noexcept;
  /// The key was granted to that owner: waiters in the queue for the same owner may enter it again. `key` is the same
  /// key, and outlives the turn from now on.
  void granted(const lock_key& key, const owner_state* owner) noexcept;
  /// The caller with the turn pauses; waiters in the queue, and new ones, may shorten that. `pause` is not used after
  /// ends_pause().
  void begins_pause(pause& pause, instant now) noexcept;
  void ends_pause() noexcept;
  /// The caller with the turn leaves the key alone: a single attempt may take the turn from it, until retake(). Returns
  /// false if one has.
  void spare() noexcept;
  bool retake() noexcept;
  /// Sets why the store could not be asked about the key, for the waiters behind; null means that it can. It stays
  /// until the key is granted, or until this is called again, also by the next one with the turn.
  void in_trouble(const fault* why) noexcept;

 private:
  friend class wait_queue;
  queue_turn(wait_shard& in, key_queue& queue) noexcept : in_(&in), queue_(&queue) {}
  void give_to(queue_waiter& next) noexcept;  // under the mutex of the shard
  wait_shard* in_ = nullptr;
  std::atomic<key_queue*> queue_{nullptr};
};

/// Waits for a turn.
class queue_waiter {
 public:
  /// `turn` or `enter_again` is set now. Called under a mutex of the queue, so it may only signal.
  virtual void wake() noexcept = 0;

  const owner_state* owner = nullptr;  ///< the owner that may enter the key again after it was granted to it, or null
  std::chrono::microseconds longest_pause{0};  ///< between two polls of a busy key, if it had the turn
  std::chrono::microseconds uses{0};  ///< the ttl of a lease that it can use if one is passed on to it; 0 if none
  queue_turn turn{};                  ///< what it waited for
  std::shared_ptr<grant> passed{};    ///< with the turn: the grant of the key, under a session of this service
  bool freed = false;                 ///< with the turn: this process does not hold the key
  bool enter_again = false;           ///< its owner holds the key now
  bool first = false;                 ///< it has been at the head of the queue

 protected:
  ~queue_waiter() = default;

 private:
  friend class queue_turn;
  friend class wait_queue;
  friend struct key_queue;
  friend struct waiters_by_owner;
  const lock_key* waits_for_ = nullptr;  // while it is in the queue
  queue_waiter* before_ = nullptr;
  queue_waiter* behind_ = nullptr;
  queue_waiter* next_of_owner_ = nullptr;  // in the bucket of its owner
};

/// A waiting call, in the queue or between two polls, as wait_queue counts it.
class waiting_call {
  friend class wait_queue;
  instant since_{};
  waiting_call* before_ = nullptr;
  waiting_call* behind_ = nullptr;
};

/// The queue of threads of one process that want the same key, first come, first served. Only the first of them sends
/// statements. A key must outlive the turn and the wait, because the queue does not copy it. Thread safety: all
/// functions from any thread.
class wait_queue {
 public:
  explicit wait_queue(std::size_t most_waiters);
  ~wait_queue();

  /// Returns the turn, or an empty one if another caller of this process has it. `once`: takes it also if its holder
  /// spares it.
  queue_turn try_enter(const lock_key& key, bool once = false);
  queue_turn try_enter(const lock_key&& key, bool once = false) = delete;
  /// Gives the waiter the turn and returns true, or puts it in the queue; then it may get the turn before this returns.
  bool enter(const lock_key& key, queue_waiter& waiter, instant now);
  bool enter(const lock_key&& key, queue_waiter& waiter, instant now) = delete;
  /// Whether `turn` or `enter_again` was set.
  bool signalled(const lock_key& key, const queue_waiter& waiter) noexcept;
  /// Why the caller with the turn gets no reply from the store. Returns false if there is no reason, or memory ran out.
  /// `long_since`: the caller has waited long enough that the lack of any reply is itself a reason.
  bool trouble(const lock_key& key, fault& why, bool long_since) const noexcept;
  /// A member of this process has left a shared key: the caller with the turn polls at once, if it pauses.
  void member_left(const lock_key& key) noexcept;
  /// Removes it from the queue. Returns false if `turn` or `enter_again` was set meanwhile.
  bool leave(const lock_key& key, queue_waiter& waiter) noexcept;

  /// Counts one waiter, in the queue or between two polls, which began at `since`. Returns false if there are too many.
  bool begin_waiting(waiting_call& call, instant since) noexcept;
  /// Precondition: begin_waiting() returned true.
  void end_waiting(waiting_call& call) noexcept;
  std::size_t waiting() const noexcept { return waiters_.load(std::memory_order_relaxed); }
  /// When the call that has waited longest began; instant::max() if none waits.
  instant oldest_wait() const noexcept;
  /// The number of them that are in a queue.
  std::size_t queued() const noexcept;

 private:
  wait_shard& shard_of(const lock_key& key) const noexcept;
  wait_shard& shard_of(const waiting_call& call) const noexcept;

  const std::size_t most_waiters_;
  std::atomic<std::size_t> waiters_{0};
  const std::unique_ptr<wait_shard[]> shards_;
};

}  // namespace dlock::engine
