// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "engine/operations/flow.hpp"
#include "engine/operations/release_operation.hpp"

namespace dlock::engine {

/// Throws std::logic_error if the lease can't be downgraded.
void check_may_downgrade(const engine_services& services, grant& held);

/// The grant that the lease has after it. Allocates all that it needs.
std::shared_ptr<grant> make_downgraded(engine_services& services, const grant& held);

/// Ends the exclusive `ended.grant` as a release does, and at the same time makes `ended.next` a reader, so that no
/// other owner has the key exclusively in between. ended.next is null afterwards if that failed; then the exclusive
/// grant has ended as well. Sets the result. Throws nothing.
task<void> downgrade_lease(flow& f, engine_services& services, ended_lease& ended);

}  // namespace dlock::engine
