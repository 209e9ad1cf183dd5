// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

namespace dlock::test {

/// A program beside the test, which is killed and started again, and dies with this object.
class child_process {
 public:
  /// What it prints is added to the file `log`; where that is empty, it goes where the test's own output goes.
  explicit child_process(std::vector<std::string> command, std::string log = {})
      : command_(std::move(command)), log_(std::move(log)) {
    start();
  }
  ~child_process() { kill(); }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  void start() {
    std::vector<char*> arguments;
    for (auto& each : command_) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    int input[2];
    REQUIRE(::pipe2(input, O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::dup2(input[0], 0);
      if (!log_.empty()) {
        const int log = ::open(log_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        ::dup2(log, 1);
        ::dup2(log, 2);
      }
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(input[0]);
    to_ = input[1];
  }
  /// Writes a byte to its standard input.
  void go_on() const { REQUIRE(::write(to_, "x", 1) == 1); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(to_);
    pid_ = -1;
  }

 private:
  std::vector<std::string> command_;
  const std::string log_;
  pid_t pid_ = -1;
  int to_ = -1;
};

}  // namespace dlock::test
