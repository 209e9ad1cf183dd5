// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace dlock::command {

struct process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name{};  ///< as /proc shows it, which cuts it at 15 bytes
  bool runs = true;    ///< also if its main thread has ended, so that /proc shows a zombie, and others have not
};

/// All that run below that one, as they are now.
std::vector<process> descendants_of(pid_t root);

/// Whether the calling process is below that one.
bool is_ancestor(pid_t pid);
/// False: it belongs to another user.
bool may_signal(const process& to) noexcept;
/// Name of the user whose process it is, or the user's number.
std::string user_of(pid_t pid);
/// For messages: "4312 sudo (root), 4313 job (root)".
std::string names_of(const std::vector<process>& all);

/// The signal, and SIGCONT behind it, to all processes below the calling one; where /proc does not list them, to `one`.
/// False: there is one that the calling process may not send signals to.
bool signal_descendants(int signal, pid_t one);

/// Kills all processes below the calling one, which must be a subreaper, until there is none: what forks meanwhile,
/// too. Reaps them. `keep`: the exit status of that one, if it is among them, is stored in `status`, and `keep` is 0
/// afterwards. False: some are left, because the calling process may not kill them, or because the kernel has not ended
/// them within ten seconds.
bool kill_descendants(pid_t& keep, int& status);

}  // namespace dlock::command
