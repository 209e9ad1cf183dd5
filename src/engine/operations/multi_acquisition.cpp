// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/multi_acquisition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/operations/lingering.hpp"
#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

multi_acquire::multi_acquire(engine_services& services, const lock_keys& keys, const lock_request& request)
    : services_(services),
      keys_(keys),
      terms_(request.terms),
      request_(terms_, request.owner, request.named, request.begun, {.once = request.once, .counted = true}),
      held_(keys.size()) {
  if (terms_.fairness != fairness::fifo) return;
  throw std::invalid_argument(
      fmt::format("dlock: key '{}': fairness = fifo: {} keeps no order of waiters for lists of keys",
                  printable(keys[0]), services.statements.where().name()));
}

multi_acquire::~multi_acquire() {
  for (auto& each : held_) {
    if (each.held != nullptr) services_.grants.leave_in_background(each.held, last_, !each.entered_again);
  }
}

task<acquired_all> multi_acquire::run(flow& f) {
  co_await enter_held(f);
  auto end = co_await try_together(f);
  for (unsigned rounds = 1; end == round::busy && rounds < rounds_together; ++rounds) {
    end = co_await acquire_busy(f);
    if (end == round::all) end = co_await try_together(f);
  }
  if (end == round::busy) end = co_await acquire_in_order(f);
  last_ = f.now();
  if (end == round::over) {  // the destructor gives back what was taken
    acquired_all none;
    none.why_busy = std::move(why_busy_);
    co_return std::move(none);
  }
  // Those that were held before may have been lost meanwhile, and no caller may work with fewer than all.
  for (const auto& each : held_) ensure_held(*each.held, f.now());
  acquired_all granted;
  granted.held = std::exchange(held_, {});
  co_return std::move(granted);
}

void multi_acquire::list_taken(std::vector<nested_wait::held_lock>& all) const {
  for (const auto& each : held_) {
    if (each.held == nullptr || each.entered_again || each.held->freed_by_time() || terms_.mode != exclusive) continue;
    all.push_back({.held = each.held, .where = &services_.statements.where()});
  }
}

/// A key whose release waits for a transaction is waited for in the queue, like any other.
task<void> multi_acquire::enter_held(flow& f) {
  last_ = f.now();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    reentry_attempt again(services_, terms_);
    if (again.find(*request_.owner, request_.named, keys_[i], f.now()) != reentry_attempt::found::entered) continue;
    co_await again.enter(f);
    held_[i] = again.take();
  }
}

// ---- together -------------------------------------------------------------------------------------------------------

/// One try at all that are not held, with the turns that are free just now.
task<multi_acquire::round> multi_acquire::try_together(flow& f) {
  check_may_wait(services_, keys_[0]);
  batch_attempt batch(services_, request_, f.waker());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (held_[i].held != nullptr) continue;
    auto turn = services_.queue.try_enter(keys_[i], request_.once);
    if (!turn) {  // another thread of this process has it: it is waited for, or known to be busy, in the queue
      busy_ = i;
      give_back_all(f.now());
      co_return round::busy;
    }
    auto kept = services_.grants.lingering().take(keys_[i]);
    if (kept != nullptr) {
      held_[i].held = enter_lingering(services_, keys_[i], request_, turn, kept, f.now());
      try {
        if (kept != nullptr) held_[i].held = co_await ask_for_lingering(f, services_, keys_[i], request_, turn, kept);
      } catch (...) {
        if (kept != nullptr) services_.grants.give_back(kept, f.now());
        throw;
      }
      if (held_[i].held != nullptr) {
        held_[i].first = true;
        report_grant(services_, *held_[i].held, request_, 0, false, f.now());
        continue;
      }
    }
    batch.add(i, keys_[i], std::move(turn));
  }
  if (batch.empty()) co_return round::all;
  const bool interrupted = co_await leave_to_others(f, batch);
  if (interrupted) end_wait(f, keys_[0]);
  auto* refused = co_await batch.ask(f);
  if (refused == nullptr && admit_all(batch, f.now())) co_return round::all;
  const bool closed = services_.closed.load();
  if (refused != nullptr) turn_ = std::move(refused->turn);
  co_await batch.give_back(f);
  give_back_all(f.now());
  if (refused == nullptr) {
    if (closed) throw_interrupted(interruption::closed, keys_[0], waited(f));
    const auto why = passing_fault("the grants were answered too late to be trusted", false);
    if (request_.once || f.now() >= request_.deadline) throw_failed(services_, keys_[0], why, false, waited(f));
    busy_ = batch.all().front().number;  // not one that was entered again
    co_return round::busy;
  }
  busy_ = refused->number;
  was_busy_ = was_busy_ || refused->attempt.at() == step::busy;
  co_return refused_by(f, refused->attempt);
}

/// Pauses if this process has had one of the keys for so long that others come first. Returns whether the pause was
/// interrupted.
task<bool> multi_acquire::leave_to_others(flow& f, batch_attempt& batch) {
  auto time = microseconds{0};
  for (const auto& each : batch.all()) {
    time = std::max(time, time_to_yield(services_, each.attempt.key(), request_, f.now()));
  }
  const auto until = f.now() + time;
  while (f.now() < until && !f.interrupted()) co_await f.wait(until);
  co_return time.count() > 0 && f.interrupted().has_value();
}

/// All or none: their sessions may have ended meanwhile.
bool multi_acquire::admit_all(batch_attempt& batch, instant now) noexcept {
  for (auto& each : batch.all()) {
    if (each.attempt.trusted_until(now) <= now) return false;
  }
  for (auto& each : batch.all()) {
    auto& here = held_[each.number];
    here.held = each.attempt.admit(each.turn, was_busy_, false, now);
    if (here.held == nullptr) return false;
    here.first = true;
    const auto& machine = each.attempt.machine();
    report_grant(services_, *here.held, request_, machine.statements(), machine.taken_over(), now);
  }
  return true;
}

/// What was taken, not what was entered again.
void multi_acquire::give_back_all(instant now) noexcept {
  for (auto& each : held_) {
    if (each.held == nullptr || each.entered_again) continue;
    services_.grants.leave_in_background(each.held, now, true);
    each.held = nullptr;
  }
}

/// The attempt that ended the round: busy, or in trouble that passes, it may be waited for.
multi_acquire::round multi_acquire::refused_by(const flow& f, const key_attempt& attempt) {
  const auto& machine = attempt.machine();
  const auto& why = machine.why();
  const bool failed = attempt.at() == step::failed;
  if (attempt.no_such_row()) throw_no_such_row(attempt.key());
  // An attempt without an outcome has been resolved: it may be made anew.
  const bool hopeless = failed && !machine.outcome_unknown() && !why.transient && !why.connection;
  const bool waits = !request_.once && f.now() < request_.deadline && terms_.retry.limit > 0;
  if (waits && !hopeless && !f.interrupted()) {
    refused_.emplace(machine);
    return round::busy;
  }
  if (failed) throw_failed(services_, attempt.key(), why, machine.outcome_unknown(), waited(f));
  if (f.interrupted()) end_wait(f, attempt.key());
  services_.shared.notify({.what = event::kind::busy, .key = attempt.key().view(), .waited = waited(f)});
  why_busy_ = busy_text(services_, attempt.key(), machine.holder(), {}, waited(f));
  return round::over;
}

/// It was interrupted, or too many wait already.
void multi_acquire::end_wait(const flow& f, const lock_key& key) {
  services_.shared.notify({.what = event::kind::busy, .key = key.view(), .waited = waited(f)});
  if (f.interrupted()) throw_interrupted(*f.interrupted(), key, waited(f));
  throw_too_many(services_, key);
}

// ---- one by one -----------------------------------------------------------------------------------------------------

task<multi_acquire::round> multi_acquire::acquire_busy(flow& f) {
  last_ = f.now();
  const auto& key = keys_[busy_];
  if (f.interrupted()) end_wait(f, key);  // it came together with the key before
  if (!request_.once && !counted_.take(services_.queue, request_.begun)) end_wait(f, key);
  key_acquire alone(services_, key, request_, f.waker(), true, std::move(turn_), refused_ ? &*refused_ : nullptr);
  auto& here = held_[busy_];
  co_await alone.run(f);
  here = alone.take();
  refused_.reset();
  if (here.held == nullptr) why_busy_ = std::move(here.why_busy);
  terms_.retry.limit = alone.remaining_retries();
  co_return here.held != nullptr ? round::all : round::over;
}

/// The last resort.
task<multi_acquire::round> multi_acquire::acquire_in_order(flow& f) {
  turn_.hand_on();
  refused_.reset();
  for (;;) {
    for (busy_ = 0; busy_ < keys_.size(); ++busy_) {
      auto end = round::all;
      if (held_[busy_].held == nullptr) end = co_await acquire_busy(f);
      if (end == round::over) co_return end;
    }
    const bool all = co_await extend_all(f);
    if (all) co_return round::all;
    // Those with a short expiry of their own may end while the others are waited for.
    give_back_all(f.now());
    if (f.now() < request_.deadline) continue;
    why_busy_ = fmt::format("key '{}': its lease ended while other keys were waited for", printable(keys_[busy_]));
    co_return round::over;
  }
}

/// Those with an expiry of their own get the same one; those that are kept must still be held.
task<bool> multi_acquire::extend_all(flow& f) {
  try {
    for (busy_ = 0; busy_ < keys_.size(); ++busy_) {
      const auto& here = held_[busy_];
      if (here.entered_again) continue;
      if (here.held->kind == lease_kind::expiring && busy_ + 1 < keys_.size()) {
        co_await extend_lease(f, services_, here.held, here.held->ttl, "renew");
      } else {
        ensure_held(*here.held, f.now());
      }
    }
  } catch (const lock_lost&) {
    co_return false;
  }
  co_return true;
}

}  // namespace dlock::engine
