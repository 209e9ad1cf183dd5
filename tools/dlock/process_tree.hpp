// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace dlock::command {

/// All processes below that one, as they are now. Zombies are not among them.
std::vector<pid_t> descendants_of(pid_t root);

/// The signal, and SIGCONT behind it, to all processes below the calling one; where /proc does not list them, to `one`.
/// How many there were.
std::size_t signal_descendants(int signal, pid_t one);

/// Kills all processes below the calling one, which must be a subreaper, until there is none: what forks meanwhile,
/// too. Reaps them. `keep`: the exit status of that one, if it is among them, is stored in `status`. 0 or less: of
/// none.
void kill_descendants(pid_t keep, int& status);

}  // namespace dlock::command
