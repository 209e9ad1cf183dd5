// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// Removes dead sessions and idle keys now and then (rule 11), in small steps, and goes on while there is work. Ends
/// when its waits are interrupted.
task<void> clean_up(flow& f, service_context& shared, statement_executor& statements, notifier& news);

}  // namespace dlock::engine
