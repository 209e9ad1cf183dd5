// SPDX-License-Identifier: BSL-1.0
#include "engine/statements/statement_executor.hpp"

#include <new>
#include <system_error>
#include <utility>

#include "engine/statements/blocked_caller.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
/// A statement whose time is over still gets a connection that is almost made.
constexpr microseconds shortest_connect = 100ms;
constexpr microseconds longest_connect = 10s;
}  // namespace

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

void statement_executor::enqueue(std::span<statement* const> all, blocked_caller* of,
                                 deferred_effects& effects) noexcept {
  // A caller watches its own limits from the moment when it has to wait.
  const auto since = of == nullptr && !all.empty() ? time_.now() : instant::max();
  for (auto* asked : all) {
    asked->is = statement::state::queued;
    asked->sent = asked->once_more = asked->alone = false;
    asked->ask.if_locked = row_wait::avoid;
    asked->in_doubt.reset();
    asked->caller = of;
    asked->queued_at = since;
    asked->failures = slots_.failures();
    if (ended_for(*asked)) {
      effects.refuse(*asked, passing_fault("the service ends", false));
    } else {
      waiting_[asked->priority].push_back(*asked);
      if (of == nullptr) {
        effects.tick_at = std::min(effects.tick_at, asked->queue_deadline);
        expire_by(asked->priority, asked->queue_deadline);
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
  deferred_effects effects(time_, &me);
  me.open = all.size();
  enqueue(also, nullptr, effects);
  enqueue(all, &me, effects);
  apply(effects);
  while (me.open > 0) {
    if (combine(all, me) || connect_more()) continue;
    if (me.open == 0) break;  // it could not get a connection
    const auto now = time_.now();
    auto until = instant::max();
    for (auto* asked : all) {
      if (asked->is != statement::state::queued) continue;
      asked->queued_at = std::min(asked->queued_at, now);
      until = std::min(until, limit_of(*asked));
    }
    if (now >= until) {
      for (const auto each : priorities) expire(each, now, &me, effects);
      apply(effects);
      continue;
    }
    wake_next(effects, &me);  // the caller whose turn it is may have been stopped before it could combine
    if (apply(effects)) continue;
    if (const auto put_off = slots_.put_off(); now < put_off) until = std::min(until, put_off);
    lock.unlock();
    const auto woken = me.sleep(until);
    if (woken.answered && !woken.called) return;
    lock.lock();
    me.came();
  }
  wake_next(effects);  // callers that relied on this thread to combine
  apply(effects);
  lock.unlock();
  if (!me.answers_itself) me.wait_for_answer();
}

void statement_executor::submit(statement& asked) noexcept {
  statement* const alone = &asked;
  submit({&alone, 1});
}

void statement_executor::submit(std::span<statement* const> all, std::span<statement* const> also) noexcept {
  lock_type lock(mutex_);
  deferred_effects effects(time_);
  enqueue(also, nullptr, effects);
  enqueue(all, nullptr, effects);
  connect_more();
  wake_next(effects);
  apply(effects);
}

// ---- execution ------------------------------------------------------------------------------------------------------

bool statement_executor::has_turn(const statement& of) const noexcept {
  const auto usable = slots_.usable(limit_, time_);
  if (usable == 0 || slots_.holds_back(of, time_)) return false;
  if (waiting_.size() == 1) return true;  // the usual case
  return waiting_.has_turn(of, usable, time_.now(), [this](const statement& before) {
    mutex_.assert_held();
    return slots_.holds_back(before, time_);
  });
}

bool statement_executor::combine(std::span<statement* const> own, blocked_caller& me) {
  if (const auto late = waiting_[priority::renewals].size(); late > 0 && slots_.renewals().is != slot::state::idle) {
    // The idle connections are theirs, if there is a worker for them.
    if (slots_.idle_count() > 0 && slots_.idle_count() <= late && wake_worker()) return false;
  }
  for (auto* asked : own) {
    // Rule 3: a caller's thread never renews a session.
    if (asked->is != statement::state::queued || asked->priority == priority::renewals) continue;
    slot* const on = slots_.idle_for(asked->priority);
    if (on == nullptr || !has_turn(*asked)) continue;
    me.combining = true;
    execute(*on, *asked, &me);
    me.combining = false;
    return true;
  }
  return false;
}

bool statement_executor::combine() {
  for (const auto from : priorities) {
    slot* const on = slots_.idle_for(from);
    if (on == nullptr || waiting_[from].empty()) continue;
    const bool renews = from == priority::renewals;
    if (renews) {  // rule 5: a late renewal is not sent at all
      deferred_effects effects(time_);
      expire(from, time_.now(), nullptr, effects);
      if (!effects.answered.empty() || !effects.last_of_callers.empty()) {
        wake_next(effects);  // callers that left the connection to them
        apply(effects);
        return true;
      }
    }
    auto now = instant::min();  // seldom needed
    auto* const first = waiting_[from].find([&](const statement& asked) {
      if (renews) return true;
      mutex_.assert_held();
      if (slots_.holds_back(asked, time_)) return false;
      if (asked.caller == nullptr) return true;
      if (asked.caller->missing_from() == instant::max()) return false;
      if (now == instant::min()) now = time_.now();
      return asked.caller->missing(now);
    });
    if (first == nullptr || (!renews && !has_turn(*first))) continue;
    if (first->caller != nullptr && now >= limit_of(*first)) {  // its thread has not handled that
      deferred_effects effects(time_);
      expire(from, now, nullptr, effects);
      wake_next(effects);
      apply(effects);
      return true;
    }
    execute(*on, *first, nullptr);
    return true;
  }
  return false;
}

void statement_executor::execute(slot& on, statement& first, const blocked_caller* me) {
  const auto from = first.priority;
  slots_.begin(on);
  const auto all = waiting_.size() + under_way_;
  on.since = time_.now();
  on.work.gather(first, waiting_[from], together_, on.since);
  const auto if_locked = slots_.first_wait(on.since);
  for (auto* asked : on.work.members()) {
    asked->is = statement::state::executing;
    asked->ask.if_locked = std::max(asked->ask.if_locked, if_locked);
  }
  under_way_ += on.work.members().size();
  limit_.formed(on.work.members().size(), all, waiting_[from].size());
  on.limit = std::min(on.work.limit(on.since), ends_at_);
  deferred_effects before(time_);
  before.tick_at = std::min(on.limit, limit_.waits_until(on.since));
  if (!waiting_.empty()) [[unlikely]] {  // a lone caller, for whom each step would be measurable, leaves nothing behind
    connect_more();                      // for the statements behind them
    wake_next(before);                   // there may be another connection, and more work
  }
  apply(before);
  mutex_.unlock();
  const bool alive = on.on->alive();
  if (alive) on.work.execute(*store_, *on.on, on.since, time_, on.about);
  mutex_.lock();
  deferred_effects effects(time_, me);
  if (alive && on.work.members().size() == 1 && limit_.answered(first.answered_at - on.since, all == 1)) {
    // Statements in progress make others wait from now on, but not for long.
    effects.tick_at = limit_.waits_until(time_.now());
  }
  finish(on, alive, effects);
  if (!waiting_.empty()) [[unlikely]] {
    connect_more();  // to replace closed ones
    wake_next(effects);
  }
  apply(effects);
}

void statement_executor::finish(slot& on, bool sent, deferred_effects& effects) noexcept {
  bool distrusted = false;
  const auto members = on.work.members();
  under_way_ -= members.size();
  if (sent) slots_.executed(*members.front());
  for (auto at = members.rbegin(); at != members.rend(); ++at) {
    statement& asked = **at;
    const auto& answer = asked.answer;
    if (!sent) {
      put_back(asked, effects);
      continue;
    }
    if (asked.counts) statements_.fetch_add(answer.statements, std::memory_order_relaxed);
    // It was certainly not executed: the connection was dead, or leads to a server that can't execute it. It is sent
    // once more, on another connection.
    const bool gone = answer.result == outcome::failed && answer.why.connection && !answer.why.contended;
    const bool more_time = !ended_for(asked) && asked.answered_at < std::min(asked.queue_deadline, ends_at_);
    if (more_time && goes_on(asked, members.size() > 1)) {
      put_back(asked, effects);
    } else if (gone && !asked.once_more && more_time) {
      asked.once_more = distrusted = true;
      put_back(asked, effects);
    } else {
      effects.hand_over(asked);
    }
  }
  on.work.clear();
  if (!sent) {
    // Its server closed it while it was idle, and often closes all connections together.
    on.leave = true;
    slots_.close_dead(effects.broken);
    const bool renews = !stop_ && !ending_ && slots_.renewals().is == slot::state::closed;
    if (renews) begin_connecting(slots_.renewals(), instant::max(), on.since, effects);
  }
  // The check of this one did not show that it was closed, so it may not for the others either.
  if (distrusted) slots_.distrust(effects.broken);
  slots_.end(on, effects.broken);
}

bool statement_executor::goes_on(statement& asked, bool shared) noexcept {
  if (asked.what != statement::kind::keyed || asked.answer.result != outcome::failed || !asked.answer.why.contended) {
    return false;
  }
  const auto action = asked.ask.action;
  if (action == verb::take || action == verb::insert || action == verb::take_over || action == verb::poll) return false;
  if (shared) return asked.alone = true;
  std::size_t queued = 0;
  for (const auto& in : waiting_) {
    in.for_each([&](const statement& each) { queued += each.ask.if_locked == row_wait::accept ? 1 : 0; });
  }
  if (asked.ask.if_locked == row_wait::accept || !slots_.may_wait(asked, queued)) return false;
  asked.ask.if_locked = row_wait::accept;
  return asked.alone = true;
}

void statement_executor::put_back(statement& asked, deferred_effects& effects) noexcept {
  asked.sent = false;
  if (ended_for(asked)) return effects.refuse(asked, passing_fault("the service ends", false));
  asked.is = statement::state::queued;
  waiting_[asked.priority].push_front(asked);
  if (asked.caller != nullptr) {
    asked.caller->call();  // it has a limit again
  } else {
    effects.tick_at = std::min(effects.tick_at, asked.queue_deadline);
    expire_by(asked.priority, asked.queue_deadline);
  }
}

bool statement_executor::apply(deferred_effects& effects) noexcept {
  const auto tick_at = std::exchange(effects.tick_at, instant::max());
  const bool sooner = tick_at < tick_by_;
  if (!sooner && effects.answered.empty() && effects.last_of_callers.empty() && effects.broken.empty()) return false;
  if (sooner) tick_by_ = tick_at;
  mutex_.unlock();
  if (sooner) threads_.tick_by(tick_at);
  while (!effects.last_of_callers.empty()) effects.last_of_callers.pop_front()->caller->answer();
  effects.broken.clear();
  while (!effects.answered.empty()) {
    statement& asked = *effects.answered.pop_front();
    if (asked.owner != nullptr) asked.owner->answered(asked);
  }
  mutex_.lock();
  return true;
}

void statement_executor::wake_next(deferred_effects& effects, const blocked_caller* me) noexcept {
  if (waiting_.empty()) return;
  auto now = instant::min();  // seldom needed
  bool worker = !waiting_[priority::renewals].empty() && slots_.idle_for(priority::renewals) != nullptr;
  waiting_.for_first(
      slots_.usable(limit_, time_),
      [this](const statement& asked) {
        mutex_.assert_held();
        return slots_.holds_back(asked, time_);
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
          expire_by(asked.priority, limit_of(asked, nearly(asked.priority)));
        } else {
          effects.tick_at = std::min(effects.tick_at, caller.missing_from());
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
    if (combine() || connect_more()) continue;
    workers_.sleep(lock.native());
  }
}

// ---- connections ----------------------------------------------------------------------------------------------------

bool statement_executor::connect_more() noexcept {
  if (stop_ || waiting_.empty()) return false;
  deferred_effects effects(time_);
  for (const auto from : priorities) {
    for (;;) {
      const auto& in = waiting_[from];
      if (in.empty()) break;
      const auto now = time_.now();
      slot* const on = slots_.to_connect(from, waiting_.size_from(from), now);
      if (on == nullptr) break;
      begin_connecting(*on, in.last_limit(), now, effects);
    }
  }
  return apply(effects);
}

void statement_executor::begin_connecting(slot& on, instant until, instant now, deferred_effects& effects) noexcept {
  slots_.begin_connecting(on, now + std::clamp<microseconds>(until - now, shortest_connect, longest_connect));
  fault why;
  if (!threads_.connect(on.number, why)) connect_failed(on, why, effects);
}

void statement_executor::connect_failed(slot& on, const fault& why, deferred_effects& effects) noexcept {
  const auto now = time_.now();
  slots_.failed(on, why, now);
  effects.tick_at = now;  // for what was put off, or waited only for this attempt
  for (const auto each : priorities) expire_by(each, now);
  for (const auto each : priorities) {
    // A statement that can't get a connection is answered at once.
    if (!slots_.hope_for(each)) effects.refuse_all(waiting_[each], why);
  }
  for (const auto& in : waiting_) {  // the others check when the next attempt is due
    if (in.front() != nullptr && in.front()->caller != nullptr) in.front()->caller->call();
  }
}

void statement_executor::prepare_renewals() noexcept {
  const auto now = time_.now();
  lock_type lock(mutex_);
  if (stop_ || ending_ || slots_.renewals().is != slot::state::closed) return;
  deferred_effects effects(time_);
  begin_connecting(slots_.renewals(), instant::max(), now, effects);
  apply(effects);
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
  if (stop_) {  // no caller is left to use it, or the clock
    lock.unlock();
    fresh.reset();
    return;
  }
  deferred_effects effects(time_);
  auto& on = slots_.at(which);
  if (fresh == nullptr) {
    connect_failed(on, why, effects);
  } else if (slots_.arrived(on, std::move(fresh), about, effects.broken)) {
    lock.unlock();
    threads_.connected(about->where);  // before it is used
    lock.lock();
    slots_.opened(on, effects.broken);
  }
  apply(effects);
  connect_more();
  wake_next(effects);
  apply(effects);
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
}  // namespace

bool statement_executor::nearly(priority which) noexcept {
  // Not for a renewal: rule 5.
  return which != priority::renewals && (slots_.connecting_for(which) || slots_.idle_for(which) != nullptr);
}

/// Until when it waits for a connection.
instant statement_executor::limit_of(const statement& asked, bool nearly) noexcept {
  const bool longer = nearly && asked.queued_at != instant::max();
  return std::min(longer ? std::max(asked.queue_deadline, asked.queued_at + shortest_connect) : asked.queue_deadline,
                  ends_at_);
}

instant statement_executor::expire(priority which, instant now, const blocked_caller* of,
                                   deferred_effects& effects) noexcept {
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
      effects.refuse(asked, slots_.last_failure());
    } else if (slots_.connecting_for(which)) {
      effects.refuse(asked, passing_fault("a connection could not be made in time", true));
    } else {
      effects.refuse(asked, passing_fault("all lock connections are busy", false));
    }
    return true;
  });
  return first;
}

void statement_executor::expire_unattended(instant now, deferred_effects& effects) noexcept {
  for (const auto each : priorities) {
    auto& by = expire_by_[static_cast<std::size_t>(each)];
    if (now >= std::min(by, ends_at_)) by = expire(each, now, nullptr, effects);
  }
}

instant statement_executor::tick(instant now) noexcept {
  lock_type lock(mutex_);
  tick_by_ = instant::max();  // later requests count again
  deferred_effects effects(time_);
  expire_unattended(now, effects);
  apply(effects);
  connect_more();
  effects.tick_at = instant::max();
  wake_next(effects);  // there may have been no thread for it before, or a called thread has not come
  auto next = effects.tick_at;
  for (const auto& each : slots_.all()) {
    if (each->is != slot::state::busy) continue;
    if (now >= each->limit) {
      each->on->interrupt();
      each->hung = each->hung || now - each->since >= long_time;
      // Interrupts it once more, in case it had just begun another statement.
      each->limit = now + interrupt_again;
    }
    next = std::min(next, each->limit);
    if (const auto held_until = limit_.waits_until(each->since); now < held_until) next = std::min(next, held_until);
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
  deferred_effects effects(time_);
  effects.refuse_all(waiting_[priority::renewals], passing_fault("renewals have ended", false));
  for (const auto& each : slots_.all()) each->limit = std::min(each->limit, when);
  for (const auto& in : waiting_) {
    in.for_each([](const statement& asked) {
      if (asked.caller != nullptr) asked.caller->call();
    });
  }
  effects.tick_at = when;
  for (const auto each : priorities) expire_by(each, when);
  wake_next(effects);
  apply(effects);
}

void statement_executor::stop() noexcept {
  cancel_.request_stop();
  lock_type lock(mutex_);
  stop_ = true;
  // No caller is left that needs to know what the statements were about.
  for (const auto& each : slots_.all()) {
    if (each->is == slot::state::busy) each->on->interrupt();
  }
  deferred_effects effects(time_);
  for (const auto each : priorities) effects.refuse_all(waiting_[each], passing_fault("the service ends", false));
  workers_.wake_all();
  apply(effects);
}

// ---- what is done once the lock is open ----------------------------------------------------------------------------

void deferred_effects::hand_over(statement& of) noexcept {
  of.is = statement::state::nowhere;
  if (of.caller == nullptr) {
    answered.push_back(of);
  } else if (--of.caller->open == 0) {
    of.caller->answers_itself = of.caller == self_;
    if (of.caller != self_) last_of_callers.push_back(of);
  }
}

void deferred_effects::refuse(statement& of, const fault& why) noexcept {
  of.answer = {};
  of.answered_at = time_.now();
  try {
    of.answer.why = why;
  } catch (const std::bad_alloc&) {
    of.answer.why = passing_fault("", why.connection);
  }
  // Another connection would fail for the same reason, such as a wrong password.
  of.answer.why.connection = why.connection && why.transient;
  hand_over(of);
}

void deferred_effects::refuse_all(statement_queue& all, const fault& why) noexcept {
  while (!all.empty()) refuse(*all.pop_front(), why);
}

}  // namespace dlock::engine
