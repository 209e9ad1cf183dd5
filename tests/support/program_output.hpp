// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdio>

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

}  // namespace dlock::test
