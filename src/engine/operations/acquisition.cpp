// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/acquisition.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/late_object.hpp"
#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

key_acquire::key_acquire(engine_services& services, const lock_key& key, lock_request request, waker& woken,
                         bool poll_first, queue_turn own, const acquire_machine* after)
    : services_(services),
      woken_(woken),
      key_(key),
      request_(std::move(request)),
      after_(after),
      remaining_retries_(request_.terms.retry.limit),
      poll_first_(poll_first),
      again_(services, request_.terms) {
  turn = std::move(own);
  queue_waiter::longest_pause = request_.terms.retry.max_pause;
  // Only a caller that named its owner may enter what another thread gets in the meantime.
  if (request_.named && request_.terms.reentry != reentry::busy) queue_waiter::owner = request_.owner.get();
}

key_acquire::~key_acquire() {
  if (in_queue_) services_.queue.leave(key_, *this);
  if (lingers_ != nullptr) services_.grants.give_back(lingers_, last_);
  if (passed == nullptr) return;  // otherwise the wait ended without using it
  services_.background.cancel_later(std::move(passed), nullptr, instant::max(), last_);
}

task<void> key_acquire::run(flow& f) {
  auto here = turn ? found::turn : request_.holds_nothing ? enter(f.now()) : look(f.now());
  while (here != found::over) {
    if (here == found::queue) here = enter_queue(f);
    while (here == found::waits) here = go_on_in_queue(f, co_await f.wait(queue_until_, &key_));
    if (here == found::ours) {
      co_await again_.enter(f);
      end_ = again_.take();
      co_return;
    }
    if (here == found::turn) here = use_passed(f.now());
    if (here == found::turn && turn) here = join_readers(f.now());
    if (here == found::turn) here = use_lingering(f.now());
    if (here == found::turn) {
      f.frames.reserve(frames_at_store);
      here = co_await at_the_store(f);
    }
    if (here == found::busy) here = not_granted(f, nullptr);
  }
}

// ---- in this process ------------------------------------------------------------------------------------------------

/// Enters the key again if its owner holds it by now.
key_acquire::found key_acquire::look(instant now) {
  switch (again_.find(*request_.owner, request_.named, key_, now)) {
    case reentry_attempt::found::entered: return found::ours;
    case reentry_attempt::found::being_freed:
      // For its owner the key is free, also for one attempt: the background hands on the turn as soon as it is.
      if (fault why; turn || !services_.may_wait(why)) break;
      queue_until_ = std::max(request_.deadline, now + services_.shared.options.release_limit);
      return found::queue;
    case reentry_attempt::found::nothing: break;
  }
  return enter(now);
}

key_acquire::found key_acquire::enter(instant now) {
  check_may_wait(services_, key_);
  queue_until_ = request_.deadline;
  if (join_readers(now) == found::over) return found::over;
  turn = services_.queue.try_enter(key_, request_.once);
  // A single attempt to become a member asks without it, because the caller with the turn may be granted as well.
  if (turn || (request_.once && request_.shares())) return found::turn;
  return request_.deadline <= request_.begun ? found::busy : found::queue;
}

key_acquire::found key_acquire::enter_queue(const flow& f) {
  last_ = f.now();
  if (!count()) {
    too_many_ = true;
    return found::busy;
  }
  if (services_.caps.passes_on && key_.row() == nullptr && !request_.once && !request_.in_order() &&
      !request_.shares()) {
    const keeping kept(key_, request_.terms, services_.caps);
    if (kept.kind == lease_kind::session) queue_waiter::uses = kept.ttl;
  }
  enter_again = freed = false;
  in_queue_ = !services_.queue.enter(key_, *this, f.now());
  if (!in_queue_) {
    poll_first_ = true;
    return found::turn;
  }
  // Another thread of the same owner either finds this one in the queue when it is granted, or was granted before.
  if (queue_waiter::owner != nullptr) {
    const auto mine = services_.table.find(*request_.owner, key_, true, false);
    if (mine.held != nullptr && !mine.being_freed) return leave_queue(f, true);
  }
  return f.now() < queue_until_ ? found::waits : leave_queue(f, false);
}

/// `why`: the wait was interrupted.
key_acquire::found key_acquire::go_on_in_queue(const flow& f, std::optional<interruption> why) {
  last_ = f.now();
  const bool over = why || f.now() >= queue_until_ || services_.queue.signalled(key_, *this);
  return over ? leave_queue(f, false) : found::waits;
}

/// `again`: its owner holds the key.
key_acquire::found key_acquire::leave_queue(const flow& f, bool again) {
  in_queue_ = false;
  // A turn that came together with the end of the wait, or a cancellation, counts.
  const bool alone = services_.queue.leave(key_, *this);
  if (alone && !again) return found::busy;
  if (turn) {
    poll_first_ = !freed;
    return found::turn;
  }
  queue_waiter::first = true;
  const auto here = look(f.now());  // what the owner held may have been released again
  return here == found::queue && f.interrupted() ? found::busy : here;
}

/// Uses the lease that the caller in front has passed on with the turn, which is in no registry yet. If there is none,
/// or its session is over, the turn is what remains.
key_acquire::found key_acquire::use_passed(instant now) {
  const auto lease = std::move(passed);
  if (lease == nullptr) return found::turn;
  const keeping kept(key_, request_.terms, services_.caps);
  bool ours = lease->pin->deadline.remaining(now) > microseconds{0};
  try {
    keeping::give_to(request_.owner, request_.terms, *lease);
    services_.grants.make_room(*lease, request_.terms.max_hold.count() > 0);
  } catch (const std::bad_alloc&) {
    services_.background.cancel_later(lease, nullptr, instant::max(), now);
    throw;
  }
  if (ours) {
    kept.granted(*lease, request_.terms, {}, lease->asked_at, now);
    lease->turn = std::move(turn);
    ours = services_.grants.admit(lease, now);
    if (!ours) turn = std::move(lease->turn);
  }
  if (!ours) {
    lease->min_hold = microseconds{0};
    services_.background.cancel_later(lease, nullptr, instant::max(), now);
    poll_first_ = true;
    return found::turn;
  }
  note_grant(services_, *lease, false, false, now);
  return granted(lease, now, 0, false);
}

/// Uses what this process has kept of the key since its last lease.
key_acquire::found key_acquire::use_lingering(instant now) {
  auto& lingering = services_.grants.lingering();
  // A single attempt to become a member may have no turn.
  if (lingering.empty() || !turn) return found::turn;
  last_ = now;
  lingers_ = lingering.take(key_);
  if (lingers_ == nullptr) return found::turn;
  auto held = enter_lingering(services_, key_, request_, turn, lingers_, now);
  return held != nullptr ? granted(std::move(held), now, 0, false) : found::turn;
}

task<key_acquire::found> key_acquire::ask_about_lingering(flow& f) {
  auto held = co_await ask_for_lingering(f, services_, key_, request_, turn, lingers_);
  if (held == nullptr) co_return found::turn;
  co_return granted(std::move(held), f.now(), 1, false);
}

/// Becomes a reader without a statement, by what another reader of this process has at the store.
key_acquire::found key_acquire::join_readers(instant now) {
  if (request_.terms.mode != shared) return found::turn;
  const keeping kept(key_, request_.terms, services_.caps);
  const auto lease = kept.make_grant(services_, key_, request_.owner, request_.terms);
  services_.grants.make_room(*lease, request_.terms.max_hold.count() > 0);
  if (!services_.readers.enter(*lease, now)) return found::turn;
  kept.granted(*lease, request_.terms, {}, lease->asked_at, now);
  if (lease->pin->deadline.remaining(now) > microseconds{0} && services_.grants.admit(lease, now))
    return granted(lease, now, 0, false);
  if (lease->leaves_store()) services_.background.cancel_later(lease, nullptr, instant::max(), now);
  return found::turn;
}

// ---- at the store ---------------------------------------------------------------------------------------------------

/// The parts that ask the store, and wait in between.
struct key_acquire::at_store {
  at_store(engine_services& services, waker& woken, const detail::lock_settings& terms)
      : pause(services, woken), watch(services, pause, mode_of(terms)) {}

  base::late_object<key_attempt> attempt;
  bool patient = false;  // this process has had the key for long
  bool hears = false;    // while it yields: the store notifies it of releases
  unsigned rivals = 0;
  instant resumes{};               // it yields until then
  std::optional<bool> troubled{};  // what the waiters behind were told: whether the store can't be asked
  queue_turn no_turn{};
  poll_wait pause;  // may wait in its destructor for the attempt's poll
  release_subscription watch;
};

/// Until it is over, or a single attempt of this process has taken the turn while the key was left to others.
task<key_acquire::found> key_acquire::ask_store(flow& f) {
  at_store here(services_, f.waker(), request_.terms);
  const auto attempt = [&here] { return here.attempt.has_value() ? &*here.attempt : nullptr; };
  auto how = begin_at_store(here, f.interrupted().has_value(), f.now());
  for (;;) {
    const bool yields = how == next::yield;
    if (yields) {
      co_await leave_to_others(f, here);
    } else {
      auto end = co_await ask(f, here, how);
      while (end == step::granted) {
        const auto& machine = here.attempt->machine();
        auto held = here.attempt->admit(turn, machine.has_paused(), here.watch.works(), f.now());
        if (held != nullptr) {
          remaining_retries_ = machine.remaining_retries();
          co_return granted(std::move(held), f.now(), machine.statements(), machine.taken_over());
        }
        closed_ = services_.closed.load();
        end = co_await here.attempt->ask(f, step::give_back);
      }
      too_many_ = end == step::pause && !f.interrupted() && !count();
      if (end != step::pause || f.interrupted() || too_many_) {
        if (here.attempt->has_closed()) co_await here.attempt->reopen(f);
        co_return not_granted(f, attempt());
      }
      co_await pause(f, here);
    }
    if (here.pause.interrupted()) {
      if (here.attempt.has_value() && here.attempt->has_closed()) co_await here.attempt->reopen(f);
      co_return not_granted(f, attempt());
    }
    if (yields && !turn.retake()) break;
    how = pause_over(here, yields, f.now());
  }
  queue_waiter::first = true;
  queue_until_ = request_.deadline;
  co_return f.interrupted() ? found::busy : found::queue;
}

/// Begins with the turn: asks at once, unless this process has had the key for so long that it must yield first.
key_acquire::next key_acquire::begin_at_store(at_store& here, bool interrupted, instant now) {
  check_may_wait(services_, key_);  // a turn that came together with close() is of no use
  const bool tells_all = services_.caps.tells_free() && !services_.caps.others_release();
  // A waiter that the store notifies registers under its session, and a take shows the holder as well as a poll.
  poll_first_ = (poll_first_ && !tells_all) || request_.polls_first(services_.statements.where());
  const auto yield_for = time_to_yield(services_, key_, request_, now);
  if (services_.caps.tells_free()) here.rivals = services_.grants.history().rivals(key_, now);
  if (yield_for.count() == 0 || interrupted) return next::begin;
  here.patient = true;
  here.resumes = now + yield_for;
  // Another process may have had the key before the time is over.
  if (tells_all) here.watch.begin(key_, {}, request_.in_order(), now);
  register_after_hand_over(here, now);
  return next::yield;
}

/// This process has just released the key to a waiter, which has it by the end of the yield, as a rule. So this one
/// registers meanwhile, and polls then.
void key_acquire::register_after_hand_over(at_store& here, instant now) {
  if (!registers() || !services_.grants.history().handed_over(key_)) return;
  const auto session = services_.sessions.id_of(keeping(key_, request_.terms, services_.caps).session_ttl());
  if (session) here.watch.begin(key_, session, request_.in_order(), now);
}

/// Whether it registers with the store, and then relies on a release.
bool key_acquire::registers() const noexcept {
  return services_.caps.waits == waiting::woken && key_.row() == nullptr && !request_.terms.retry.limited();
}

bool key_acquire::registers_first(instant now) const noexcept {
  if (!registers() || request_.in_order()) return false;
  return request_.deadline - now >= 10 * quiet_without_waiters && services_.grants.knowledge().contended(key_, now);
}

task<step> key_acquire::ask(flow& f, at_store& here, next how) {
  if (how == next::take) return here.attempt->ask_notified(f);
  if (how == next::poll) return here.attempt->ask_by_poll(f);
  if (how == next::polled) return here.attempt->ask_polled(f);
  auto& attempt =
      here.attempt.emplace(services_, key_, request_,
                           acquire_machine::settings{.deadline = request_.deadline,
                                                     .once = request_.once,
                                                     .poll_first = poll_first_,
                                                     .retry = request_.terms.retry,
                                                     .seed = services_.shared.next_nonce(),
                                                     .patient = here.patient,
                                                     .rivals = here.rivals,
                                                     .registers_first = !request_.shares() && registers_first(f.now()),
                                                     .shares = request_.shares()});
  if (after_ != nullptr) return attempt.ask_after(f, *std::exchange(after_, nullptr));
  return attempt.ask(f);
}

// These two are functions because in the coroutine the frame would hold the arguments of each awaiter.

task<void> key_acquire::leave_to_others(flow& f, at_store& here) {
  turn.spare();
  return here.pause.run(f, here.no_turn, nullptr, here.resumes, nullptr);
}

/// Whether it wants the exclusive lock of a key that has members.
bool key_acquire::waits_for_members(const acquire_machine& machine) const noexcept {
  return !request_.shares() && machine.holder().shared != membership::none;
}

task<void> key_acquire::pause(flow& f, at_store& here) {
  const auto now = f.now();
  auto& attempt = *here.attempt;
  const auto& machine = attempt.machine();
  if (const bool troubled = !machine.waits_for_holder(); troubled || here.troubled != false) {
    turn.in_trouble(troubled ? &machine.why() : nullptr);
    here.troubled = troubled;
  }
  auto mine = attempt.pin() ? attempt.pin()->id : id128{};
  // Where others see who waits, a waiter that has only polled so far needs a name as well.
  if (!mine && services_.caps.wakes_one()) mine = services_.sessions.id_of(attempt.kept_as().session_ttl());
  auto until = here.watch.pause_until(key_, mine, request_, machine, now);
  if (waits_for_members(machine)) {
    here.watch.hear_of_last_member();
    // A caller that has closed the key says in time that it still has to be.
    until = std::min(until, now + closed_for / 2);
  }
  // A waiter that the store notifies need not poll more often because another one in the queue would.
  auto& shortened_by = here.watch.replaces_polls() ? here.no_turn : turn;
  return here.pause.run(f, shortened_by, &attempt.poll(now), until, &key_);
}

/// `yielded`: the pause was to leave the key to others.
key_acquire::next key_acquire::pause_over(at_store& here, bool yielded, instant now) {
  const bool asked = here.attempt.has_value();
  const bool notified = here.pause.was_notified();
  if (asked) here.attempt->registered(here.watch.works(), now);
  // A waiter that has just subscribed usually finds the key held, and a poll costs the holder less than a take.
  if (notified && services_.caps.wakes_one() && asked && here.watch.has_changed()) return next::poll;
  if (!yielded) {
    if (!notified) return next::polled;
    here.resumes = std::min(now + here.attempt->machine().courtesy(), std::max(request_.deadline, now));
  } else if (services_.caps.wakes_one() && !asked) {
    // Unless the notification says that the key has been released once more, a poll costs the holder less than a take.
    const bool released = notified && !here.watch.has_changed();
    poll_first_ = here.watch.works() && !released && !request_.shares();
    if (released) here.resumes = now;
  } else if (notified && !asked && here.rivals == 0) {
    // The first notification says that the subscription works, the second that the holder has released the key.
    if (std::exchange(here.hears, true)) here.resumes = now;
  }
  if (notified && now < here.resumes) return next::yield;
  // Which a take can't get before a poll has shown that the last member has left.
  if (asked && waits_for_members(here.attempt->machine())) return next::poll;
  return asked ? next::take : next::begin;
}

// ---- what came of it ------------------------------------------------------------------------------------------------

key_acquire::found key_acquire::granted(std::shared_ptr<grant> held, instant now, unsigned statements,
                                        bool taken_over) {
  report_grant(services_, *held, request_, statements, taken_over, now);
  if (request_.shares()) turn.hand_on(true);
  end_ = {.held = std::move(held), .first = true};
  return found::over;
}

/// `attempt`: what has asked the store last; null: nothing has.
key_acquire::found key_acquire::not_granted(const flow& f, const key_attempt* attempt) {
  const auto now = f.now();
  const auto waited = now - request_.begun;
  const auto* const machine = attempt != nullptr ? &attempt->machine() : nullptr;
  if (attempt != nullptr && attempt->at() == step::failed) {
    if (attempt->no_such_row()) throw_no_such_row(key_);
    if (closed_) throw_interrupted(interruption::closed, key_, waited);
    throw_failed(services_, key_, machine->why(), machine->outcome_unknown(), waited);
  }
  // While the caller in front gets no answer, it is not known whether the key is held.
  if (fault why; attempt == nullptr && !too_many_ && !f.interrupted() &&
                 services_.queue.trouble(key_, why, waited >= statement_timeout)) {
    throw_failed(services_, key_, why, false, waited);
  }
  services_.shared.notify({.what = event::kind::busy,
                           .key = key_.view(),
                           .waited = waited,
                           .attempts = machine != nullptr ? machine->statements() : 0});
  if (too_many_) throw_too_many(services_, key_);
  if (f.interrupted()) throw_interrupted(*f.interrupted(), key_, waited);
  if (attempt == nullptr) {
    end_.why_busy = busy_here_text(services_, request_, key_, waited);
  } else {
    const auto mine = attempt->pin() ? attempt->pin()->id : id128{};
    end_.why_busy = busy_text(services_, key_, machine->holder(), mine, waited, machine->row_locked());
  }
  return found::over;
}

}  // namespace dlock::engine
