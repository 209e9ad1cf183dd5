// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// Throws std::logic_error or store_error if the statement of an extension would wait for the calling thread. `doing`
/// begins the text.
void check_may_extend(const engine_services& services, grant& held, const char* doing);

/// Sets the separate expiry of a grant to now + ttl, unless it ends later: for lease::renew(), and for re-entry with a
/// longer ttl. `doing` names the call in messages. Throws like check_may_extend(), lock_lost if the grant can't be
/// trusted, and store_error.
task<void> extend_lease(flow& f, engine_services& services, std::shared_ptr<grant> held, microseconds ttl,
                        const char* doing);

/// extend_lease() with the room for its frame.
class extension final : private frame_storage<1536>, public coroutine_operation<void> {
 public:
  extension(engine_services& services, std::shared_ptr<grant> held, microseconds ttl, waker& woken,
            const char* doing = "renew")
      : coroutine_operation<void>(static_cast<frame_storage&>(*this), woken, extend_lease, services, std::move(held),
                                  ttl, doing) {}
};

}  // namespace dlock::engine
