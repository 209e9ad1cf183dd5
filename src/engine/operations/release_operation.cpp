// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/operations/release_operation.hpp"

#include <algorithm>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
constexpr microseconds between_tries = 5ms;
}  // namespace

action release_operation::start(instant now) {
  until_ = now + with_.shared.options.release_limit;
  for (auto& one : all_) {
    // Rule 4: trust ends before the release is sent, not when it is answered.
    if (one.last && !one.begun) one.begun = with_.grants.begin_release(*one.of, one.trusted, now);
    one.open = one.begun;
    if (!one.begun) {  // an inner lease, or it was lost and others free it
      if (one.of->left(now) == 0us) one.result = release_result::lost;
      continue;
    }
    one.send.ask = one.of->ask(verb::release);
    one.send.stands_in = line::frees;
    room_[open_++] = &one.send;
  }
  return open_ == 0 ? action{} : send(now);
}

action release_operation::send(instant now) noexcept {
  for (auto* each : room_.first(open_)) {
    each->until = until_;
    each->patience = std::max<microseconds>(until_ - now, between_tries);
  }
  return action::send(room_.first(open_));
}

void release_operation::judge(ended_lease& one) noexcept {
  auto& answer = one.send.answer;
  one.open = answer.result != outcome::yes && answer.result != outcome::no;
  if (!one.open) {
    // After a try without an answer, "no" may just mean that it had been done.
    const bool freed = answer.result == outcome::yes || one.unanswered;
    one.result = freed ? release_result::freed : release_result::lost;
    return;
  }
  if (answer.result == outcome::unknown) one.unanswered = true;
  one.result = release_result::later;
  one.why = std::move(answer.why);
  // It names session and fence, so it may be repeated, also on another connection (rule 6).
  const bool soon = answer.result == outcome::unknown || one.why.transient || one.why.contended || one.why.connection;
  soon_ = soon_ && one.send.sent && soon;
  room_[open_++] = &one.send;
}

action release_operation::resume(instant now) {
  if (std::exchange(pauses_, false)) return send(now);
  open_ = 0;
  soon_ = true;
  for (auto& one : all_) {
    if (one.open) judge(one);
  }
  if (open_ == 0 || !soon_ || now + between_tries >= until_) return finish(now);
  pauses_ = true;
  return action::wait(now + between_tries);
}

action release_operation::finish(instant now) noexcept {
  for (auto& one : all_) {
    if (!one.begun) continue;
    if (one.open) with_.background.release_later(one.of, now);
    one.result = with_.grants.end_release(one.of, one.result, one.trusted, one.why, now, true);
  }
  return {};
}

}  // namespace dlock::engine
