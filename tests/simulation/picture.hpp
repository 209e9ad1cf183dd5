// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "simulation/run.hpp"

namespace dlock::simulation {

/// The run as an SVG: a row for each key of each process, with who held it, who waited, who was killed or stood still,
/// and where trust ended. The run must have its story. So many microseconds of it: the last of one that failed, the
/// first of another.
std::string picture(const result& of, moment window = 3'000'000);

}  // namespace dlock::simulation
