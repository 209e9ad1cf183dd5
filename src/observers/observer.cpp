// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/observer.hpp"

namespace dlock {

std::string_view to_string(event::kind kind) noexcept {
  switch (kind) {
    case event::kind::granted: return "granted";
    case event::kind::reentered: return "reentered";
    case event::kind::busy: return "busy";
    case event::kind::released: return "released";
    case event::kind::lost: return "lost";
    case event::kind::split_found: return "split_found";
    case event::kind::release_failed: return "release_failed";
    case event::kind::outcome_unknown: return "outcome_unknown";
    case event::kind::acquire_failed: return "acquire_failed";
    case event::kind::in_transaction: return "in_transaction";
    case event::kind::blocked: return "blocked";
    case event::kind::session_opened: return "session_opened";
    case event::kind::session_lost: return "session_lost";
    case event::kind::renewal_late: return "renewal_late";
    case event::kind::clean_up: return "clean_up";
    case event::kind::still_held: return "still_held";
    case event::kind::handler_failed: return "handler_failed";
    case event::kind::observer_failed: return "observer_failed";
  }
  return "unknown";
}

}  // namespace dlock
