// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/queue_wait.hpp"

#include <utility>

namespace dlock::engine {

queue_wait::queue_wait(engine_services& services, const lock_request& asked, waker& woken)
    : services_(services), request_(asked), woken_(woken) {
  // Only a caller that named its owner may enter what another thread gets in the meantime.
  const bool enters = asked.named && asked.terms.reentry != reentry::busy;
  queue_waiter::owner = enters ? asked.owner.get() : nullptr;
  queue_waiter::longest_pause = asked.terms.retry.max_pause;
}

queue_wait::~queue_wait() {
  if (key_ != nullptr) services_.queue.leave(*key_, *this);
  if (queue_waiter::passed == nullptr) return;  // otherwise this wait ended without using it
  services_.background.cancel_later(std::move(queue_waiter::passed), nullptr, instant::max(), last_);
}

bool queue_wait::begin(const lock_key& key, instant until, instant now) {
  last_ = now;
  if (!count()) {
    ended_ = end::too_many;
    return false;
  }
  queue_waiter::enter_again = queue_waiter::freed = false;
  if (services_.queue.enter(key, *this, now)) {
    ended_ = end::turn;
    return false;
  }
  key_ = &key;
  // Another thread of the same owner either finds this one in the queue when it is granted, or was granted before.
  if (queue_waiter::owner != nullptr) {
    const auto mine = services_.table.find(*request_.owner, key, true, false);
    if (mine.held != nullptr && !mine.being_freed) return leave(end::enter_again);
  }
  return now < until || leave(end::timed_out);
}

bool queue_wait::goes_on(bool over, instant now) noexcept {
  last_ = now;
  return (!over && !services_.queue.signalled(*key_, *this)) || leave(end::timed_out);
}

/// It waits no longer.
bool queue_wait::leave(end otherwise) noexcept {
  const bool neither = services_.queue.leave(*std::exchange(key_, nullptr), *this);
  // A turn that came together with the end of the wait, or a cancellation, counts.
  ended_ = neither ? otherwise : queue_waiter::turn ? end::turn : end::enter_again;
  return false;
}

}  // namespace dlock::engine
