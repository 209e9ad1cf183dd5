// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/batch_attempt.hpp"

namespace dlock::engine {

void batch_attempt::add(std::size_t number, const lock_key& key, queue_turn turn) {
  const acquire_machine::settings settings{.deadline = request_.deadline,
                                           .once = true,
                                           .poll_first = request_.polls_first(services_.statements.where()),
                                           .retry = {},
                                           .shares = request_.shares()};
  members_.emplace_back(number, std::move(turn), services_, key, request_, settings, woken_);
}

task<batch_attempt::member*> batch_attempt::ask(flow& f) {
  sent_.reserve(members_.size());
  for (auto& each : members_) {
    const bool pinned = co_await each.attempt.pin_session(f);
    if (!pinned) co_return &each;
  }
  for (bool goes_on = true; goes_on;) {
    const bool waits = go_on(f.interrupted(), f.now());
    goes_on = waits || !sent_.empty();
    if (!sent_.empty()) {
      co_await f.send(sent_);
    } else if (waits) {
      co_await f.wait(request_.limit(f.now()));
    }
  }
  for (auto& each : members_) {
    const auto at = each.attempt.at();
    if (!each.started || each.open) continue;
    if (at == step::busy || at == step::failed || at == step::pause) co_return &each;
  }
  co_return nullptr;
}

/// All statements have been answered: the attempts go on together, and put their next statements into `sent_`. Returns
/// whether one of them waits. After one attempt has failed or found its key busy, the others send nothing new, except
/// to finish an undo. `why`: waits are interrupted.
bool batch_attempt::go_on(const std::optional<interruption>& why, instant now) {
  bool waits = false;
  sent_.clear();
  for (auto& each : members_) {
    if (!each.open || (refused_ && !each.started)) continue;
    const bool ends = why && each.waits;
    const auto next = ends           ? each.asking.interrupt(*why, now)
                      : each.started ? each.asking.resume(now)
                                     : each.asking.start(now);
    each.started = true;
    each.waits = next.what == action::kind::wait;
    if (next.what == action::kind::finished) {
      each.open = false;
      refused_ = refused_ || each.attempt.at() != step::granted;
    } else if (refused_ && !each.attempt.undoes()) {
      each.asking.withdraw();
      each.open = false;
    } else {
      waits = waits || each.waits;
      sent_.insert(sent_.end(), next.statements.begin(), next.statements.end());
    }
  }
  return waits;
}

task<void> batch_attempt::give_back(flow& f) {
  constexpr auto timeout = statement_timeout / 2;
  sent_.clear();
  for (auto& each : members_) {
    if (each.attempt.at() != step::granted || each.attempt.admitted()) continue;  // a lease ends in another way
    each.cancels.ask = each.attempt.cancellation(f.now());
    each.cancels.priority = priority::frees;
    each.cancels.queue_deadline = f.now() + timeout;
    each.cancels.timeout = timeout;
    sent_.push_back(&each.cancels);
  }
  co_await f.send(sent_);
  for (auto& each : members_) {
    const auto result = each.cancels.sent ? each.cancels.answer.result : outcome::failed;
    if (result == outcome::yes || result == outcome::no) each.attempt.cancelled();
    each.attempt.take_back(f.now());
    each.turn.hand_on();
  }
}

}  // namespace dlock::engine
