// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/connection_pool.hpp"

#include <algorithm>

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
constexpr auto again = 100ms;
constexpr auto long_time = 1s;  // for a statement
/// A statement gets so long, however late its connection came.
constexpr microseconds moment = 10ms;
/// Who has no time left still gets a connection that is nearly made.
constexpr microseconds least = 100ms;
constexpr microseconds longest = 10s;  // of one attempt to connect, as far as the store heeds it
}  // namespace

connection_pool::connection_pool(std::shared_ptr<store> where, time_source& time, std::size_t size)
    : state_(std::make_shared<pool_state>(std::move(where), time, size)), time_(time) {}

connection_pool::~connection_pool() {
  end_connecting(0ms);
  closing out;
  const std::lock_guard lock(state_->mutex());
  state_->forsake(out);
}

connection_pool::loan::~loan() {
  if (slot_ != nullptr) pool_->give_back(*slot_);
}

connection_pool::loan connection_pool::get(instant until, microseconds patience, fault& why) {
  return wait(false, until, patience, why);
}

connection_pool::loan connection_pool::get_for_renewal(instant until, microseconds patience, fault& why) {
  return wait(true, until, patience, why);
}

void connection_pool::prepare_renewal() {
  const std::lock_guard lock(state_->mutex());
  state_->renews = true;
  state_->prepare_renewal(longest);
}

connection_pool::loan connection_pool::wait(bool renewal, instant until, microseconds patience, fault& why) {
  for (;;) {
    std::unique_lock lock(state_->mutex());
    auto* one = state_->take_idle(renewal);
    if (one == nullptr) one = wait_for_one(renewal, until, lock, why);
    if (one == nullptr) {
      why.connection = why.connection && why.transient;  // another one would fail for the same reason: a wrong password
      return {};
    }
    watch(*one, until, patience, lock);
    loan mine(this, one);
    if (fit_for_use(*one)) return mine;
  }
}

pool_slot* connection_pool::wait_for_one(bool renewal, instant until, std::unique_lock<std::mutex>& lock, fault& why) {
  const auto begun = time_.now();
  pool_waiter me{.renewal = renewal, .limit = std::clamp<microseconds>(until - begun, least, longest)};
  const auto halfway = begun + (until - begun) / 2;
  const auto failures = state_->failures;
  state_->enter(me);
  while (me.given == nullptr && !me.failed) {
    const bool awaited = state_->awaited(me);
    const auto end = std::min(awaited ? std::max(until, begun + least) : until, state_->ends_at);
    const auto now = time_.now();
    if (now >= end) {
      state_->leave(me);
      if (state_->failures != failures || now < state_->put_off()) {
        why = state_->last;
      } else if (awaited) {
        why = {.transient = true, .connection = true, .text = "a connection could not be made in time"};
      } else {
        why = {.transient = true, .text = "all lock connections are busy"};
      }
      return nullptr;
    }
    if (me.renewal && !me.to_share && now >= halfway) {
      state_->share(me);
      continue;
    }
    const auto put_off = state_->put_off();
    auto next = now < put_off ? std::min(end, put_off) : end;
    if (me.renewal && !me.to_share) next = std::min(next, halfway);
    time_.wait_until(me.wake, lock, next);
    if (now < put_off) state_->dispatch();
  }
  if (me.failed) why = std::move(me.why);
  return me.given;
}

/// From now on what runs on it has a limit. Unlocks.
void connection_pool::watch(pool_slot& one, instant until, microseconds patience, std::unique_lock<std::mutex>& lock) {
  const auto now = time_.now();
  const auto limit = patience > 0us ? now + patience : std::max(until, now + moment);
  const auto end = one.limit = std::min(limit, state_->ends_at);
  one.since = now;
  lock.unlock();
  if (watch_) watch_(end);
}

/// What is not goes as its loan ends.
bool connection_pool::fit_for_use(pool_slot& one) {
  closing out;  // closed after the mutex
  std::unique_lock lock(state_->mutex(), std::defer_lock);
  if (!one.on->alive()) {
    lock.lock();
    one.outdated = true;
    // What has ended one of them has often ended all.
    state_->close_idle([](const pool_slot& each) { return !each.on->alive(); }, out);
    state_->prepare_renewal(longest);
    return false;
  }
  if (!one.fresh) return true;
  lock.lock();
  if (!state_->arrive(one, out)) return false;
  lock.unlock();
  if (greet_) greet_(one.on->identity());
  return true;
}

/// A look had not shown that one was gone, so it may not show that of the others either.
void connection_pool::distrust_idle() {
  closing out;
  const std::lock_guard lock(state_->mutex());
  state_->close_idle([this](const pool_slot& each) { return &each != &state_->of_renewals(); }, out);
}

void connection_pool::give_back(pool_slot& one) noexcept {
  closing out;
  const std::lock_guard lock(state_->mutex());
  state_->give_back(one, out);
}

instant connection_pool::interrupt_hung(instant now) noexcept {
  const std::lock_guard lock(state_->mutex());
  instant next = instant::max();
  for (const auto& each : state_->slots()) {
    if (each->at != pool_slot::phase::lent) continue;
    if (now >= each->limit) {
      each->on->interrupt();
      each->hung = each->hung || now - each->since >= long_time;
      // Once more, should it have begun another one just then.
      each->limit = now + again;
    }
    next = std::min(next, each->limit);
  }
  return next;
}

void connection_pool::finish(instant until) noexcept {
  {
    const std::lock_guard lock(state_->mutex());
    state_->finish(until);
  }
  if (watch_) watch_(until);
}

void connection_pool::end_connecting(std::chrono::milliseconds limit) noexcept { state_->end_connecting(limit); }

std::size_t connection_pool::waiting() const {
  const std::lock_guard lock(state_->mutex());
  return state_->waiting();
}

std::size_t connection_pool::open() const {
  const std::lock_guard lock(state_->mutex());
  return static_cast<std::size_t>(std::count_if(state_->slots().begin(), state_->slots().end(),
                                                [](const auto& each) { return each->on != nullptr; }));
}

}  // namespace dlock::detail
