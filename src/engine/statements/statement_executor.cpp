// SPDX-License-Identifier: BSL-1.0
#include "engine/statements/statement_executor.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "engine/statements/blocked_caller.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

statement_executor::statement_executor(std::shared_ptr<store> where, time_source& time, std::size_t connections,
                                       executor_threads& threads)
    : store_(std::move(where)),
      time_(time),
      threads_(threads),
      together_(store_->caps().batch),
      slots_(connections),
      limit_(connections, together_),
      workers_(time) {
  expire_by_.fill(instant::max());
}

// ---- what comes in --------------------------------------------------------------------------------------------------

void statement_executor::enqueue(std::span<statement* const> all, blocked_caller* of, answers& then) noexcept {
  // A caller keeps its limits itself, from the moment when it has to wait.
  const auto since = of == nullptr && !all.empty() ? time_.now() : instant::max();
  for (auto* asked : all) {
    asked->at = statement::place::queued;
    asked->sent = asked->once_more = asked->alone = false;
    asked->in_doubt.reset();
    asked->caller = of;
    asked->queued_at = since;
    asked->failures = slots_.failures();
    if (ended_for(*asked)) {
      then.refuse(*asked, passing_fault("the service ends", false));
    } else {
      waiting_[asked->stands_in].push_back(*asked);
      if (of == nullptr) {
        then.look_at = std::min(then.look_at, asked->until);
        expire_by(asked->stands_in, asked->until);
      }
    }
  }
}

void statement_executor::run(statement& asked) {
  statement* const alone = &asked;
  run({&alone, 1});
}

void statement_executor::run(std::span<statement* const> all, std::span<statement* const> also) {
  if (all.empty()) return submit(also);
  blocked_caller me(time_);
  lock_type lock(mutex_);
  answers then(time_, &me);
  me.open = all.size();
  enqueue(also, nullptr, then);
  enqueue(all, &me, then);
  settle(then);
  while (me.open > 0) {
    if (lead(all, me) || connect_more()) continue;
    if (me.open == 0) break;  // there was no connection to hope for
    const auto now = time_.now();
    auto until = instant::max();
    for (auto* asked : all) {
      if (asked->at != statement::place::queued) continue;
      asked->queued_at = std::min(asked->queued_at, now);
      until = std::min(until, limit_of(*asked));
    }
    if (now >= until) {
      for (const auto each : lines) expire(each, now, &me, then);
      settle(then);
      continue;
    }
    wake_next(then, &me);  // the one whose turn it is may have been stopped before it could lead
    if (settle(then)) continue;
    if (const auto put_off = slots_.put_off(); now < put_off) until = std::min(until, put_off);
    lock.unlock();
    const auto woken = me.sleep(until);
    if (woken.answered && !woken.called) return;
    lock.lock();
    me.came();
  }
  wake_next(then);  // whoever counted on this thread to lead
  settle(then);
  lock.unlock();
  if (!me.answers_itself) me.wait_for_answer();
}

void statement_executor::submit(statement& asked) noexcept {
  statement* const alone = &asked;
  submit({&alone, 1});
}

void statement_executor::submit(std::span<statement* const> all, std::span<statement* const> also) noexcept {
  lock_type lock(mutex_);
  answers then(time_);
  enqueue(also, nullptr, then);
  enqueue(all, nullptr, then);
  connect_more();
  wake_next(then);
  settle(then);
}

// ---- execution ------------------------------------------------------------------------------------------------------

bool statement_executor::has_turn(const statement& of) const noexcept {
  const auto usable = slots_.usable(limit_, time_);
  const bool alone = waiting_.size() == 1;  // most are
  return usable > 0 && (alone || waiting_.has_turn(of, usable, time_.now()));
}

bool statement_executor::lead(std::span<statement* const> own, blocked_caller& me) {
  if (const auto late = waiting_[line::renewals].size(); late > 0 && slots_.renewals().is != slot::state::idle) {
    // The idle ones are theirs, if there is a worker for them.
    if (slots_.idle_count() > 0 && slots_.idle_count() <= late && wake_worker()) return false;
  }
  for (auto* asked : own) {
    // Rule 3: a session is never renewed on a caller's thread.
    if (asked->at != statement::place::queued || asked->stands_in == line::renewals) continue;
    slot* const on = slots_.idle_for(asked->stands_in);
    if (on == nullptr || !has_turn(*asked)) continue;
    me.leads = true;
    execute(*on, *asked, &me);
    me.leads = false;
    return true;
  }
  return false;
}

bool statement_executor::lead() {
  for (const auto from : lines) {
    slot* const on = slots_.idle_for(from);
    if (on == nullptr || waiting_[from].empty()) continue;
    const bool renews = from == line::renewals;
    if (renews) {  // rule 5: not even asked for when it is late
      answers then(time_);
      expire(from, time_.now(), nullptr, then);
      if (!then.answered.empty() || !then.last_of_callers.empty()) {
        wake_next(then);  // callers that left the connection to them
        settle(then);
        return true;
      }
    }
    auto now = instant::min();  // seldom needed
    auto* const first = waiting_[from].find([&](const statement& asked) {
      if (renews || asked.caller == nullptr) return true;
      if (asked.caller->missing_from() == instant::max()) return false;
      if (now == instant::min()) now = time_.now();
      return asked.caller->missing(now);
    });
    if (first == nullptr || (!renews && !has_turn(*first))) continue;
    if (first->caller != nullptr && now >= limit_of(*first)) {  // it has not seen to that itself
      answers then(time_);
      expire(from, now, nullptr, then);
      wake_next(then);
      settle(then);
      return true;
    }
    execute(*on, *first, nullptr);
    return true;
  }
  return false;
}

void statement_executor::execute(slot& on, statement& first, const blocked_caller* me) {
  const auto from = first.stands_in;
  slots_.begin(on, from);
  const auto all = waiting_.size() + under_way_;
  on.since = time_.now();
  on.work.gather(first, waiting_[from], together_, on.since);
  for (auto* asked : on.work.members()) asked->at = statement::place::executing;
  under_way_ += on.work.members().size();
  limit_.formed(on.work.members().size(), all, waiting_[from].size());
  on.limit = std::min(on.work.limit(on.since), ends_at_);
  connect_more();  // for what stands behind them
  answers before(time_);
  before.look_at = std::min(on.limit, limit_.waits_until(on.since));
  wake_next(before);  // there may be another connection, and more to do
  settle(before);
  mutex_.unlock();
  const bool alive = on.on->alive();
  if (alive) on.work.execute(*store_, *on.on, on.since, time_, on.about);
  mutex_.lock();
  answers then(time_, me);
  finish(on, alive, then);
  connect_more();  // in the place of what was closed
  wake_next(then);
  settle(then);
}

void statement_executor::finish(slot& on, bool sent, answers& then) noexcept {
  bool distrusted = false;
  const auto members = on.work.members();
  under_way_ -= members.size();
  for (auto at = members.rbegin(); at != members.rend(); ++at) {
    statement& asked = **at;
    const auto& answer = asked.answer;
    if (!sent) {
      put_back(asked, then);
      continue;
    }
    if (asked.counts) statements_.fetch_add(answer.statements, std::memory_order_relaxed);
    // Certainly not done: the connection had been dead, or leads to a server that can't do it. Once more, on another.
    const bool gone = answer.result == outcome::failed && answer.why.connection && !answer.why.contended;
    const bool more_time = !ended_for(asked) && asked.answered_at < std::min(asked.until, ends_at_);
    if (on.work.wants_to_wait_alone(asked) && more_time) {
      asked.alone = true;
      put_back(asked, then);
    } else if (gone && !asked.once_more && more_time) {
      asked.once_more = distrusted = true;
      put_back(asked, then);
    } else {
      then.hand_over(asked);
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

void statement_executor::put_back(statement& asked, answers& then) noexcept {
  asked.sent = false;
  if (ended_for(asked)) return then.refuse(asked, passing_fault("the service ends", false));
  asked.at = statement::place::queued;
  waiting_[asked.stands_in].push_front(asked);
  if (asked.caller != nullptr) {
    asked.caller->call();  // it has a limit again
  } else {
    then.look_at = std::min(then.look_at, asked.until);
    expire_by(asked.stands_in, asked.until);
  }
}

bool statement_executor::settle(answers& then) noexcept {
  const auto look_at = std::exchange(then.look_at, instant::max());
  const bool sooner = look_at < tick_by_;
  if (!sooner && then.answered.empty() && then.last_of_callers.empty() && then.broken.empty()) return false;
  if (sooner) tick_by_ = look_at;
  mutex_.unlock();
  if (sooner) threads_.tick_by(look_at);
  while (!then.last_of_callers.empty()) then.last_of_callers.pop_front()->caller->answer();
  then.broken.clear();
  while (!then.answered.empty()) {
    statement& asked = *then.answered.pop_front();
    if (asked.owner != nullptr) asked.owner->answered(asked);
  }
  mutex_.lock();
  return true;
}

void statement_executor::wake_next(answers& then, const blocked_caller* me) noexcept {
  if (waiting_.empty()) return;
  auto now = instant::min();  // seldom needed
  bool worker = !waiting_[line::renewals].empty() && slots_.idle_for(line::renewals) != nullptr;
  waiting_.for_first(
      slots_.usable(limit_, time_),
      [&](line which) {
        mutex_.assert_held();
        return slots_.idle_for(which) != nullptr;
      },
      [&](const statement& asked) {
        if (asked.caller == nullptr) {
          worker = true;
          return;
        }
        if (asked.caller == me) return;
        auto& caller = *asked.caller;
        if (caller.missing_from() == instant::max()) {
          caller.call();
        } else if (now == instant::min()) {
          now = time_.now();
        }
        if (caller.missing(now)) {
          worker = true;
          mutex_.assert_held();
          expire_by(asked.stands_in, limit_of(asked, nearly(asked.stands_in)));
        } else {
          then.look_at = std::min(then.look_at, caller.missing_from());
        }
      });
  if (worker) wake_worker();
}

bool statement_executor::wake_worker() noexcept {
  return workers_.wake(slots_.all().size(), [this]() noexcept {
    mutex_.assert_held();
    return !stop_ && threads_.serve();
  });
}

void statement_executor::start() {
  const lock_type lock(mutex_);
  if (!wake_worker()) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
}

void statement_executor::serve() {
  lock_type lock(mutex_);
  while (!stop_) {
    if (lead() || connect_more()) continue;
    workers_.sleep(lock.native());
  }
}

// ---- how the executor gets its connections -------------------------------------------------------------------------

namespace {
/// What has no time left still gets a connection that is nearly made.
constexpr microseconds shortest_connect = 100ms;
constexpr microseconds longest_connect = 10s;
}  // namespace

// ---- connections ----------------------------------------------------------------------------------------------------

bool statement_executor::connect_more() noexcept {
  if (stop_ || waiting_.empty()) return false;
  answers then(time_);
  for (const auto from : lines) {
    for (;;) {
      const auto& in = waiting_[from];
      if (in.empty()) break;
      const auto now = time_.now();
      slot* const on = slots_.to_connect(from, waiting_.size_from(from), now);
      if (on == nullptr) break;
      begin_connecting(*on, in.last_limit(), now, then);
    }
  }
  return settle(then);
}

void statement_executor::begin_connecting(slot& on, instant until, instant now, answers& then) noexcept {
  slots_.begin_connecting(on, now + std::clamp<microseconds>(until - now, shortest_connect, longest_connect));
  fault why;
  if (!threads_.connect(on.number, why)) connect_failed(on, why, then);
}

void statement_executor::connect_failed(slot& on, const fault& why, answers& then) noexcept {
  const auto now = time_.now();
  slots_.failed(on, why, now);
  then.look_at = now;  // what was put off, or has waited for this attempt only
  for (const auto each : lines) expire_by(each, now);
  for (const auto each : lines) {
    // A statement that can't get a connection is answered at once.
    if (!slots_.hope_for(each)) then.refuse_all(waiting_[each], why);
  }
  for (const auto& in : waiting_) {  // the others look when the next attempt is
    if (in.front() != nullptr && in.front()->caller != nullptr) in.front()->caller->call();
  }
}

void statement_executor::prepare_renewals() noexcept {
  const auto now = time_.now();
  lock_type lock(mutex_);
  if (stop_ || ending_ || slots_.renewals().is != slot::state::closed) return;
  answers then(time_);
  begin_connecting(slots_.renewals(), instant::max(), now, then);
  settle(then);
}

void statement_executor::connect(std::size_t which) noexcept {
  microseconds limit{0};
  {
    const lock_type lock(mutex_);
    if (stop_) return;
    limit = std::max<microseconds>(slots_.at(which).limit - time_.now(), shortest_connect);
  }
  fault why;
  auto fresh = threads_.ready(why) ? store_->connect(limit, why, cancel_.get_token()) : nullptr;
  std::shared_ptr<doubt> about;
  if (fresh != nullptr) {
    try {
      about = std::make_shared<doubt>(fresh->identity());
    } catch (const std::bad_alloc&) {
      why = passing_fault("out of memory", true);
      fresh.reset();
    }
  } else if (why.text.empty()) {
    why = passing_fault("no connection could be made", true);
  }
  lock_type lock(mutex_);
  if (stop_) {  // no caller is left that would use it, or the clock
    lock.unlock();
    fresh.reset();
    return;
  }
  answers then(time_);
  auto& on = slots_.at(which);
  if (fresh == nullptr) {
    connect_failed(on, why, then);
  } else if (slots_.arrived(on, std::move(fresh), about, then.broken)) {
    lock.unlock();
    threads_.connected(about->where);  // before it is used
    lock.lock();
    slots_.opened(on, then.broken);
  }
  settle(then);
  connect_more();
  wake_next(then);
  settle(then);
}

std::size_t statement_executor::open() const {
  const base::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(slots_.all().begin(), slots_.all().end(), [](const auto& each) { return each->on != nullptr; }));
}

std::size_t statement_executor::queued() const {
  const base::lock_guard lock(mutex_);
  return waiting_.size();
}

// ---- how long statements wait and run, and the end of an executor --------------------------------------------------

namespace {
/// A statement that hangs may be followed by another one before the first interruption has an effect.
constexpr auto interrupt_again = 100ms;
constexpr auto long_time = 1s;  // for a statement
/// What has no time left still gets a connection that is nearly made.
constexpr microseconds shortest_wait = 100ms;
}  // namespace

bool statement_executor::nearly(line which) noexcept {
  // Not for a renewal: rule 5.
  return which != line::renewals && (slots_.connecting_for(which) || slots_.idle_for(which) != nullptr);
}

/// Until when it waits for a connection.
instant statement_executor::limit_of(const statement& asked, bool nearly) noexcept {
  const bool longer = nearly && asked.queued_at != instant::max();
  return std::min(longer ? std::max(asked.until, asked.queued_at + shortest_wait) : asked.until, ends_at_);
}

instant statement_executor::expire(line which, instant now, const blocked_caller* of, answers& then) noexcept {
  auto first = instant::max();
  if (waiting_[which].empty()) return first;
  const bool soon = nearly(which);
  const auto late = [&](const statement& asked) {
    mutex_.assert_held();
    const bool meant = of != nullptr ? asked.caller == of : asked.caller != nullptr ? asked.caller->missing(now) : true;
    if (!meant) return false;
    const auto limit = limit_of(asked, soon);
    if (limit > now) first = std::min(first, limit);
    return limit <= now;
  };
  waiting_[which].extract(late, [&](statement& asked) {
    mutex_.assert_held();
    if (slots_.failures() != asked.failures || now < slots_.put_off()) {
      then.refuse(asked, slots_.last_failure());
    } else if (slots_.connecting_for(which)) {
      then.refuse(asked, passing_fault("a connection could not be made in time", true));
    } else {
      then.refuse(asked, passing_fault("all lock connections are busy", false));
    }
    return true;
  });
  return first;
}

void statement_executor::expire_unattended(instant now, answers& then) noexcept {
  for (const auto each : lines) {
    auto& by = expire_by_[static_cast<std::size_t>(each)];
    if (now >= std::min(by, ends_at_)) by = expire(each, now, nullptr, then);
  }
}

instant statement_executor::tick(instant now) noexcept {
  lock_type lock(mutex_);
  tick_by_ = instant::max();  // what is wanted from now on counts
  answers then(time_);
  expire_unattended(now, then);
  settle(then);
  connect_more();
  then.look_at = instant::max();
  wake_next(then);  // there may have been no thread for it before, or one that was called has not come
  auto next = then.look_at;
  for (const auto& each : slots_.all()) {
    if (each->is != slot::state::busy) continue;
    if (now >= each->limit) {
      each->on->interrupt();
      each->hung = each->hung || now - each->since >= long_time;
      // Once more, should it have begun another one just then.
      each->limit = now + interrupt_again;
    }
    next = std::min(next, each->limit);
    if (const auto patience = limit_.waits_until(each->since); now < patience) next = std::min(next, patience);
  }
  for (const auto by : expire_by_) next = std::min(next, by);
  if (const auto put_off = slots_.put_off(); !waiting_.empty() && now < put_off) next = std::min(next, put_off);
  tick_by_ = next;
  return next;
}

void statement_executor::end_by(instant when) noexcept {
  lock_type lock(mutex_);
  ending_ = true;
  ends_at_ = when;
  answers then(time_);
  then.refuse_all(waiting_[line::renewals], passing_fault("renewals have ended", false));
  for (const auto& each : slots_.all()) each->limit = std::min(each->limit, when);
  for (const auto& in : waiting_) {
    in.for_each([](const statement& asked) {
      if (asked.caller != nullptr) asked.caller->call();
    });
  }
  then.look_at = when;
  for (const auto each : lines) expire_by(each, when);
  wake_next(then);
  settle(then);
}

void statement_executor::stop() noexcept {
  cancel_.request_stop();
  lock_type lock(mutex_);
  stop_ = true;
  // No caller is left that wants to know what they were about.
  for (const auto& each : slots_.all()) {
    if (each->is == slot::state::busy) each->on->interrupt();
  }
  answers then(time_);
  for (const auto each : lines) then.refuse_all(waiting_[each], passing_fault("the service ends", false));
  workers_.wake_all();
  settle(then);
}

}  // namespace dlock::engine
