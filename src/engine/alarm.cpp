// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/alarm.hpp"

#include <algorithm>

namespace dlock::detail {

using namespace std::chrono_literals;

void alarm::set(const std::shared_ptr<grant>& one, instant when) {
  const std::lock_guard lock(mutex_);
  if (one->timed) timers_.erase(one->timer);
  one->timer = timers_.emplace(when, one);
  one->timed = true;
  if (one->timer == timers_.begin()) shared_.time.notify(wake_);
}

void alarm::clear(grant& one) noexcept {
  const std::lock_guard lock(mutex_);
  if (!one.timed) return;
  timers_.erase(one.timer);
  one.timed = false;
}

void alarm::wake() noexcept {
  const std::lock_guard lock(mutex_);
  new_ = true;
  shared_.time.notify(wake_);
}

void alarm::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  shared_.time.notify(wake_);
}

void alarm::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    new_ = false;
    looks_at_ = instant::max();
    std::vector<std::shared_ptr<grant>> due;
    const auto now = shared_.now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
      if (auto one = timers_.begin()->second.lock()) {
        one->timed = false;
        due.push_back(std::move(one));
      }
      timers_.erase(timers_.begin());
    }
    lock.unlock();
    for (const auto& one : due) ring_(one);
    due.clear();  // may end a grant, and with it a good deal more: not under the lock
    auto next = std::min({shared_.pool.interrupt_hung(now), tick_(now), now + 1h});
    lock.lock();
    if (!timers_.empty()) next = std::min(next, timers_.begin()->first);
    if (stop_ || new_ || next <= shared_.now()) continue;
    looks_at_ = next;
    shared_.time.wait_until(wake_, lock, next);
  }
}

}  // namespace dlock::detail
