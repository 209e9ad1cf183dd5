// SPDX-License-Identifier: BSL-1.0
// The program of README.md: start it twice at the same time, and the second one waits for the first.
// [hello]
#include <chrono>
#include <cstdio>
#include <dlock/dlock.hpp>
#include <thread>

using namespace std::chrono_literals;

int main() {
  dlock::lock_service locks{"sqlite:locks.db"};  // or "mysql://app:secret@db.example.com/locks"

  locks.with_lock("stock:42", {.ttl = 10s, .wait = 20s}, [] {
    std::puts("one process at a time is here");
    std::this_thread::sleep_for(100ms);
  });

  if (const auto held = locks.try_acquire("report:daily")) {
    std::puts("this process writes the report");
  } else {
    std::puts("another process is writing it");
  }
}
// [/hello]
