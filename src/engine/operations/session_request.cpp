// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/session_request.hpp"

#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

void session_request::abandon() noexcept {
  if (waits_) services_.sessions.leave(*this);
  waits_ = false;
}

action session_request::start(microseconds ttl, instant until, instant now) {
  ttl_ = ttl;
  until_ = until;
  why_ = {};
  return find(now);
}

action session_request::find(instant now) {
  pin_ = services_.sessions.pin(ttl_, now, opening_, *this);
  if (pin_) return {};
  if (opening_) {
    auto& opens = statement_.emplace();
    opening_.ask(opens);
    opens.queue_deadline = until_;
    opens.timeout = statement_timeout;
    sent_ = {&opens};
    return action::send(sent_);
  }
  waits_ = true;
  if (now < until_) return action::wait(until_);
  abandon();
  why_ = services_.sessions.why_not_opened();
  if (why_.text.empty()) why_ = passing_fault("no session could be opened in time; another thread still tries", true);
  return {};
}

action session_request::resume(instant now) {
  if (waits_) {
    abandon();
    return find(now);
  }
  pin_ = opening_.answered(*statement_, why_);
  const bool again = !pin_ && opening_.elsewhere() && now < until_;
  opening_ = {};
  if (again) return find(now);
  if (pin_) services_.shared.notify({.what = event::kind::session_opened, .text = pin_->id.hex()});
  return {};
}

}  // namespace dlock::engine
