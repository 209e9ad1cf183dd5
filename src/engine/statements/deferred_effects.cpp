// SPDX-License-Identifier: BSL-1.0
#include "engine/statements/deferred_effects.hpp"

#include <new>

#include "engine/statements/blocked_caller.hpp"

namespace dlock::engine {

void deferred_effects::hand_over(statement& of) noexcept {
  of.is = statement::state::nowhere;
  if (of.caller == nullptr) {
    answered.push_back(of);
  } else if (--of.caller->open == 0) {
    of.caller->answers_itself = of.caller == self_;
    if (of.caller != self_) last_of_callers.push_back(of);
  }
}

void deferred_effects::refuse(statement& of, const fault& why) noexcept {
  of.answer = {};
  of.answered_at = time_.now();
  try {
    of.answer.why = why;
  } catch (const std::bad_alloc&) {
    of.answer.why = passing_fault("", why.connection);
  }
  // Another connection would fail for the same reason: a wrong password.
  of.answer.why.connection = why.connection && why.transient;
  hand_over(of);
}

void deferred_effects::refuse_all(statement_queue& all, const fault& why) noexcept {
  while (!all.empty()) refuse(*all.pop_front(), why);
}

}  // namespace dlock::engine
