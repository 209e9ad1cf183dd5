// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/operations/flow.hpp"

namespace dlock::engine {

/// Pins the session of that ttl class. Opens it if need be, by the statement `with`, or waits until `until` for another
/// operation that opens it. Gives an empty pin if there is none; `why` says why, and has no text if the wait was
/// interrupted.
task<session_pin> request_session(flow& f, engine_services& services, microseconds ttl, instant until, statement& with,
                                  fault& why);

}  // namespace dlock::engine
