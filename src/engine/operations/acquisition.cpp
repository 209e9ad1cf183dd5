// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/acquisition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

acquisition::acquisition(engine_services& services, const lock_key& key, lock_request request, waker& woken, room* in,
                         bool poll_first)
    : services_(services),
      key_(key),
      request_(std::move(request)),
      woken_(woken),
      poll_first_(poll_first),
      again_(services, request_.terms),
      queue_wait_(services, request_, woken),
      room_(in) {}

acquisition::~acquisition() {
  if (at_ != nullptr) room_->reset();  // before the turn is handed on
}

// ---- in this process ------------------------------------------------------------------------------------------------

action acquisition::start(instant now) { return request_.holds_nothing ? enter(now) : look_for_own(now); }

action acquisition::look_for_own(instant now) {
  switch (again_.find(*request_.owner, request_.named, key_, now)) {
    case reentry_attempt::found::entered: return enter_again(again_.start(now));
    case reentry_attempt::found::being_freed:
      // For its owner the key is free, also for one attempt: the background hands on the turn as soon as it is.
      if (fault why; turn_ || !services_.may_wait(why)) break;
      return enter_queue(std::max(request_.deadline, now + services_.shared.options.release_limit), now);
    case reentry_attempt::found::nothing: break;
  }
  return enter(now);
}

action acquisition::enter_again(action next) {
  doing_ = doing::entering_again;
  if (next.what != action::kind::finished) return next;
  doing_ = doing::nothing;
  result_ = again_.take();
  return {};
}

action acquisition::enter(instant now) {
  check_may_wait(services_, key_);
  turn_ = services_.queue.try_enter(key_, request_.once);
  if (turn_) return ask_store(poll_first_, now);
  if (request_.deadline <= request_.begun) return busy_here(now);
  return enter_queue(request_.deadline, now);
}

action acquisition::enter_queue(instant until, instant now) {
  doing_ = doing::nothing;
  if (interrupted_) return {};  // it came together with what was waited for before
  doing_ = doing::queued;
  if (services_.caps.passes_on && key_.row() == nullptr && !request_.once && !request_.in_order()) {
    const keeping kept(key_, request_.terms, services_.caps);
    if (kept.kind == lease_kind::session) queue_wait_.use_lease_of(kept.ttl);
  }
  return queue_left(queue_wait_.start(key_, until, now), now);
}

action acquisition::queue_left(action next, instant now) {
  if (next.what != action::kind::finished) return next;
  doing_ = doing::nothing;
  switch (queue_wait_.ended()) {
    case queue_wait::end::turn:
      turn_ = queue_wait_.take_turn();
      if (auto passed = queue_wait_.take_passed()) return use_passed(std::move(passed), now);
      return ask_store(!queue_wait_.freed(), now);
    case queue_wait::end::enter_again:
      queue_wait_.enter_at_head();
      return look_for_own(now);  // what the owner held may have been released again
    case queue_wait::end::too_many: too_many_ = true; break;
    case queue_wait::end::timed_out: return busy_here(now);
  }
  return {};
}

/// The caller in front has passed on its lease, and what it leaves is in no book yet.
action acquisition::use_passed(std::shared_ptr<grant> passed, instant now) {
  const keeping kept(key_, request_.terms, services_.caps);
  bool ours = passed->pin->deadline.remaining(now) > microseconds{0};
  try {
    keeping::give_to(request_.owner, request_.terms, *passed);
    grant_lifecycle::make_room(*passed);
  } catch (const std::bad_alloc&) {
    services_.background.cancel_later(std::move(passed), nullptr, instant::max(), now);
    throw;
  }
  if (ours) {
    kept.granted(*passed, request_.terms, {}, passed->asked_at, now);
    passed->turn = std::move(turn_);
    ours = services_.grants.admit(passed, now);
    if (!ours) turn_ = std::move(passed->turn);
  }
  if (!ours) {  // its session is over
    passed->min_hold = microseconds{0};
    services_.background.cancel_later(std::move(passed), nullptr, instant::max(), now);
    return ask_store(true, now);
  }
  note_grant(services_, *passed, false, false, now);
  result_ = {.held = std::move(passed), .first = true};
  notify_granted(now, 0, false);
  return {};
}

/// While the caller in front gets no answer, it is not known whether the key is held.
action acquisition::busy_here(instant now) {
  behind_ = !interrupted_ && services_.queue.trouble(key_, trouble_, now - request_.begun >= statement_timeout);
  return {};
}

// ---- at the store ---------------------------------------------------------------------------------------------------

action acquisition::ask_store(bool poll_first, instant now) {
  check_may_wait(services_, key_);  // a turn that came together with close() is of no use
  const bool tells_all = services_.caps.tells_free && !services_.caps.others_release;
  // A waiter that the store notifies registers under its session, and a take shows the holder as well as a poll.
  poll_first_ = (poll_first && !tells_all) || request_.polls_first(services_.statements.where());
  if (at_ == nullptr) {
    if (room_ == nullptr) {
      own_room_ = std::make_unique<room>();
      room_ = own_room_.get();
    }
    at_ = &room_->emplace(services_, woken_);
  }
  const auto yield_for = time_to_yield(services_, key_, request_, now);
  if (services_.caps.tells_free) rivals_ = services_.grants.history().rivals(key_, now);
  if (yield_for.count() == 0 || interrupted_) return ask_now(now);
  patient_ = true;
  resumes_ = now + yield_for;
  // Somebody else may have had it before the time is over.
  if (tells_all) at_->watch.begin(key_, {}, request_.in_order(), now);
  return let_others(now);
}

action acquisition::let_others(instant now) {
  doing_ = doing::yielding;
  turn_.spare();
  return pause_over(at_->pause.start(at_->no_turn, nullptr, resumes_, now), now);
}

action acquisition::ask_now(instant now) {
  attempt_ = &at_->attempt.emplace(services_, key_, request_,
                                   acquire_machine::settings{.deadline = request_.deadline,
                                                             .once = request_.once,
                                                             .poll_first = poll_first_,
                                                             .retry = request_.terms.retry,
                                                             .seed = services_.shared.next_nonce(),
                                                             .patient = patient_,
                                                             .rivals = rivals_},
                                   woken_);
  doing_ = doing::asking;
  return follow(attempt_->start(now), now);
}

action acquisition::follow(action next, instant now) {
  while (next.what == action::kind::finished) {
    if (attempt_->at() == step::pause) return pause_now(now);
    if (attempt_->at() != step::granted) break;
    result_.held = attempt_->admit(turn_, attempt_->machine().has_paused(), at_->watch.works(), now);
    if (result_.held == nullptr) {
      closed_ = services_.closed.load();
      next = attempt_->give_back(now);
      continue;
    }
    result_.first = true;
    notify_granted(now, attempt_->machine().statements(), attempt_->machine().taken_over());
    break;
  }
  if (next.what == action::kind::finished) doing_ = doing::nothing;
  return next;
}

void acquisition::notify_granted(instant now, unsigned statements, bool taken_over) {
  services_.shared.notify({.what = event::kind::granted,
                           .key = key_.view(),
                           .fence = result_.held->fence_shown(),
                           .waited = now - request_.begun,
                           .attempts = statements,
                           .taken_over = taken_over});
}

action acquisition::pause_now(instant now) {
  doing_ = doing::nothing;
  if (interrupted_) return {};
  if (!queue_wait_.count()) {
    too_many_ = true;
    return {};
  }
  doing_ = doing::pausing;
  const auto& machine = attempt_->machine();
  if (const bool troubled = !machine.waits_for_holder(); troubled || troubled_ != false) {
    turn_.in_trouble(troubled ? &machine.why() : nullptr);
    troubled_ = troubled;
  }
  auto mine = attempt_->pin() ? attempt_->pin()->id : id128{};
  // Where others see who waits, also one that has only polled so far has a name.
  if (!mine && services_.caps.wakes_one) mine = services_.sessions.id_of(attempt_->kept_as().session_ttl());
  const auto until = at_->watch.pause_until(key_, mine, request_, machine, now);
  // A waiter that the store notifies need not poll more often because another one in the queue would.
  return at_->pause.start(at_->watch.replaces_polls() ? at_->no_turn : turn_, &attempt_->poll(now), until, now);
}

action acquisition::pause_over(action next, instant now) {
  if (next.what != action::kind::finished) return next;
  const bool before = std::exchange(doing_, doing::nothing) == doing::yielding;
  if (at_->pause.interrupted()) return {};
  if (before && !turn_.retake()) {  // a single attempt of this process has taken it
    queue_wait_.enter_at_head();
    return enter_queue(request_.deadline, now);
  }
  doing_ = doing::asking;
  const bool notified = at_->pause.was_notified();
  if (attempt_ != nullptr) attempt_->registered(at_->watch.works(), now);
  // A waiter that has just subscribed finds the key held, as a rule, and a poll costs the holder less than a take.
  if (notified && services_.caps.wakes_one && at_->watch.has_changed() && attempt_ != nullptr)
    return follow(attempt_->looks_again(now), now);
  if (!before) {
    if (!notified) return follow(attempt_->resume(now), now);
    resumes_ = std::min(now + attempt_->machine().courtesy(), std::max(request_.deadline, now));
  } else if (notified && attempt_ == nullptr && rivals_ == 0) {
    // The first notification says that the watch works, the second that the other one has released the key.
    if (std::exchange(hears_, true)) resumes_ = now;
  }
  if (notified && now < resumes_) return let_others(now);
  return attempt_ == nullptr ? ask_now(now) : follow(attempt_->notified(now), now);
}

action acquisition::resume(instant now) {
  switch (doing_) {
    case doing::entering_again: return enter_again(again_.resume(now));
    case doing::queued: return queue_left(queue_wait_.resume(now), now);
    case doing::asking: return follow(attempt_->resume(now), now);
    case doing::yielding:
    case doing::pausing: return pause_over(at_->pause.resume(now), now);
    case doing::nothing: break;
  }
  return {};
}

action acquisition::interrupt(interruption why, instant now) {
  if (!interrupted_) interrupted_ = why;
  switch (doing_) {
    case doing::queued: return queue_left(queue_wait_.interrupt(), now);
    case doing::yielding:
    case doing::pausing: return pause_over(at_->pause.interrupt(now), now);
    default:
      return resume(now);  // a session that is opened is for others as well, and takes no longer than a statement
  }
}

// ---- what came of it ------------------------------------------------------------------------------------------------

acquired acquisition::result(instant now) {
  // What has asked the store ends before what the caller does next.
  const struct at_end {
    acquisition& of;
    ~at_end() {
      if (of.at_ != nullptr) of.room_->reset();
      of.at_ = nullptr;
    }
  } end{*this};
  if (result_.held != nullptr) return std::move(result_);
  const auto waited = now - request_.begun;
  const auto* const machine = attempt_ != nullptr ? &attempt_->machine() : nullptr;
  if (machine != nullptr && attempt_->at() == step::failed) {
    if (attempt_->no_such_row()) throw_no_such_row(key_);
    if (closed_) throw_interrupted(interruption::closed, key_, waited);
    throw_failed(services_, key_, machine->why(), machine->outcome_unknown(), waited);
  }
  if (behind_) throw_failed(services_, key_, trouble_, false, waited);
  services_.shared.notify({.what = event::kind::busy,
                           .key = key_.view(),
                           .waited = waited,
                           .attempts = machine != nullptr ? machine->statements() : 0});
  if (too_many_) throw_too_many(services_, key_);
  if (interrupted_) throw_interrupted(*interrupted_, key_, waited);
  return {.why_busy = why_busy(now)};
}

std::string acquisition::why_busy(instant now) const {
  if (attempt_ == nullptr) return busy_here_text(services_, request_, key_, now - request_.begun);
  const auto mine = attempt_->pin() ? attempt_->pin()->id : id128{};
  const auto& machine = attempt_->machine();
  return busy_text(services_, key_, machine.holder(), mine, now - request_.begun, machine.row_locked());
}

}  // namespace dlock::engine
