// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace dlock::command {

struct process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name{};  ///< as /proc shows it, cut at 15 bytes
  bool runs = true;    ///< also if its main thread has ended, so that /proc shows a zombie, but other threads run
};

/// All processes that are below that one now.
std::vector<process> descendants_of(pid_t root);

/// Whether the calling process is below that one.
bool is_ancestor(pid_t pid);
/// Returns false if it belongs to another user.
bool may_signal(const process& to) noexcept;
/// The name of the process's user, or the user's number.
std::string user_of(pid_t pid);
/// For messages: "4312 sudo (root), 4313 job (root)".
std::string names_of(const std::vector<process>& all);

/// Sends the signal, and then SIGCONT, to all processes below the calling one, or to `one` if /proc does not list them.
/// Returns false if the calling process may not send signals to one of them.
bool signal_descendants(int signal, pid_t one);

/// Kills all processes below the calling one, which must be a subreaper, until there are none, including new ones.
/// Reaps them. If `keep` is among them, stores its exit status in `status` and sets `keep` to 0. Returns false if some
/// are left, because the calling process may not kill them, or the kernel has not ended them within ten seconds.
bool kill_descendants(pid_t& keep, int& status);

}  // namespace dlock::command
