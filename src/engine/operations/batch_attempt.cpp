// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/batch_attempt.hpp"

#include <algorithm>
#include <utility>

#include "engine/machines/multi_machine.hpp"

namespace dlock::engine {

void batch_attempt::add(std::size_t number, const lock_key& key) {
  const acquire_machine::settings settings{
      .deadline = request_.deadline, .once = true, .poll_first = false, .retry = {}};
  members_.emplace_back(number, services_, key, request_, settings, woken_);
}

action batch_attempt::send(priority level, instant until, microseconds timeout) {
  sent_.clear();
  for (auto& each : members_) {
    if (!each.open) continue;
    each.send.priority = level;
    each.send.queue_deadline = until;
    each.send.timeout = timeout;
    sent_.push_back(&each.send);
  }
  return sent_.empty() ? action{} : action::send(sent_);
}

// ---- sessions -------------------------------------------------------------------------------------------------------

action batch_attempt::pin(instant now) {
  pinned_ = false;
  fault_ = {};
  return next_pin(now);
}

action batch_attempt::next_pin(instant now) {
  for (auto& each : members_) {
    if (each.attempt.pin()) continue;
    const auto ttl = each.attempt.kept_as().session_ttl();
    const auto same = std::find_if(members_.begin(), members_.end(), [&](const member& other) {
      return other.attempt.pin() && other.attempt.kept_as().session_ttl() == ttl;
    });
    if (same == members_.end()) {
      pinning_ = &each;
      return pin_follow(session_.start(ttl, request_.limit(now), now), now);
    }
    each.attempt.use(same->attempt.pin().again());
    if (each.attempt.pin()) continue;
    fault_ = passing_fault("the session ended", false);
    return {};
  }
  pinned_ = true;
  asked_as_ = members_.front().attempt.pin()->id;
  return {};
}

action batch_attempt::pin_follow(action next, instant now) {
  if (next.what != action::kind::finished) return next;
  auto pin = session_.take_pin();
  if (!pin) {
    fault_ = session_.why();
    return {};
  }
  pinning_->attempt.use(std::move(pin));
  return next_pin(now);
}

// ---- looking around, before a take that might wait ------------------------------------------------------------------

action batch_attempt::poll(instant now) {
  for (auto& each : members_) each.send.ask = request_.poll_request(each.attempt.key());
  return send(priority::takes, request_.limit(now), statement_timeout);
}

const batch_attempt::member* batch_attempt::found_busy() const noexcept {
  for (const auto& each : members_) {
    const auto& answer = each.send.answer;
    const bool seen = each.send.sent && answer.result == outcome::yes;
    if (seen && multi_machine::holds(answer.holder) && answer.holder.remaining.count() > 0 &&
        !is_nobodys(services_, each.attempt.key(), answer.holder)) {
      return &each;  // its attempt cancels a grant that has no lease
    }
  }
  return nullptr;
}

// ---- taking ---------------------------------------------------------------------------------------------------------

action batch_attempt::take(instant now) {
  refused_ = false;
  return take_resumed(now);
}

action batch_attempt::take_resumed(instant now) {
  // All that was sent has been answered: they go on together. Once one is not to be had, the others ask for nothing
  // more, but what was granted is known, and what is being undone is seen to its end.
  bool waits = false;
  sent_.clear();
  for (auto& each : members_) {
    if (!each.open || (refused_ && !each.started)) continue;
    const auto next = each.started ? each.asking.resume(now) : each.asking.start(now);
    each.started = true;
    const auto at = each.attempt.at();
    if (next.what == action::kind::finished) {
      each.open = false;
      refused_ = refused_ || at != step::granted;
    } else if (refused_ && !each.attempt.undoes()) {
      each.asking.withdraw();
      each.open = false;
    } else {
      waits = waits || next.what == action::kind::wait;
      sent_.insert(sent_.end(), next.statements.begin(), next.statements.end());
    }
  }
  if (!sent_.empty()) return action::send(sent_);
  return waits ? action::wait(request_.limit(now)) : action{};
}

batch_attempt::member* batch_attempt::refused() noexcept {
  for (auto& each : members_) {
    const auto at = each.attempt.at();
    if (each.started && !each.open && (at == step::busy || at == step::failed)) return &each;
  }
  return nullptr;
}

action batch_attempt::give_back(instant now) {
  for (auto& each : members_) {
    // What was admitted ends as a lease does.
    each.open = each.attempt.at() == step::granted && !each.attempt.admitted();
    if (!each.open) continue;
    each.send.ask = each.attempt.cancellation(now);
  }
  constexpr auto timeout = statement_timeout / 2;
  return send(priority::frees, now + timeout, timeout);
}

void batch_attempt::given_back(instant now) noexcept {
  for (auto& each : members_) {
    if (!each.open) continue;
    const auto result = each.send.sent ? each.send.answer.result : outcome::failed;
    if (result == outcome::yes || result == outcome::no) each.attempt.cancelled();
    each.attempt.take_back(now);
  }
  members_.clear();
}

}  // namespace dlock::engine
