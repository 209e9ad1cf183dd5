// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "support/program_output.hpp"
#include "support/redis_server.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Two processes of `program` and two threads of ours count "counter" on that server up, each step under the lock
/// "stock": a step is lost unless they exclude each other. `program` does so for `length` and prints how often.
inline void check_that_counters_exclude_each_other(lock_service& locks, const redis_server& server,
                                                   const std::string& program, std::chrono::seconds length) {
  program_output one(program), two(program);
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const auto end = std::chrono::steady_clock::now() + length;
      while (std::chrono::steady_clock::now() < end) {
        const lease held = locks.acquire("stock", {.wait = std::chrono::seconds{20}});
        const auto text = server.ask({"GET", "counter"});
        // Long enough for others to come between, if they could.
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        server.ask({"SET", "counter", std::to_string((text.empty() ? 0 : std::stol(text)) + 1)});
        ++done;
      }
    });
  }
  for (auto& each : threads) each.join();
  const int theirs = std::stoi(one.end()) + std::stoi(two.end());
  CHECK(done > 0);
  CHECK(theirs > 0);
  CHECK(server.ask({"GET", "counter"}) == std::to_string(done + theirs));
}

}  // namespace dlock::test
