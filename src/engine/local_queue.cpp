// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/local_queue.hpp"

#include <algorithm>
#include <optional>

namespace dlock::detail {

bool local_queue::try_enter(const lock_key& key) {
  auto& in = shard_of(key);
  const std::lock_guard lock(in.mutex);
  return in.taken.try_emplace(key).second;
}

local_queue::turn local_queue::enter(const lock_key& key, const owner_state* who, instant deadline,
                                     const std::stop_token& cancel, const std::function<bool()>& held) {
  auto& in = shard_of(key);
  waiter me{.who = who};
  {
    const std::lock_guard lock(in.mutex);
    const auto [at, free] = in.taken.try_emplace(key);
    if (free) return turn::mine;
    if (cancel.stop_requested()) return turn::cancelled;
    if (waiters_.fetch_add(1) >= max_waiters_) {
      --waiters_;
      return turn::too_many;
    }
    at->second.push_back(&me);
  }
  // Another thread of the same owner either finds us in line at granted(), or was granted before and is found here.
  if (who != nullptr && held()) {
    const std::lock_guard lock(in.mutex);
    me.reenter = true;
  }
  const auto end = this->wait(in, key, me, deadline, cancel);
  --waiters_;
  return end;
}

local_queue::turn local_queue::wait(shard& in, const lock_key& key, waiter& me, instant deadline,
                                    const std::stop_token& cancel) {
  const auto cancelled = [this, &in, &me] {
    const std::lock_guard lock(in.mutex);
    me.cancelled = true;
    time_.notify(me.wake);
  };
  // Outlives the lock below: its destructor waits for a callback that is running and wants that lock.
  std::optional<std::stop_callback<decltype(cancelled)>> on_cancel;
  if (cancel.stop_possible()) on_cancel.emplace(cancel, cancelled);
  std::unique_lock lock(in.mutex);
  for (;;) {
    // A turn that came together with the end of the wait or a cancellation counts: it is handed on by leave().
    if (me.mine) return me.freed ? turn::freed : turn::mine;
    const bool over = time_.now() >= deadline;
    if (me.reenter || me.cancelled || over) {
      auto& line = in.taken.find(key)->second;
      line.erase(std::find(line.begin(), line.end(), &me));
      return me.reenter ? turn::reenter : me.cancelled ? turn::cancelled : turn::timed_out;
    }
    time_.wait_until(me.wake, lock, deadline);
  }
}

void local_queue::granted(const lock_key& key, const owner_state* who) {
  if (waiters_.load() == 0) return;
  auto& in = shard_of(key);
  const std::lock_guard lock(in.mutex);
  const auto at = in.taken.find(key);
  if (at == in.taken.end()) return;
  for (auto* const one : at->second) {
    if (one->who != who) continue;
    one->reenter = true;
    time_.notify(one->wake);
  }
}

void local_queue::leave(const lock_key& key, bool freed) noexcept {
  auto& in = shard_of(key);
  const std::lock_guard lock(in.mutex);
  const auto at = in.taken.find(key);
  if (at == in.taken.end()) return;
  auto& line = at->second;
  if (line.empty()) {
    in.taken.erase(at);
    return;
  }
  waiter* const next = line.front();
  line.pop_front();
  next->mine = true;
  next->freed = freed;
  // Under the lock: the waiter lives on its thread's stack and may be gone as soon as the lock is.
  time_.notify(next->wake);
}

}  // namespace dlock::detail
