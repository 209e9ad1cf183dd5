// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/line_place.hpp"

#include <utility>

namespace dlock::engine {

line_place::line_place(parts& with, const lock_request& asked, waker& woken)
    : with_(with), request_(asked), woken_(woken) {
  // Only who said in whose name he asks may enter what another thread gets in the meantime.
  const bool enters = asked.named && asked.terms.reentry != reentry::busy;
  queue_waiter::owner = enters ? asked.owner.get() : nullptr;
  queue_waiter::longest_pause = asked.terms.retry.max_pause;
}

line_place::~line_place() {
  if (key_ != nullptr) with_.queue.leave(*key_, *this);
}

action line_place::start(const lock_key& key, instant until, instant now) {
  until_ = until;
  if (!count()) {
    ended_ = end::too_many;
    return {};
  }
  queue_waiter::enter_again = queue_waiter::freed = false;
  if (with_.queue.enter(key, *this, now)) {
    ended_ = end::turn;
    return {};
  }
  key_ = &key;
  // Another thread of the same owner either finds this one in line when it is granted, or was granted before.
  if (queue_waiter::owner != nullptr) {
    const auto mine = with_.table.find(*request_.owner, key, true, false);
    if (mine.held != nullptr && !mine.being_freed) return leave(end::enter_again);
  }
  if (now >= until_) return leave(end::timed_out);
  return action::wait(until_);
}

action line_place::leave(end otherwise) noexcept {
  const bool neither = with_.queue.leave(*std::exchange(key_, nullptr), *this);
  // A turn that came together with the end of the wait, or a cancellation, counts.
  ended_ = neither ? otherwise : queue_waiter::turn ? end::turn : end::enter_again;
  return {};
}

action line_place::resume(instant now) {
  if (with_.queue.told(*key_, *this) || now >= until_) return leave(end::timed_out);
  return action::wait(until_);
}

}  // namespace dlock::engine
