// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/calls.hpp"

namespace dlock::test {

/// Whether each thread of the process has a state out of `states`, as in proc(5).
inline bool all_threads(pid_t pid, const std::string& states) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream in(each.path() / "stat");
    std::string text;
    std::getline(in, text);
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos || states.find(text.at(name_end + 2)) == std::string::npos) return false;
  }
  return true;
}

/// SIGSTOP; returns when no thread of the process runs any more. kill() alone returns before that: one thread takes the
/// signal and stops the others, and until that thread gets a processor the others may still answer a request.
inline void stop_process(pid_t pid) {
  if (::kill(pid, SIGSTOP) != 0 || !eventually([&] { return all_threads(pid, "Tt"); })) {
    throw std::runtime_error("process " + std::to_string(pid) + " does not stop");
  }
}

}  // namespace dlock::test
