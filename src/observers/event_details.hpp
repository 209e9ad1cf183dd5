// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/observer.hpp"

namespace dlock::detail {

/// Adds the fields that an event of its kind has besides key, fence and text, as observer.hpp lists them.
template <class Line>
void add_details(Line& to, const event& event) {
  using kind = event::kind;
  switch (event.what) {
    case kind::granted:
      to.add("waited_us", event.waited);
      to.add("attempts", std::uint64_t{event.attempts});
      to.add("taken_over", event.taken_over);
      break;
    case kind::busy: to.add("waited_us", event.waited); break;
    case kind::released: to.add("held_us", event.held); break;
    case kind::lost:
      to.add("held_us", event.held);
      to.add("reason", to_string(event.reason));
      break;
    case kind::session_lost: to.add("reason", to_string(event.reason)); break;
    case kind::cleanup: to.add("rows", std::uint64_t{event.attempts}); break;
    default: break;
  }
}

}  // namespace dlock::detail
