// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "simulation/mistakes.hpp"

namespace dlock::simulation {

/// A statement about members as a store would send it that makes that mistake; without quotation marks, which no name
/// of it needs. The statement itself if the mistake does not concern it.
std::string with_mistake(std::string text, mistake wrong);

}  // namespace dlock::simulation
