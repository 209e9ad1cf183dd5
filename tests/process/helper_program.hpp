// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the programs have in common that a test starts and talks to: they obey lines on standard input, and tell what
/// happens by lines on standard output.

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <string>
#include <utility>

#ifdef __linux__
#include <sys/prctl.h>

#include <csignal>
#endif

namespace dlock::test {

/// One write: the lines of several threads, and of a forked child, stay whole.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  const auto line = fmt::format(text, std::forward<Args>(args)...) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(3);
}

/// Calls obey(line) for each line until it answers false, or there are no more.
template <class Obey>
void obey_lines(Obey&& obey) {
  for (std::string line; std::getline(std::cin, line);) {
    if (!obey(line)) return;
  }
}

/// What main() returns. An exception is told.
template <class Body>
int helper_main(Body&& body) {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nobody behind, also not one that is stopped
#endif
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    say("error {}", e.what());
    return 1;
  }
}

}  // namespace dlock::test
