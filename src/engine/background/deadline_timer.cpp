// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/background/deadline_timer.hpp"

#include <utility>

namespace dlock::engine {

void deadline_timer::make_room(grant& grant) {
  auto place = std::make_unique<deadline_place>();
  deadline_place::all node;
  node.emplace(instant{}, std::weak_ptr<engine::grant>());
  place->room = node.extract(node.begin());
  grant.deadline = std::move(place);
}

void deadline_timer::set(const std::shared_ptr<grant>& grant, instant when) noexcept {
  bool first = false;
  {
    const base::lock_guard lock(mutex_);
    auto& place = *grant->deadline;
    auto room = place.set ? timers_.extract(place.at) : std::move(place.room);
    room.key() = when;
    room.mapped() = grant;
    place.at = timers_.insert(std::move(room));
    place.set = true;
    first = place.at == timers_.begin();
  }
  if (first) sooner_(when);
}

void deadline_timer::clear(grant& grant) noexcept {
  if (grant.deadline == nullptr) return;
  const base::lock_guard lock(mutex_);
  auto& place = *grant.deadline;
  if (!place.set) return;
  place.room = timers_.extract(place.at);
  place.room.mapped().reset();
  place.set = false;
}

instant deadline_timer::tick(instant now) noexcept {
  base::unique_lock lock(mutex_);
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto room = timers_.extract(timers_.begin());
    auto due = room.mapped().lock();
    if (due == nullptr) continue;
    room.mapped().reset();
    due->deadline->room = std::move(room);
    due->deadline->set = false;
    lock.unlock();
    passed_(due, now);
    due.reset();  // may be the end of it, and of a good deal more
    lock.lock();
  }
  return timers_.empty() ? instant::max() : timers_.begin()->first;
}

}  // namespace dlock::engine
