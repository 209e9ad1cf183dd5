// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dlock::command {

/// A process between dlock and the command that it runs. The guard starts the command, and ends it with all processes
/// that it has started in three cases: when dlock says so, when dlock itself ends by any signal, and when dlock is
/// stopped past the time until which the lock was certain. dlock ends the command if the guard is killed.
///
/// It is made before dlock has a thread or a connection, so that it inherits neither. Not thread-safe, except
/// trust_until().
class guard {
 public:
  struct plan {
    std::vector<std::string> command{};
    sigset_t signals{};  ///< the mask that the command begins with
    bool own_group = false;
    bool leave_children = false;
    std::chrono::milliseconds kill_after{0};
  };
  /// How the command ended.
  struct report {
    enum class kind : std::uint8_t {
      started,
      not_started,
      not_reached,  ///< the guard may not send a signal to the command, or to a process that the command started
      ended,
      guard_killed,
    } what{};
    int value = 0;              ///< pid; errno of execve(); the signal; wait status
    bool late = false;          ///< the guard ended it, because the lock was not certain any more
    bool left = false;          ///< processes run on that could not be ended
    bool command_left = false;  ///< the command is one of them
  };

  /// Forks. Throws std::system_error.
  explicit guard(plan what);
  /// Ends the command, if it still runs, and the guard.
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  /// Sets until when the lock is certain, by boot_clock. Called first of all, and whenever that time becomes later.
  void trust_until(std::chrono::microseconds moment) noexcept { shared_->trusted_us.store(moment.count()); }
  /// Starts the command with these variables in its environment, and without those whose value is empty. Its first
  /// report follows.
  void start(const std::vector<std::pair<std::string, std::string>>& variables);
  /// Passes a signal on to the command.
  void pass_on(int signal) noexcept;
  /// Ends the command and all that it has started: SIGTERM, and SIGKILL after plan::kill_after, or that long after the
  /// lock was certain if that is earlier. A report follows.
  void end_command() noexcept;

  pid_t pid() const noexcept { return pid_; }
  /// Readable when there is a report.
  int descriptor() const noexcept { return socket_; }
  /// Waits for a report. guard_killed: the guard is gone, and the processes that it started were killed.
  report next();

 private:
  struct shared_state {
    std::atomic<std::int64_t> trusted_us{0};
  };
  [[noreturn]] static void watch(int socket, pid_t parent, const plan& what, shared_state& shared);
  friend class watcher;

  shared_state* shared_;
  int socket_ = -1;
  pid_t pid_ = -1;
};

}  // namespace dlock::command
