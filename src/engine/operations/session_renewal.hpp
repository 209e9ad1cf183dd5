// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// Renews one session until it is over, or until its waits are interrupted (rules 3 to 5).
task<void> renew_session(flow& f, session_keeper& sessions, std::shared_ptr<session> renewed);

}  // namespace dlock::engine
