// SPDX-License-Identifier: BSL-1.0
#include "engine/background/deadline_timer.hpp"

#include <utility>

namespace dlock::engine {

void deadline_timer::make_room(grant& grant) { grant.deadline = std::make_unique<grant_deadline>(grant); }

void deadline_timer::set(grant& grant, instant when) noexcept {
  {
    const base::lock_guard lock(mutex_);
    // It may have been lost already, and then it has been cleared.
    if (grant.state.load() != grant_state::held || !timers_.set(*grant.deadline, when)) return;
  }
  sooner_(when);
}

void deadline_timer::clear(grant& grant) noexcept {
  if (grant.deadline == nullptr) return;
  const base::lock_guard lock(mutex_);
  timers_.remove(*grant.deadline);
}

instant deadline_timer::tick(instant now) noexcept {
  base::unique_lock lock(mutex_);
  while (timers_.first() <= now) {
    auto due = timers_.take_first().of.alive();
    if (due == nullptr) continue;
    lock.unlock();
    passed_(due, now);
    due.reset();  // may be the end of it, and of a good deal more
    lock.lock();
  }
  return timers_.first();
}

}  // namespace dlock::engine
