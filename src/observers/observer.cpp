// SPDX-License-Identifier: BSL-1.0
#include "dlock/observer.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace dlock {

namespace {

class tee_observer final : public observer {
 public:
  explicit tee_observer(std::vector<std::shared_ptr<observer>> to) : to_(std::move(to)) {}

  void on(const event& event) override {
    std::exception_ptr failed;
    for (const auto& each : to_) {
      try {
        each->on(event);
      } catch (...) {
        if (failed == nullptr) failed = std::current_exception();
      }
    }
    if (failed != nullptr) std::rethrow_exception(failed);
  }

 private:
  const std::vector<std::shared_ptr<observer>> to_;
};

}  // namespace

std::shared_ptr<observer> make_tee_observer(std::vector<std::shared_ptr<observer>> to) {
  for (std::size_t i = 0; i != to.size(); ++i) {
    if (to[i] == nullptr) {
      throw std::invalid_argument("dlock: make_tee_observer: observer " + std::to_string(i) + " of " +
                                  std::to_string(to.size()) + " is null");
    }
  }
  return std::make_shared<tee_observer>(std::move(to));
}

std::string_view to_string(event::kind kind) noexcept {
  switch (kind) {
    case event::kind::granted: return "granted";
    case event::kind::reentered: return "reentered";
    case event::kind::busy: return "busy";
    case event::kind::released: return "released";
    case event::kind::lost: return "lost";
    case event::kind::split_brain: return "split_brain";
    case event::kind::release_failed: return "release_failed";
    case event::kind::outcome_unknown: return "outcome_unknown";
    case event::kind::acquire_failed: return "acquire_failed";
    case event::kind::deadlock: return "deadlock";
    case event::kind::in_transaction: return "in_transaction";
    case event::kind::blocked: return "blocked";
    case event::kind::unchecked: return "unchecked";
    case event::kind::session_opened: return "session_opened";
    case event::kind::session_lost: return "session_lost";
    case event::kind::renewal_late: return "renewal_late";
    case event::kind::cleanup: return "cleanup";
    case event::kind::still_held: return "still_held";
    case event::kind::waiters_poll: return "waiters_poll";
    case event::kind::handler_failed: return "handler_failed";
    case event::kind::observer_failed: return "observer_failed";
  }
  return "unknown";
}

}  // namespace dlock
