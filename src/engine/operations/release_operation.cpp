// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/release_operation.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;

action release_operation::start(instant now) {
  until_ = now + services_.shared.options.release_limit;
  for (auto& ended : all_) {
    // Rule 4: trust ends before the release is sent, not when it is answered.
    if (ended.last && !ended.begun) ended.begun = services_.grants.begin_release(*ended.grant, ended.trusted, now);
    ended.open = ended.begun;
    if (!ended.begun) {  // an inner lease, or it was lost and others free it
      if (ended.grant->remaining(now) == 0us) ended.result = release_result::lost;
      continue;
    }
    const auto& key = ended.grant->key;
    ended.send.ask = ended.grant->ask_release(now);
    ended.send.ask.wake =
        services_.caps.looks_for_waiters() && (ended.grant->in_order || services_.grants.knowledge().looks(key, now));
    ended.next = next_grant(ended, now);
    if (ended.next != nullptr) {
      ended.send.ask = ended.next->ask(verb::pass_on);
      ended.send.ask.fence = ended.grant->fence;
    }
    ended.send.priority = priority::frees;
    room_[open_++] = &ended.send;
  }
  return open_ == 0 ? action{} : send();
}

/// Null: the key is freed. So it is where waiters of other processes may have to be woken, or would starve.
std::shared_ptr<grant> release_operation::next_grant(const ended_lease& ended, instant now) noexcept {
  const auto& from = *ended.grant;
  if (!services_.caps.passes_on || services_.queue.waiting() == 0) return nullptr;
  if (from.kind != lease_kind::session || from.key.row() != nullptr || from.min_hold.load() > 0us) return nullptr;
  if (!ended.trusted || ended.send.ask.wake || services_.closed.load()) return nullptr;
  if (!from.turn || !from.turn.next_uses(from.ttl) || services_.grants.history().is_over(from.key, now)) return nullptr;
  try {
    auto next = std::make_shared<grant>(services_.home.lock(), from.key);
    next->pin = from.pin.again();
    if (!next->pin) return nullptr;
    next->owner = from.owner;  // until another one gets it
    next->kind = from.kind;
    next->fenced = from.fenced;
    next->ttl = from.ttl;
    next->nonce = services_.shared.next_nonce();
    return next;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

action release_operation::send() noexcept {
  for (auto* each : room_.first(open_)) {
    each->queue_deadline = until_;
    each->timeout = microseconds{0};  // also what waited for a connection has no longer
  }
  return action::send(room_.first(open_));
}

void release_operation::judge(ended_lease& ended, instant now) noexcept {
  const bool passes = ended.send.ask.action == verb::pass_on;
  ended.open = passes ? judge_passing(ended, now) : judge_release(ended);
  if (!ended.open) return;
  const auto said = ended.send.answer.result;
  room_[open_++] = &ended.send;
  // Meanwhile others may have come to rely on its end.
  ended.send.ask.wake = services_.caps.looks_for_waiters() && ended.send.ask.min_hold.count() == 0;
  if (said == outcome::yes || said == outcome::no || (passes && said == outcome::failed && ended.send.sent)) {
    at_once_ = true;  // with another statement
    return;
  }
  if (said == outcome::unknown) ended.unanswered = true;
  if (!ended.passed) ended.result = release_result::later;
  ended.why = std::move(ended.send.answer.why);
  // Each names session and fence, or nonce, so it may be repeated, also on another connection (rule 6).
  const bool soon = said == outcome::unknown || ended.why.transient || ended.why.contended || ended.why.connection;
  soon_ = soon_ && ended.send.sent && soon;
}

/// Whether there is more to send.
bool release_operation::judge_passing(ended_lease& ended, instant now) noexcept {
  auto& answer = ended.send.answer;
  if (answer.result == outcome::yes) {
    ended.passed = true;
    ended.result = release_result::freed;
    ended.next->fence = answer.fence;
    ended.next->asked_at = ended.send.sent_at;
    note_release(*ended.grant, now);
    if (ended.grant->turn.pass_on(ended.next, ended.grant->ttl)) return false;
    ended.send.ask = ended.next->ask(verb::release);  // the waiter has gone
    return true;
  }
  // The release that follows shows whether the key was passed on: if it finds the fence, that can't happen any more.
  ended.next->in_doubt = std::move(ended.send.in_doubt);
  if (answer.result == outcome::failed) ended.next.reset();
  ended.send.ask = ended.grant->ask(verb::release);
  return true;
}

bool release_operation::judge_release(ended_lease& ended) noexcept {
  const auto said = ended.send.answer.result;
  if (said != outcome::yes && said != outcome::no) return true;
  if (ended.passed) return false;  // nobody has had it
  if (said == outcome::no && ended.next != nullptr && ended.send.ask.action == verb::release) {
    ended.send.ask = ended.next->ask(verb::cancel);
    return true;
  }
  // After a try without an answer, "no" may just mean that it had been done.
  const bool freed = said == outcome::yes || ended.unanswered;
  ended.result = freed ? release_result::freed : release_result::lost;
  ended.next.reset();
  return false;
}

action release_operation::resume(instant now) {
  if (std::exchange(pauses_, false)) return send();
  open_ = 0;
  soon_ = true;
  at_once_ = false;
  for (auto& ended : all_) {
    if (ended.open) judge(ended, now);
  }
  if (open_ == 0 || !soon_ || now + row_pause::shortest >= until_) return finish(now);
  if (at_once_) return send();
  pauses_ = true;
  return action::wait(std::min(now + pause_.next(), until_ - row_pause::shortest));
}

/// Before anybody else can have the key.
void release_operation::note_release(const grant& released, instant now) noexcept {
  services_.grants.history().released(released.key, released.fence, now);
  if (services_.caps.looks_for_waiters()) services_.grants.knowledge().released(released.key, released.nonce, now);
}

action release_operation::finish(instant now) noexcept {
  for (auto& ended : all_) {
    if (!ended.begun) continue;
    if (ended.open) leave_to_background(ended, now);
    const auto waiters = ended.send.answer.waiters;
    if (services_.caps.looks_for_waiters() && !ended.open && !ended.passed) {
      auto& knowledge = services_.grants.knowledge();
      // A try without an answer may have woken a waiter.
      if (ended.send.ask.wake && (waiters > 0 || !ended.unanswered)) {
        knowledge.looked(ended.grant->key, ended.grant->nonce, waiters, ended.send.sent_at);
      } else {
        knowledge.released(ended.grant->key, ended.grant->nonce, now);
      }
    }
    if (waiters > 0) services_.grants.history().notified(ended.grant->key, ended.grant->fence, waiters, now);
    ended.result = services_.grants.end_release(ended.grant, ended.result, ended.trusted, ended.why, now, true);
  }
  return {};
}

void release_operation::leave_to_background(ended_lease& ended, instant now) noexcept {
  if (ended.passed) return services_.background.release_later(std::move(ended.next), now);
  services_.background.release_later(ended.grant, now);
  if (ended.next == nullptr) return;
  auto doubt = std::move(ended.next->in_doubt);
  services_.background.cancel_later(std::move(ended.next), std::move(doubt), instant::max(), now);
}

}  // namespace dlock::engine
