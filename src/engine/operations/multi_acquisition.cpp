// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/multi_acquisition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

multi_acquisition::multi_acquisition(engine_services& services, const lock_keys& keys, const lock_request& request,
                                     waker& woken)
    : services_(services),
      keys_(keys),
      terms_(request.terms),
      request_(terms_, request.owner, request.named, request.begun, {.once = request.once}),
      woken_(woken),
      machine_({.deadline = request_.deadline,
                .once = request_.once,
                .retry = terms_.retry,
                .seed = services.shared.next_nonce()}),
      slots_(keys.size()),
      again_(services, terms_),
      queue_wait_(services, request_, woken),
      pause_(services, woken),
      watch_(services, pause_),
      round_(services, request_, woken) {
  if (terms_.fairness != fairness::fifo) return;
  throw std::invalid_argument(
      fmt::format("dlock: key '{}': fairness = fifo: {} keeps no order of waiters for lists of keys",
                  printable(keys[0]), services.statements.where().name()));
}

multi_acquisition::~multi_acquisition() {
  for (auto& each : slots_) {
    if (each.held != nullptr) services_.grants.leave_in_background(each.held, last_, !each.entered_again);
  }
}

// ---- what the machine wants -----------------------------------------------------------------------------------------

action multi_acquisition::start(instant now) {
  last_ = now;
  return enter_held({}, now);
}

action multi_acquisition::follow(multi_step next, instant now) {
  end_ = next;
  doing_ = doing::nothing;
  switch (next) {
    case multi_step::take: lone_waits_ = multi_machine::rounds_together + 1; return enter_queue(now);
    case multi_step::give_back: doing_ = doing::giving_back; return round(round_.give_back(now), now);
    case multi_step::pause: return pause_now(now);
    case multi_step::one_by_one:
      if (!queue_wait_.count()) {
        too_many_ = true;
        return follow(multi_step::busy, now);
      }
      terms_.retry.limit = machine_.remaining_retries();
      leave_turns(none);
      watch_.end();  // each has its own from now on
      return one_by_one({}, now);
    case multi_step::poll:
    case multi_step::granted:
    case multi_step::busy:
    case multi_step::failed: break;
  }
  return {};
}

action multi_acquisition::resume(instant now) {
  last_ = now;
  switch (doing_) {
    case doing::entering_again: return enter_held(again_.resume(now), now);
    case doing::queued: return queue_left(queue_wait_.resume(now), now);
    case doing::yielding: return round(pause_.resume(now), now);
    case doing::pinning: return round(round_.pin_resumed(now), now);
    case doing::polling_all: return round({}, now);
    case doing::taking: return round(round_.take_resumed(now), now);
    case doing::giving_back: return round({}, now);
    case doing::pausing: return pause_over(pause_.resume(now), now);
    case doing::one_by_one: return one_by_one(single_->resume(now), now);
    case doing::extending: return extend_all(true, now);
    case doing::nothing: break;
  }
  return {};
}

action multi_acquisition::interrupt(interruption why, instant now) {
  last_ = now;
  if (!interrupted_) interrupted_ = why;
  switch (doing_) {
    case doing::queued: return queue_left(queue_wait_.interrupt(), now);
    case doing::yielding: return round(pause_.interrupt(now), now);
    case doing::pausing: return pause_over(pause_.interrupt(now), now);
    case doing::one_by_one: return one_by_one(single_->interrupt(why, now), now);
    default: return resume(now);
  }
}

const lock_key* multi_acquisition::waits_for() const noexcept {
  switch (doing_) {
    case doing::queued: return &keys_[at_];
    case doing::pausing: return &keys_[machine_.busy_key()];
    case doing::one_by_one: return single_->waits_for();
    default: return nullptr;
  }
}

void multi_acquisition::list_taken(std::vector<nested_wait::held_lock>& all) const {
  if (doing_ != doing::queued && doing_ != doing::one_by_one) return;
  const auto& where = services_.statements.where();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const auto& here = slots_[i];
    if (here.held != nullptr) {
      if (!here.entered_again && !here.held->freed_by_time()) all.push_back({.held = here.held, .where = &where});
    } else if (here.turn) {
      all.push_back({.where = &where, .turn_of = &keys_[i], .queue = &services_.queue});
    }
  }
}

/// Those that the owner holds already; then the others.
action multi_acquisition::enter_held(action next, instant now) {
  for (;;) {
    if (doing_ == doing::entering_again) {
      if (next.what != action::kind::finished) return next;
      doing_ = doing::nothing;
      static_cast<acquired&>(slots_[at_]) = again_.take();
    }
    // What a transaction has left to be freed is waited for in the queue, as any other.
    while (at_ < keys_.size() &&
           (slots_[at_].held != nullptr ||
            again_.find(*request_.owner, request_.named, keys_[at_], now) != reentry_attempt::found::entered)) {
      ++at_;
    }
    if (at_ == keys_.size()) break;
    doing_ = doing::entering_again;
    next = again_.start(now);
  }
  const bool all = std::all_of(slots_.begin(), slots_.end(), [](const key_slot& each) { return each.held != nullptr; });
  return follow(all ? multi_step::granted : machine_.begin(), now);
}

// ---- the queues of this process -------------------------------------------------------------------------------------

void multi_acquisition::leave_turns(std::size_t but) noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i != but) slots_[i].turn.hand_on();
  }
}

/// The first key whose turn is not to be had now.
std::size_t multi_acquisition::try_turns() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    auto& here = slots_[i];
    if (here.held != nullptr || here.turn) continue;
    here.turn = services_.queue.try_enter(keys_[i], request_.once);
    if (!here.turn) return i;
  }
  return none;
}

/// Gets the turns of all keys that are not held.
action multi_acquisition::enter_queue(instant now) {
  check_may_wait(services_, keys_[0]);
  const auto busy = try_turns();
  if (busy == none) {
    round_.clear();
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (slots_[i].held == nullptr) round_.add(i, keys_[i]);
    }
    if (round_.empty()) return follow(multi_step::granted, now);  // other threads of this owner got them meanwhile
    auto yield_for = microseconds{0};
    for (const auto& each : round_.all())
      yield_for = std::max(yield_for, time_to_yield(services_, each.attempt.key(), request_, now));
    doing_ = doing::yielding;
    return round(
        yield_for.count() > 0 && !interrupted_ ? pause_.start(no_turn_, nullptr, now + yield_for, now) : action{}, now);
  }
  if (interrupted_) return follow(multi_step::busy, now);  // it came together with another turn
  // For its owner a key is free that a transaction has left to be freed: also for one attempt.
  const bool own = services_.table.find(*request_.owner, keys_[busy], request_.named, false).being_freed;
  const auto until =
      own ? std::max(request_.deadline, now + services_.shared.options.release_limit) : request_.deadline;
  if (until <= request_.begun) return busy_here(busy, now);
  if (lone_waits_ > 0) {
    // As at the store: the busy one is waited for alone, so that the others stay free for other threads. After some
    // such rounds they are lined up for in their order, which is that of all threads, holding those before.
    leave_turns(none);
    if (--lone_waits_ == 0) return enter_queue(now);
  }
  at_ = busy;
  watch_.end();  // nobody hears for a while that the key is free, so the next waiter is to be woken
  doing_ = doing::queued;
  return queue_left(queue_wait_.start(keys_[busy], until, now), now);
}

action multi_acquisition::queue_left(action next, instant now) {
  if (next.what != action::kind::finished) return next;
  doing_ = doing::nothing;
  switch (queue_wait_.ended()) {
    case queue_wait::end::turn: slots_[at_].turn = queue_wait_.take_turn(); return enter_queue(now);
    case queue_wait::end::enter_again: at_ = 0; return enter_held({}, now);
    case queue_wait::end::too_many: too_many_ = true; break;
    case queue_wait::end::timed_out:
      if (!interrupted_) return busy_here(at_, now);
      break;
  }
  return follow(multi_step::busy, now);
}

/// Another thread of this process has the turn of that key until the wait has ended. Whether anybody has the key is not
/// known while that thread gets no answer from the store.
action multi_acquisition::busy_here(std::size_t key, instant now) {
  busy_here_ = true;
  fault why;
  return follow(services_.queue.trouble(keys_[key], why, now - request_.begun >= statement_timeout)
                    ? machine_.troubled(key, why, false)
                    : machine_.refused(key, {}),
                now);
}

// ---- a round --------------------------------------------------------------------------------------------------------

action multi_acquisition::round(action next, instant now) {
  while (next.what == action::kind::finished) {
    switch (doing_) {
      case doing::yielding:
        if (pause_.interrupted()) return follow(multi_step::busy, now);
        doing_ = doing::pinning;
        next = round_.pin(now);
        break;
      case doing::pinning:
        if (!round_.pinned()) return follow(machine_.troubled(round_.first(), round_.session_fault(), false), now);
        doing_ = request_.polls_first(services_.statements.where()) ? doing::polling_all : doing::taking;
        next = doing_ == doing::taking ? round_.take(now) : round_.poll(now);
        break;
      case doing::polling_all:
        if (const auto* busy = round_.found_busy()) {
          return follow(machine_.refused(busy->number, busy->send.answer.holder), now);
        }
        doing_ = doing::taking;
        next = round_.take(now);
        break;
      case doing::taking: return follow(round_over(now), now);
      default:
        round_.given_back(now);
        leave_turns(machine_.busy_key());
        return follow(machine_.given_back(now), now);
    }
  }
  return next;
}

multi_step multi_acquisition::round_over(instant now) {
  if (auto* const refused = round_.refused()) {
    const auto& machine = refused->attempt.machine();
    if (refused->attempt.no_such_row()) missing_ = &refused->attempt.key();
    return refused->attempt.at() == step::busy
               ? machine_.refused(refused->number, machine.holder())
               : machine_.troubled(refused->number, machine.why(), machine.outcome_unknown());
  }
  auto until = instant::max();
  for (const auto& each : round_.all()) until = std::min(until, each.attempt.trusted_until(now));
  const auto end = machine_.taken(now, until);
  if (end != multi_step::granted || admit_all(now)) return end;
  closed_ = services_.closed.load();
  return machine_.troubled(round_.first(), passing_fault("the session ended before the grants could be used", false),
                           false);
}

bool multi_acquisition::admit_all(instant now) noexcept {
  for (auto& each : round_.all()) {
    auto& here = slots_[each.number];
    const bool watched = watch_.works() && each.number == machine_.busy_key();
    here.held = each.attempt.admit(here.turn, machine_.was_busy(), watched, now);
    if (here.held == nullptr) {
      drop_new(now);
      return false;
    }
    here.first = true;
    services_.shared.notify({.what = event::kind::granted,
                             .key = here.held->key.view(),
                             .fence = here.held->fence_shown(),
                             .waited = now - request_.begun,
                             .attempts = each.attempt.machine().statements(),
                             .taken_over = each.attempt.machine().taken_over()});
  }
  return true;
}

/// Lets go of what was taken, not of what was entered again.
void multi_acquisition::drop_new(instant now) noexcept {
  for (auto& each : slots_) {
    if (each.held == nullptr || each.entered_again) continue;
    services_.grants.leave_in_background(each.held, now, true);
    each.held = nullptr;
  }
}

// ---- waiting --------------------------------------------------------------------------------------------------------

action multi_acquisition::pause_now(instant now) {
  if (interrupted_) return {};
  if (!queue_wait_.count()) {
    too_many_ = true;
    return {};
  }
  doing_ = doing::pausing;
  const auto& key = keys_[machine_.busy_key()];
  poll_.ask = request_.poll_request(key);
  poll_.queue_deadline = request_.limit(now);
  poll_.timeout = statement_timeout;
  polls_ = machine_.paused() == multi_step::poll;
  auto& mine = slots_[machine_.busy_key()].turn;
  mine.in_trouble(polls_ ? nullptr : &machine_.why());
  // A queue at the server would keep a place for the session.
  const auto until =
      watch_.pause_until(key, services_.caps.wakes_one ? round_.session() : id128{}, request_, machine_, now);
  auto& turn = polls_ && watch_.replaces_polls() ? no_turn_ : mine;
  return pause_over(pause_.start(turn, polls_ ? &poll_ : nullptr, until, now), now);
}

action multi_acquisition::pause_over(action next, instant now) {
  if (next.what != action::kind::finished) return next;
  doing_ = doing::nothing;
  if (pause_.interrupted()) return {};
  if (pause_.was_notified()) {
    // As for one key: a waiter that has just subscribed finds it held, as a rule, and a poll costs less than a round.
    if (!polls_ || !services_.caps.wakes_one || !watch_.has_changed()) return follow(machine_.notified(), now);
    doing_ = doing::pausing;
    return pause_over(pause_.start(no_turn_, &poll_, now, now), now);
  }
  if (!polls_) return follow(multi_step::take, now);
  if (!poll_.sent) poll_.answer.result = outcome::failed;
  const bool seen = poll_.answer.result == outcome::yes;
  if (seen && is_nobodys(services_, keys_[machine_.busy_key()], poll_.answer.holder))
    poll_.answer.holder = {};  // as if free
  return follow(machine_.polled(poll_.answer, now), now);
}

// ---- what came of it ------------------------------------------------------------------------------------------------

acquired_all multi_acquisition::result(instant now) {
  const auto& key = keys_[machine_.busy_key()];
  const auto waited = now - request_.begun;
  if (end_ == multi_step::granted) {
    // Those that were held before may have been lost meanwhile, and no caller may work with fewer than all.
    for (const auto& each : slots_) ensure_held(*each.held, now);
    return {std::exchange(slots_, {}), {}};
  }
  if (missing_ != nullptr) throw_no_such_row(*missing_);
  if (end_ == multi_step::failed && closed_) throw_interrupted(interruption::closed, key, waited);
  if (end_ == multi_step::failed) throw_failed(services_, key, machine_.why(), machine_.outcome_unknown(), waited);
  if (why_busy_.empty()) services_.shared.notify({.what = event::kind::busy, .key = key.view(), .waited = waited});
  if (too_many_) throw_too_many(services_, key);
  if (interrupted_) throw_interrupted(*interrupted_, key, waited);
  return {{}, why_busy(now)};
}

std::string multi_acquisition::why_busy(instant now) const {
  if (!why_busy_.empty()) return why_busy_;
  const auto waited = now - request_.begun;
  if (busy_here_) return busy_here_text(services_, request_, keys_[std::min(at_, keys_.size() - 1)], waited);
  return busy_text(services_, keys_[machine_.busy_key()], machine_.holder(), {}, waited);
}

// ---- the last resort of an acquire of several keys: one by one, in the order of all processes ----------------------

action multi_acquisition::one_by_one(action next, instant now) {
  for (;;) {
    if (single_) {
      if (next.what != action::kind::finished) return next;
      static_cast<acquired&>(slots_[at_]) = single_->result(now);
      if (slots_[at_].held == nullptr) {
        why_busy_ = std::move(slots_[at_].why_busy);
        return follow(multi_step::busy, now);
      }
      single_.reset();
    }
    for (at_ = 0; at_ < keys_.size() && slots_[at_].held != nullptr;) ++at_;
    if (at_ == keys_.size()) break;
    if (interrupted_) return follow(multi_step::busy, now);  // it came together with the key before
    doing_ = doing::one_by_one;
    single_.emplace(
        services_, keys_[at_],
        lock_request(terms_, request_.owner, request_.named, request_.begun, {.once = request_.once, .counted = true}),
        woken_, nullptr, true);
    next = single_->start(now);
  }
  at_ = 0;
  return extend_all(false, now);
}

/// Those with an expiry of their own get the same one; those that are kept must still be held.
action multi_acquisition::extend_all(bool resumed, instant now) {
  try {
    if (resumed) {
      if (const auto next = extension_->resume(now); next.what != action::kind::finished) return next;
    }
    for (at_ += resumed ? 1 : 0; at_ < keys_.size(); ++at_) {
      const auto& here = slots_[at_];
      if (here.entered_again) continue;
      if (here.held->kind != lease_kind::expiring || at_ + 1 == keys_.size()) {
        ensure_held(*here.held, now);
        continue;
      }
      doing_ = doing::extending;
      extension_.emplace(services_, here.held, here.held->ttl, woken_);
      return extension_->start(now);
    }
  } catch (const lock_lost&) {
    // Those with a short expiry of their own may end while the others are waited for.
    drop_new(now);
    if (now < request_.deadline) return one_by_one({}, now);
    why_busy_ = fmt::format("key '{}': its lease ended while other keys were waited for", printable(keys_[at_]));
    return follow(multi_step::busy, now);
  }
  return follow(multi_step::granted, now);
}

}  // namespace dlock::engine
