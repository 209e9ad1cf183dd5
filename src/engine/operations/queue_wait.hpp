// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// A part of an operation: its place in the queue of this process for one key.
class queue_wait final : private queue_waiter {
 public:
  enum class end : std::uint8_t {
    turn,         ///< it is ours: take_turn()
    enter_again,  ///< the same owner holds the key now, by another thread
    timed_out,
    too_many,  ///< service_options::max_waiters
  };

  queue_wait(engine_services& services, const lock_request& asked, waker& woken);
  queue_wait(const queue_wait&) = delete;
  queue_wait& operator=(const queue_wait&) = delete;
  ~queue_wait();

  /// Whether it waits in the queue now, until then at most; if not, see ended().
  bool begin(const lock_key& key, instant until, instant now);
  /// It was woken, or the wait is over. Whether it waits on; if not, see ended().
  bool goes_on(bool over, instant now) noexcept;
  /// From now on it begins at the head of the queue.
  void enter_at_head() noexcept { queue_waiter::first = true; }

  end ended() const noexcept { return ended_; }
  queue_turn take_turn() noexcept { return std::move(queue_waiter::turn); }
  /// turn: the one before has freed the key, so this process does not hold it.
  bool freed() const noexcept { return queue_waiter::freed; }
  /// From now on a caller that releases the key may pass on its lease, of that ttl.
  void use_lease_of(microseconds ttl) noexcept { queue_waiter::uses = ttl; }
  /// turn: the lease that was passed on, not in the registry yet; null: none was.
  std::shared_ptr<grant> take_passed() noexcept { return std::move(queue_waiter::passed); }
  /// Counts as a waiter from now on, until its end. False: there are too many waiters.
  bool count() noexcept { return request_.counted || counted_.take(services_.queue, request_.begun); }

 private:
  void wake() noexcept override { woken_.wake(); }
  bool leave(end otherwise) noexcept;

  engine_services& services_;
  const lock_request& request_;
  waker& woken_;
  const lock_key* key_ = nullptr;  // while it is in the queue
  instant last_{};  // when it was resumed
  waiter_slot counted_{};
  end ended_ = end::timed_out;
};

}  // namespace dlock::engine
