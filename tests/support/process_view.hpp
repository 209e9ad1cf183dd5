// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What this process shows to the system: its descriptors and its threads.

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace dlock::test {

/// What a program that this process starts would get: "3 socket:[4711]".
inline std::set<std::string> inheritable_descriptors() {
  std::set<std::string> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    const auto number = each.path().filename().string();
    const int flags = ::fcntl(std::stoi(number), F_GETFD);
    std::error_code unreadable;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
      found.insert(number + " " + std::filesystem::read_symlink(each.path(), unreadable).string());
    }
  }
  return found;
}

/// The signals that each thread blocks: bit n - 1 is signal n.
inline std::map<std::string, unsigned long long> blocked_signals() {
  std::map<std::string, unsigned long long> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(each.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) found[each.path().filename()] = std::stoull(line.substr(7), nullptr, 16);
    }
  }
  return found;
}

}  // namespace dlock::test
