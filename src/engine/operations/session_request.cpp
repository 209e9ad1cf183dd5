// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/session_request.hpp"

#include <utility>

#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

namespace {

/// Is woken when another operation has opened a session.
class opening_wait final : public opening_waiter {
 public:
  opening_wait(session_keeper& sessions, waker& woken) noexcept : sessions_(sessions), woken_(woken) {}
  opening_wait(const opening_wait&) = delete;
  opening_wait& operator=(const opening_wait&) = delete;
  ~opening_wait() { end(); }
  void begun() noexcept { waits_ = true; }
  void end() noexcept {
    if (std::exchange(waits_, false)) sessions_.leave(*this);
  }
  void wake() noexcept override { woken_.wake(); }

 private:
  session_keeper& sessions_;
  waker& woken_;
  bool waits_ = false;
};

}  // namespace

task<session_pin> request_session(flow& f, engine_services& services, microseconds ttl, instant until, statement& with,
                                  fault& why) {
  why = {};
  opening_wait wait(services.sessions, f.waker());
  for (;;) {
    session_opening opening;
    auto pin = services.sessions.pin(ttl, f.now(), opening, wait);
    if (pin) co_return std::move(pin);
    if (opening) {
      opening.ask(with);
      with.priority = priority::takes;
      with.queue_deadline = until;
      with.timeout = statement_timeout;
      co_await f.send(with);
      pin = opening.answered(with, why);
      if (!pin && opening.elsewhere() && f.now() < until) continue;
      opening = {};
      if (pin) services.shared.notify({.what = event::kind::session_opened, .text = pin->id.hex()});
      co_return std::move(pin);
    }
    wait.begun();
    if (f.now() >= until) break;
    const auto interrupted = co_await f.wait(until);
    wait.end();
    if (interrupted) co_return session_pin{};  // before this call opens one itself, which may take long
  }
  wait.end();
  why = services.sessions.why_not_opened();
  if (why.text.empty()) why = passing_fault("no session could be opened in time; another thread still tries", true);
  co_return session_pin{};
}

}  // namespace dlock::engine
