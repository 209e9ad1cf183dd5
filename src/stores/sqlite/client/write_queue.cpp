// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/write_queue.hpp"

namespace dlock::stores::sqlite {

bool sqlite_write_queue::enter(waiter& me, time_point until, const std::atomic<bool>& cancelled) {
  base::unique_lock lock(mutex_);
  if (!taken_) {
    taken_ = true;
    return true;
  }
  me.turn_ = false;
  me.behind_ = nullptr;
  (last_ ? last_->behind_ : first_) = &me;
  last_ = &me;
  me.wake_.wait_until(lock.native(), until, [&] { return me.turn_ || cancelled.load(); });
  // A turn that came together with the end of the wait is taken: it was unlinked already and no other thread has it.
  if (me.turn_) return true;
  unlink(me);
  return false;
}

void sqlite_write_queue::leave() {
  const base::lock_guard lock(mutex_);
  waiter* const next = first_;
  if (next == nullptr) {
    taken_ = false;
    return;
  }
  unlink(*next);
  next->turn_ = true;
  // Under the mutex: once it sees its turn, the waiter may go out of existence.
  next->wake_.notify_one();
}

void sqlite_write_queue::nudge(waiter& me) {
  const base::lock_guard lock(mutex_);
  me.wake_.notify_one();
}

std::size_t sqlite_write_queue::waiting() {
  const base::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const waiter* at = first_; at != nullptr; at = at->behind_) ++count;
  return count;
}

void sqlite_write_queue::unlink(waiter& me) noexcept {
  waiter* before = nullptr;
  for (waiter* at = first_; at != &me; at = at->behind_) before = at;
  (before ? before->behind_ : first_) = me.behind_;
  if (last_ == &me) last_ = before;
}

}  // namespace dlock::stores::sqlite
