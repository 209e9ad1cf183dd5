// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/key_round.hpp"

#include <algorithm>
#include <utility>

#include "engine/machines/multi_machine.hpp"

namespace dlock::engine {

void key_round::add(std::size_t number, const lock_key& key) {
  const acquire_machine::settings settings{
      .deadline = request_.deadline, .once = true, .look_first = false, .retry = {}};
  parts_.emplace_back(number, with_, key, request_, settings, woken_);
}

action key_round::send(line through, instant until, microseconds patience) {
  sent_.clear();
  for (auto& each : parts_) {
    if (!each.open) continue;
    each.send.stands_in = through;
    each.send.until = until;
    each.send.patience = patience;
    sent_.push_back(&each.send);
  }
  return sent_.empty() ? action{} : action::send(sent_);
}

// ---- sessions -------------------------------------------------------------------------------------------------------

action key_round::pin(instant now) {
  pinned_ = false;
  fault_ = {};
  return next_pin(now);
}

action key_round::next_pin(instant now) {
  for (auto& each : parts_) {
    if (each.attempt.pin()) continue;
    const auto ttl = each.attempt.kept_as().session_ttl();
    const auto same = std::find_if(parts_.begin(), parts_.end(), [&](const part& other) {
      return other.attempt.pin() && other.attempt.kept_as().session_ttl() == ttl;
    });
    if (same == parts_.end()) {
      pinning_ = &each;
      return pin_follow(session_.start(ttl, request_.limit(now), now), now);
    }
    each.attempt.use(same->attempt.pin().again());
    if (each.attempt.pin()) continue;
    fault_ = passing_fault("the session ended", false);
    return {};
  }
  pinned_ = true;
  return {};
}

action key_round::pin_follow(action next, instant now) {
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

action key_round::look(instant now) {
  for (auto& each : parts_) each.send.ask = request_.look_at(each.attempt.key());
  return send(line::takes, request_.limit(now), statement_patience);
}

const key_round::part* key_round::looked_busy() const noexcept {
  for (const auto& each : parts_) {
    const auto& answer = each.send.answer;
    const bool seen = each.send.sent && answer.result == outcome::yes;
    if (seen && multi_machine::holds(answer.holder) && answer.holder.left.count() > 0 &&
        !is_nobodys(with_, each.attempt.key(), answer.holder)) {
      return &each;  // its attempt cancels what is nobody's
    }
  }
  return nullptr;
}

// ---- taking ---------------------------------------------------------------------------------------------------------

action key_round::take(instant now) {
  refused_ = false;
  return take_resumed(now);
}

action key_round::take_resumed(instant now) {
  // All that was sent has been answered: they go on together. Once one is not to be had, the others ask for nothing more,
  // but what was granted is known, and what is being undone is seen to its end.
  bool waits = false;
  sent_.clear();
  for (auto& each : parts_) {
    if (!each.open || (refused_ && !each.started)) continue;
    const auto next = each.started ? each.attempt.resume(now) : each.attempt.start(now);
    each.started = true;
    const auto at = each.attempt.at();
    if (next.what == action::kind::finished) {
      each.open = false;
      refused_ = refused_ || at != step::granted;
    } else if (refused_ && !each.attempt.undoes()) {
      each.open = false;
    } else {
      waits = waits || next.what == action::kind::wait;
      sent_.insert(sent_.end(), next.statements.begin(), next.statements.end());
    }
  }
  if (!sent_.empty()) return action::send(sent_);
  return waits ? action::wait(request_.limit(now)) : action{};
}

key_round::part* key_round::refused() noexcept {
  for (auto& each : parts_) {
    const auto at = each.attempt.at();
    if (each.started && !each.open && (at == step::busy || at == step::failed)) return &each;
  }
  return nullptr;
}

action key_round::give_back(instant now) {
  for (auto& each : parts_) {
    // What was admitted ends as a lease does.
    each.open = each.attempt.at() == step::granted && !each.attempt.admitted();
    if (!each.open) continue;
    each.send.ask = each.attempt.cancellation();
  }
  constexpr auto patience = statement_patience / 2;
  return send(line::frees, now + patience, patience);
}

void key_round::given_back(instant now) noexcept {
  for (auto& each : parts_) {
    if (!each.open) continue;
    const auto result = each.send.sent ? each.send.answer.result : outcome::failed;
    if (result == outcome::yes || result == outcome::no) each.attempt.cancelled();
    each.attempt.take_back(now);
  }
  parts_.clear();
}

}  // namespace dlock::engine
