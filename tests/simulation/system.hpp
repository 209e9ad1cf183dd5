// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "simulation/random.hpp"

namespace dlock::simulation {

/// While a run is under way, what the system gives is decided by its seed: random bytes (ids of sessions, nonces) come
/// from there. And nobody else is there, so a mutex costs nothing. Null: the run is over.
void bytes_come_from(random_source* source) noexcept;

}  // namespace dlock::simulation
