// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// Renews a lease that its own expiry keeps (lease_kind::column), each third of its ttl, while it is held. Any
/// transaction may have its row locked (rule 7): the executor sees to it that this delays no others, and the renewal is
/// tried again soon.
task<void> renew_lease(flow& f, engine_services& services, notifier& news, grant& renewed);

}  // namespace dlock::engine
