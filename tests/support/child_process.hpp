// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "support/server_process.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// A program beside the test, which is killed and started again, and may wait for a byte.
class child_process : private server_process {
 public:
  /// What it prints is added to the file `log`; where that is empty, it goes where the test's own output goes.
  explicit child_process(std::vector<std::string> command, std::string log = {})
      : command_(std::move(command)), log_(std::move(log)) {
    start();
  }
  ~child_process() { kill(); }

  void start() {
    int input[2];
    REQUIRE(::pipe2(input, O_CLOEXEC) == 0);
    run(command_, log_, input[0]);
    ::close(input[0]);
    to_ = input[1];
  }
  /// Writes a byte to its standard input.
  void go_on() const { REQUIRE(::write(to_, "x", 1) == 1); }
  void kill() {
    server_process::kill();
    ::close(std::exchange(to_, -1));
  }

 private:
  const std::vector<std::string> command_;
  const std::string log_;
  int to_ = -1;
};

}  // namespace dlock::test
