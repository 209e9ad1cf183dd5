// SPDX-License-Identifier: BSL-1.0

/// Locks by dlock, beside the neighbours: worker URL KEY LOG loop|once MODE. MODE: read, permit (one of two),
/// or anything for an exclusive lock.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "dlock/error.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/stores/zookeeper.hpp"

namespace {

using namespace std::chrono_literals;

void write_line(const char* log, const std::string& line) {
  const int to = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (::write(to, line.data(), line.size()) < 0) ::_exit(3);
  ::close(to);
}

}  // namespace

int main(int, char** words) {
  const bool once = words[4] == std::string("once");
  // Whoever holds it for long must not lose it because the machine is slow.
  dlock::lock_service locks(words[1], {.defaults = {.ttl = once ? 15s : 5s, .wait = once ? 90s : 30s}});
  const std::string mode = words[5];
  const auto wanted = mode == "read" ? dlock::shared : mode == "permit" ? dlock::one_of(2) : dlock::exclusive;
  const auto who = fmt::format("dlock {} {}\n", ::getpid(), mode);
  do {
    try {
      const auto held = locks.acquire(words[2], {.mode = wanted});
      write_line(words[3], "B " + who);
      char byte = 0;
      if (once && ::read(STDIN_FILENO, &byte, 1) < 0) return 1;
      if (!once) std::this_thread::sleep_for(1ms);
      write_line(words[3], "E " + who);
    } catch (const dlock::error& e) {
      write_line(words[3], fmt::format("error dlock {}\n", e.what()));
    }
  } while (!once);
  return 0;
}
