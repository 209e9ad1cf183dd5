// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "support/server_process.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// A program that runs beside the test, and what it prints.
class program_output {
 public:
  /// `command`: for the shell.
  explicit program_output(const std::string& command) : output_(::popen(command.c_str(), "re")) {
    if (output_ == nullptr) throw std::runtime_error("does not start: " + command);
  }
  ~program_output() {
    if (output_ != nullptr) ::pclose(output_);
  }
  program_output(const program_output&) = delete;
  program_output& operator=(const program_output&) = delete;

  /// Waits for its end, which must be a good one. Its first line.
  std::string end() {
    std::string text;
    for (int next = 0; (next = std::fgetc(output_)) != EOF;) text.push_back(static_cast<char>(next));
    const int code = ::pclose(std::exchange(output_, nullptr));
    REQUIRE(code == 0);
    return text.substr(0, text.find('\n'));
  }

 private:
  std::FILE* output_;
};

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
