// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "dlock/stores/memory.hpp"

namespace dlock::stores {

namespace {
/// The clock of the service whose thread this is.
thread_local const virtual_clock* works_for = nullptr;
}  // namespace

/// A waiter. It is on its thread's stack, and in the list as long as it waits.
struct virtual_clock::waiter {
  std::condition_variable* const wake;
  std::mutex* const mutex;
  const instant until;
  const bool worker;
  waiter* previous = nullptr;
  waiter* next = nullptr;
  bool called = false;  // woken, but has not run yet
  bool due = false;     // to be woken by advance()
  unsigned pins = 0;    // while another thread wakes it, it does not leave, so that its mutex stays alive
};

instant virtual_clock::now() const noexcept { return instant{std::chrono::microseconds{us_.load()}}; }

void virtual_clock::wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) {
  waiter me{.wake = &wake, .mutex = lock.mutex(), .until = until, .worker = works_for == this};
  {
    const std::lock_guard own(mutex_);
    if (now() >= until) return;
    me.next = first_;
    if (first_ != nullptr) first_->previous = &me;
    first_ = &me;
    changed_.notify_all();
  }
  const bool in_vain = wait_in_vain(wake, lock, me.worker);
  // advance() may lock this mutex, so that it does not notify too early.
  lock.unlock();
  bool advances = false;
  {
    std::unique_lock own(mutex_);
    changed_.wait(own, [&] { return me.pins == 0; });
    advances = in_vain && !me.called;
    (me.previous != nullptr ? me.previous->next : first_) = me.next;
    if (me.next != nullptr) me.next->previous = me.previous;
    changed_.notify_all();
  }
  if (advances) advance_by_itself(until);
  lock.lock();
}

void virtual_clock::notify(std::condition_variable& wake) noexcept {
  {
    const std::lock_guard own(mutex_);
    for (auto* each = first_; each != nullptr; each = each->next) each->called = each->called || each->wake == &wake;
  }
  wake.notify_all();
}

void virtual_clock::advance(std::chrono::microseconds duration) {
  if (duration.count() < 0) {
    throw std::invalid_argument("dlock: advance(" + std::to_string(duration.count()) + " us): time does not go back");
  }
  std::unique_lock own(mutex_);
  by_itself_ = 0;
  us_ += duration.count();
  wake_due(own);
}

bool virtual_clock::wait_in_vain(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, bool of_a_worker) {
  if (of_a_worker || timeout_.count() == 0) {
    wake.wait(lock);
    return false;
  }
  const auto begun = now();
  // Once the clock moves by itself it keeps moving fast, because the end of a wait may be many steps away. Background
  // threads run in between.
  const auto limit = by_itself_ > 0 ? std::chrono::milliseconds{2} : timeout_;
  return wake.wait_for(lock, limit) == std::cv_status::timeout && now() == begun;
}

void virtual_clock::advance_by_itself(instant until) {
  const auto moves = by_itself_++;
  if (moves == 0) {
    std::fprintf(stderr,
                 "dlock: virtual_clock: a call has waited %lld ms of real time while the clock stood still; from here "
                 "on the clock "
                 "moves by itself. Call advance() on another thread, or give the call {.wait = 0s}.\n",
                 static_cast<long long>(timeout_.count()));
  }
  std::unique_lock own(mutex_);
  auto next = until;
  for (auto* each = first_; each != nullptr; each = each->next) next = std::min(next, each->until);
  // Small steps would never reach the end of wait_forever.
  if (moves >= steady_moves) next = std::max(next, instant{2 * now().time_since_epoch()});
  if (next <= now()) return;
  us_ = next.time_since_epoch().count();
  wake_due(own);
}

void virtual_clock::wake_due(std::unique_lock<std::mutex>& own) {
  for (auto* each = first_; each != nullptr; each = each->next) {
    if (each->until <= now()) each->called = each->due = true;
  }
  for (auto* each = first_; each != nullptr;) {
    if (!each->due) {
      each = each->next;
      continue;
    }
    each->due = false;
    ++each->pins;
    own.unlock();
    {
      // A waiter that is in the list and has unlocked its mutex does wait, so the notification can't come too early.
      const std::lock_guard theirs(*each->mutex);
      each->wake->notify_all();
    }
    own.lock();
    --each->pins;
    changed_.notify_all();
    each = first_;  // the list has changed
  }
}

void virtual_clock::on_thread_event(worker change) noexcept {
  const std::lock_guard own(mutex_);
  switch (change) {
    case worker::hired: ++workers_; break;
    case worker::begins: works_for = this; break;
    case worker::ends: --workers_; break;
  }
  changed_.notify_all();
}

bool virtual_clock::resting(const known& threads) const noexcept {
  std::size_t workers = 0;
  std::size_t callers = 0;
  for (const auto* each = first_; each != nullptr; each = each->next) {
    if (each->called) return false;
    ++(each->worker ? workers : callers);
  }
  return workers + threads.busy >= workers_ && callers >= threads.callers;
}

bool virtual_clock::at_rest(const known& threads, std::chrono::milliseconds limit) {
  std::unique_lock own(mutex_);
  return changed_.wait_for(own, limit, [&] { return resting(threads); });
}

}  // namespace dlock::stores
