// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace dlock::test {

/// Runs in a child, which ends without running anything else: what() says 0 for all well. The answer to the parent is
/// that, or -1 if the child died.
inline int in_child(const std::function<int()>& body) {
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(20);
    int answer = 99;
    try {
      answer = body();
    } catch (...) {
    }
    ::_exit(answer);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace dlock::test
