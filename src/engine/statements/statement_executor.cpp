// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/statements/statement_executor.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "engine/statements/blocked_caller.hpp"

namespace dlock::engine {

statement_executor::statement_executor(std::shared_ptr<store> where, time_source& time, std::size_t connections,
                                       executor_threads& threads)
    : store_(std::move(where)), time_(time), threads_(threads), together_(store_->caps().batch), slots_(connections) {}

// ---- what comes in --------------------------------------------------------------------------------------------------

void statement_executor::enqueue(statement& one, afterwards& then) noexcept {
  one.at = statement::place::queued;
  one.sent = one.once_more = false;
  one.in_doubt.reset();
  one.queued_at = instant::max();
  one.failures = slots_.failures();
  if (ended_for(one)) {
    refuse(one, passing_fault("the service ends", false), then);
  } else {
    waiting(one.stands_in).push_back(one);
  }
}

void statement_executor::run(statement& one) {
  statement* const alone = &one;
  run({&alone, 1});
}

void statement_executor::run(std::span<statement* const> all, std::span<statement* const> also) {
  blocked_caller me;
  lock_type lock(mutex_);
  afterwards then;
  me.open = all.size();
  if (!also.empty()) enqueue_for_owners(also, then);
  for (auto* one : all) {
    one->caller = &me;
    enqueue(*one, then);
  }
  settle(lock, then);
  while (me.open > 0) {
    if (lead(lock, all, me) || connect_more(lock)) continue;
    if (me.open == 0) break;  // there was no connection to hope for
    const auto now = time_.now();
    auto until = instant::max();
    for (auto* one : all) {
      if (one->at != statement::place::queued) continue;
      one->queued_at = std::min(one->queued_at, now);
      until = std::min(until, limit_of(*one));
    }
    if (now >= until) {
      for (const auto each : lines) expire(each, now, &me, then);
      continue;
    }
    if (const auto put_off = slots_.put_off(); now < put_off) until = std::min(until, put_off);
    time_.wait_until(me.wake, lock, until);
  }
  wake_next();  // whoever counted on this thread to lead
}

void statement_executor::submit(statement& one) noexcept {
  statement* const alone = &one;
  submit({&alone, 1});
}

void statement_executor::submit(std::span<statement* const> all, std::span<statement* const> also) noexcept {
  lock_type lock(mutex_);
  afterwards then;
  if (!also.empty()) enqueue_for_owners(also, then);
  enqueue_for_owners(all, then);
  connect_more(lock);
  wake_next();
  settle(lock, then);
}

void statement_executor::enqueue_for_owners(std::span<statement* const> all, afterwards& then) noexcept {
  const auto now = time_.now();
  for (auto* one : all) {
    one->caller = nullptr;
    enqueue(*one, then);
    if (one->at != statement::place::queued) continue;
    one->queued_at = now;
    then.look_at = std::min(then.look_at, one->until);
  }
}

// ---- execution ------------------------------------------------------------------------------------------------------

bool statement_executor::left_to_renewals() noexcept {
  const auto waiting_now = waiting(line::renewals).size();
  if (waiting_now == 0 || slots_.renewals().is == slot::state::idle) return false;
  return slots_.idle_count() > 0 && slots_.idle_count() <= waiting_now && wake_worker();
}

/// Whether fewer statements go before it than there are idle connections.
bool statement_executor::has_turn(const statement& one) const noexcept {
  auto left = slots_.idle_count();
  for (const auto from : {line::frees, line::takes}) {
    const auto* const found = waiting_[static_cast<std::size_t>(from)].find([&](const statement& before) {
      if (&before == &one || left == 0) return true;
      const bool busy = before.caller != nullptr && before.caller->leads;  // nobody executes it now
      if (!busy && !batch::serves_both(before, one)) --left;
      return false;
    });
    if (found != nullptr) break;
  }
  return left > 0;
}

bool statement_executor::lead(lock_type& lock, std::span<statement* const> own, blocked_caller& me) {
  if (left_to_renewals()) return false;
  for (auto* one : own) {
    // Rule 3: a session is never renewed on a caller's thread.
    if (one->at != statement::place::queued || one->stands_in == line::renewals) continue;
    slot* const on = slots_.idle_for(one->stands_in);
    if (on == nullptr || !has_turn(*one)) continue;
    me.leads = true;
    execute(lock, *on, *one);
    me.leads = false;
    return true;
  }
  return false;
}

bool statement_executor::lead(lock_type& lock) {
  for (const auto from : lines) {
    slot* const on = slots_.idle_for(from);
    if (on == nullptr || waiting(from).empty()) continue;
    const bool renews = from == line::renewals;
    if (renews) {  // rule 5: not even asked for when it is late
      afterwards then;
      expire(from, time_.now(), nullptr, then);
      if (settle(lock, then)) {
        wake_next();  // who left the connection to them
        return true;
      }
    }
    auto* const first = waiting(from).find([&](const statement& one) { return renews || one.caller == nullptr; });
    if (first == nullptr || (!renews && !has_turn(*first))) continue;
    execute(lock, *on, *first);
    return true;
  }
  return false;
}

void statement_executor::execute(lock_type& lock, slot& on, statement& first) {
  const auto from = first.stands_in;
  slots_.begin(on, from);
  on.work.gather(first, waiting(from), together_);
  for (auto* one : on.work.members()) one->at = statement::place::executing;
  on.since = time_.now();
  on.limit = std::min(on.work.limit(on.since), ends_at_);
  connect_more(lock);  // for what stands behind them
  wake_next();         // there may be another connection, and more to do
  watch_until(lock, on.limit);
  lock.unlock();
  const bool alive = on.on->alive();
  if (alive) on.work.execute(*store_, *on.on, time_, on.about);
  lock.lock();
  afterwards then;
  finish(on, alive, then);
  connect_more(lock);  // in the place of what was closed
  wake_next();
  settle(lock, then);
}

void statement_executor::finish(slot& on, bool sent, afterwards& then) noexcept {
  bool distrusted = false;
  const auto members = on.work.members();
  for (auto at = members.rbegin(); at != members.rend(); ++at) {
    statement& one = **at;
    const auto& answer = one.answer;
    if (!sent) {
      put_back(one, then);
      continue;
    }
    if (one.counts) statements_.fetch_add(answer.statements, std::memory_order_relaxed);
    // Certainly not done: the connection had been dead, or leads to a server that can't do it. Once more, on another.
    const bool gone = answer.result == outcome::failed && answer.why.connection && !answer.why.contended;
    if (gone && !one.once_more && !ended_for(one) && one.answered_at < std::min(one.until, ends_at_)) {
      one.once_more = distrusted = true;
      put_back(one, then);
    } else {
      hand_over(one, then);
    }
  }
  on.work.clear();
  if (!sent) {
    // Closed by its server while it was idle. What has ended one of them has often ended all.
    on.leave = true;
    slots_.close_dead(then.broken);
    const bool renews = !stop_ && !ending_ && slots_.renewals().is == slot::state::closed;
    if (renews) begin_connecting(slots_.renewals(), instant::max(), on.since, then);
  }
  // A look had not shown that this one was gone, so it may not show that of the others either.
  if (distrusted) slots_.distrust(then.broken);
  slots_.end(on, then.broken);
}

void statement_executor::put_back(statement& one, afterwards& then) noexcept {
  one.sent = false;
  if (ended_for(one)) return refuse(one, passing_fault("the service ends", false), then);
  one.at = statement::place::queued;
  waiting(one.stands_in).push_front(one);
  if (one.caller != nullptr) {
    time_.notify(one.caller->wake);  // it has a limit again
  } else {
    then.look_at = std::min(then.look_at, one.until);
  }
}

void statement_executor::hand_over(statement& one, afterwards& then) noexcept {
  one.at = statement::place::nowhere;
  if (one.caller == nullptr) {
    then.answered.push_back(one);
  } else if (--one.caller->open == 0) {
    time_.notify(one.caller->wake);  // under the lock: it is gone as soon as that is open
  }
}

bool statement_executor::settle(lock_type& lock, afterwards& then) noexcept {
  const bool sooner = then.look_at < tick_by_;
  if (!sooner && then.answered.empty() && then.broken.empty()) return false;
  if (sooner) tick_by_ = then.look_at;
  lock.unlock();
  if (sooner) threads_.tick_by(then.look_at);
  then.broken.clear();
  while (!then.answered.empty()) {
    statement& one = *then.answered.pop_front();
    if (one.owner != nullptr) one.owner->answered(one);
  }
  lock.lock();
  return true;
}

/// Those whose turn it is.
void statement_executor::wake_next() noexcept {
  bool worker = !waiting(line::renewals).empty() && slots_.idle_for(line::renewals) != nullptr;
  auto left = slots_.idle_count();
  for (const auto from : {line::frees, line::takes}) {
    if (slots_.idle_for(from) == nullptr) continue;
    waiting(from).find([&](const statement& one) {
      if (left == 0) return true;
      if (one.caller != nullptr && one.caller->leads) return false;
      if (one.caller != nullptr) time_.notify(one.caller->wake);
      worker = worker || one.caller == nullptr;
      --left;
      return false;
    });
  }
  if (worker) wake_worker();
}

bool statement_executor::wake_worker() noexcept {
  if (idle_workers_ > 0) {
    time_.notify(served_);
    return true;
  }
  if (stop_ || workers_ == slots_.all().size() || !threads_.serve()) return false;
  ++workers_;
  return true;
}

void statement_executor::start() {
  const lock_type lock(mutex_);
  if (!threads_.serve()) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  ++workers_;
}

void statement_executor::serve() {
  lock_type lock(mutex_);
  while (!stop_) {
    if (lead(lock) || connect_more(lock)) continue;
    ++idle_workers_;
    time_.wait_until(served_, lock, instant::max());
    --idle_workers_;
  }
}

}  // namespace dlock::engine
