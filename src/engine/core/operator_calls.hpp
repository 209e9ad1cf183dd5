// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What an operator asks the store: who holds a key, who waits, a forced release.

#include <functional>

#include "engine/core/service_core.hpp"

namespace dlock::engine {

/// Sends one statement of an operator: a verb, or a call. `doing` begins the text of an error. Throws store_error.
reply ask(service_core& core, const char* doing, const request& request);
reply ask(service_core& core, const char* doing, const std::function<reply(connection&)>& use);

}  // namespace dlock::engine
