// SPDX-License-Identifier: BSL-1.0
#include "engine/background/deadline_timer.hpp"

#include <utility>

namespace dlock::engine {

void deadline_timer::make_room(grant& grant) { grant.deadline = std::make_unique<timer_node>(); }

void deadline_timer::set(const std::shared_ptr<grant>& grant, instant when) noexcept {
  bool first = false;
  {
    const base::lock_guard lock(mutex_);
    first = grant->deadline->set_in(timers_, grant, when);
  }
  if (first) sooner_(when);
}

void deadline_timer::clear(grant& grant) noexcept {
  if (grant.deadline == nullptr) return;
  const base::lock_guard lock(mutex_);
  grant.deadline->clear_in(timers_);
}

instant deadline_timer::tick(instant now) noexcept {
  base::unique_lock lock(mutex_);
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto due = timer_node::take_first(timers_, [](grant& first) -> timer_node& { return *first.deadline; });
    if (due == nullptr) continue;
    lock.unlock();
    passed_(due, now);
    due.reset();  // may be the end of it, and of a good deal more
    lock.lock();
  }
  return timers_.empty() ? instant::max() : timers_.begin()->first;
}

}  // namespace dlock::engine
