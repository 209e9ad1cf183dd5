// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/release_operation.hpp"

#include <algorithm>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
constexpr microseconds between_tries = 5ms;
}  // namespace

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
    ended.send.ask = ended.grant->ask(verb::release);
    const auto& key = ended.grant->key;
    ended.send.ask.wake =
        services_.caps.wakes_one && key.row() == nullptr && services_.grants.knowledge().looks(key, now);
    ended.send.priority = priority::frees;
    room_[open_++] = &ended.send;
  }
  return open_ == 0 ? action{} : send();
}

action release_operation::send() noexcept {
  for (auto* each : room_.first(open_)) {
    each->queue_deadline = until_;
    each->timeout = microseconds{0};  // also what waited for a connection has no longer
  }
  return action::send(room_.first(open_));
}

void release_operation::judge(ended_lease& ended) noexcept {
  auto& answer = ended.send.answer;
  ended.open = answer.result != outcome::yes && answer.result != outcome::no;
  if (!ended.open) {
    // After a try without an answer, "no" may just mean that it had been done.
    const bool freed = answer.result == outcome::yes || ended.unanswered;
    ended.result = freed ? release_result::freed : release_result::lost;
    return;
  }
  if (answer.result == outcome::unknown) ended.unanswered = true;
  ended.result = release_result::later;
  ended.why = std::move(answer.why);
  // It names session and fence, so it may be repeated, also on another connection (rule 6).
  const bool soon =
      answer.result == outcome::unknown || ended.why.transient || ended.why.contended || ended.why.connection;
  soon_ = soon_ && ended.send.sent && soon;
  room_[open_++] = &ended.send;
}

action release_operation::resume(instant now) {
  if (std::exchange(pauses_, false)) return send();
  open_ = 0;
  soon_ = true;
  for (auto& ended : all_) {
    if (ended.open) judge(ended);
  }
  if (open_ == 0 || !soon_ || now + between_tries >= until_) return finish(now);
  pauses_ = true;
  return action::wait(now + between_tries);
}

action release_operation::finish(instant now) noexcept {
  for (auto& ended : all_) {
    if (!ended.begun) continue;
    if (ended.open) services_.background.release_later(ended.grant, now);
    const auto waiters = ended.send.answer.waiters;
    if (services_.caps.wakes_one && !ended.open) {
      auto& knowledge = services_.grants.knowledge();
      if (ended.send.ask.wake) {
        knowledge.looked(ended.grant->key, waiters, ended.send.sent_at);
      } else {
        knowledge.released(ended.grant->key, now);
      }
    }
    if (waiters > 0) services_.grants.history().notified(ended.grant->key, ended.grant->fence, waiters, now);
    ended.result = services_.grants.end_release(ended.grant, ended.result, ended.trusted, ended.why, now, true);
  }
  return {};
}

}  // namespace dlock::engine
