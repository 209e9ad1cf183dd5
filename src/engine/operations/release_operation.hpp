// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <span>

#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// One lease that ends, and the result for its grant.
struct ended_lease {
  std::shared_ptr<engine::grant> grant{};
  bool last = false;   ///< there is no other lease, and no transaction that must end first: the grant must be freed
  bool begun = false;  ///< the release has begun, and `trusted` is known
  release_result result = release_result::freed;
  fault why{};

  // Used by the operation:
  bool open = false;                      // not freed yet
  bool trusted = false;                   // when its release began
  bool unanswered = false;                // a statement without an answer may have freed it
  bool passed = false;                    // the store has granted the key to `next`
  std::shared_ptr<engine::grant> next{};  // the grant of the next waiter, to which the statement passes the key on
  statement send{};
};

/// What the release of that grant, which was answered by yes or no, has found of the waiters for its key. `unanswered`:
/// a try before it may have woken one.
void note_waiters(engine_services& services, const grant& released, const statement& by, bool unanswered,
                  instant now) noexcept;

/// Frees the grants of one or several leases, all within one release_limit: trust ends, the statements are sent and
/// repeated, what gets no answer is left to the background, and each result is reported. It throws nothing. A key that
/// another thread waits for is passed on to it by one statement, where the store can do that.
/// `room`: as many places as there are leases.
task<void> release_leases(flow& f, engine_services& services, std::span<ended_lease> all, std::span<statement*> room);

/// free_leases() with the room for its frame. `all` and `room` must outlive it.
class release_operation final : private frame_storage<768>, public coroutine_operation<void> {
 public:
  release_operation(engine_services& services, std::span<ended_lease> all, std::span<statement*> room, waker& woken)
      : coroutine_operation<void>(static_cast<frame_storage&>(*this), woken, release_leases, services, all, room) {}
};

}  // namespace dlock::engine
