// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace support {

/// This program once more, as a process of its own. Move-only; ended with kill -9 when destroyed. Not thread-safe.
/// All functions throw std::system_error, and std::runtime_error when the process does something else than expected.
class process {
 public:
  /// Starts it with these arguments.
  explicit process(std::vector<std::string> arguments);
  process(process&& other) noexcept;
  process& operator=(process&&) = delete;
  ~process();

  pid_t pid() const noexcept { return pid_; }
  /// Waits until it has stopped itself: stop_here().
  void wait_until_stopped();
  /// SIGCONT: lets a stopped one go on.
  void go_on();
  /// kill -9, stopped or not.
  void kill();
  /// Waits for its end: its exit code, or 128 + the signal that ended it.
  int wait();

 private:
  pid_t pid_ = 0;  ///< 0: ended
};

/// For all of them, first of all: what they print comes line by line.
void print_by_lines();
/// For those started so: they end when their parent does.
void follow_parent();
/// Stops the calling process, all its threads, in the midst of things (SIGSTOP), as a debugger or an overloaded virtual
/// machine does. Its parent sees it, and lets it go on or kills it.
void stop_here();

}  // namespace support
