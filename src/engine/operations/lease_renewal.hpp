// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// Renews a lease with an expiry in its row (lease_kind::column) in each third of its ttl while it is held. A
/// transaction of any program may have the row locked (rule 7). Then the executor takes care that no other statement
/// waits, and the renewal is tried again soon.
task<void> renew_lease(flow& f, engine_services& services, notifier& news, grant& renewed);

}  // namespace dlock::engine
