// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/fork_guard.hpp"

namespace dlock::engine {

/// Somebody who may hold locks: what an owner and a thread point to.
struct owner_state {
  const unsigned generation = fork_generation();  // of the process that made it
  std::atomic<std::size_t> grants{0};             // in the tables of all services
};

}  // namespace dlock::engine
