// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/background/deadline_timer.hpp"

#include <utility>

namespace dlock::engine {

void deadline_timer::make_room(grant& one) {
  std::multimap<instant, std::weak_ptr<grant>> made;
  made.emplace(instant{}, std::weak_ptr<grant>());
  one.timer_room = made.extract(made.begin());
}

void deadline_timer::set(const std::shared_ptr<grant>& one, instant when) noexcept {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    auto room = one->timed ? timers_.extract(one->timer) : std::move(one->timer_room);
    room.key() = when;
    room.mapped() = one;
    one->timer = timers_.insert(std::move(room));
    one->timed = true;
    first = one->timer == timers_.begin();
  }
  if (first) sooner_(when);
}

void deadline_timer::clear(grant& one) noexcept {
  const std::lock_guard lock(mutex_);
  if (!one.timed) return;
  one.timer_room = timers_.extract(one.timer);
  one.timer_room.mapped().reset();
  one.timed = false;
}

instant deadline_timer::tick(instant now) noexcept {
  std::unique_lock lock(mutex_);
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto room = timers_.extract(timers_.begin());
    auto due = room.mapped().lock();
    if (due == nullptr) continue;
    room.mapped().reset();
    due->timer_room = std::move(room);
    due->timed = false;
    lock.unlock();
    passed_(due, now);
    due.reset();  // may be the end of it, and of a good deal more
    lock.lock();
  }
  return timers_.empty() ? instant::max() : timers_.begin()->first;
}

}  // namespace dlock::engine
