// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Processes that wait for each other, each a service with a store of its own.

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "hand_over.hpp"

namespace dlock::bench {

/// A cycle of processes, each of which waits for the next one's lock: the time from the wait that closes it to its
/// refusal.
inline void cycles(const std::string& url, const std::string& where) {
  for (const int size : {2, 3, 8}) {
    std::vector<std::unique_ptr<dlock::lock_service>> processes;
    for (int i = 0; i != size; ++i) processes.push_back(std::make_unique<dlock::lock_service>(url));
    std::vector<double> took;
    int refused = 0;
    constexpr int rounds = 20;
    for (int round = 0; round != rounds; ++round) {
      std::barrier all_hold(size);
      std::mutex mutex;
      int deadlocks = 0;
      std::vector<std::thread> threads;
      for (int i = 0; i != size; ++i) {
        threads.emplace_back([&, i] {
          const auto key = [&](int of) { return fmt::format("cycle:{}:{}", size, of % size); };
          const auto held = processes[static_cast<std::size_t>(i)]->acquire(key(i));
          all_hold.arrive_and_wait();
          if (i + 1 == size) std::this_thread::sleep_for(200ms);  // the others wait by then
          const auto begin = std::chrono::steady_clock::now();
          try {
            const auto next = processes[static_cast<std::size_t>(i)]->acquire(key(i + 1), {.wait = 20s});
          } catch (const dlock::lock_deadlock&) {
            const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
            const std::lock_guard lock(mutex);
            ++deadlocks;
            took.push_back(passed.count());
          }
        });
      }
      for (auto& each : threads) each.join();
      refused += deadlocks;
    }
    fmt::print("cycle of {} processes{}: {} of {} refused one wait each, after {:.0f} ms (p50), {:.0f} ms (longest)\n",
               size, where, refused, rounds, percentile(took, 0.5), percentile(took, 1));
    figures::add(fmt::format("cycle of {} processes{}, until it is reported", size, where), "ms", took,
                 {.at_most = 1000});
    figures::add(fmt::format("cycle of {} processes{}, waits that are refused", size, where), "of 1",
                 {static_cast<double>(refused) / rounds}, {.at_least = 1, .at_most = 1});
  }
}

/// Nested locks that are always taken in one order: no wait of theirs may be refused.
inline void no_cycles(const std::string& url, const std::string& where) {
  constexpr int size = 8, keys = 4;
  std::vector<std::unique_ptr<dlock::lock_service>> processes;
  for (int i = 0; i != size; ++i) processes.push_back(std::make_unique<dlock::lock_service>(url));
  std::atomic<int> refused{0};
  const auto rate = per_second(size, 60s, [&](int me) {
    thread_local std::minstd_rand random(static_cast<unsigned>(me) + 1);
    const auto first = random() % (keys - 1), second = first + 1 + random() % (keys - 1 - first);
    try {
      const auto outer =
          processes[static_cast<std::size_t>(me)]->acquire(fmt::format("order:{}", first), {.wait = 60s});
      const auto inner =
          processes[static_cast<std::size_t>(me)]->acquire(fmt::format("order:{}", second), {.wait = 60s});
    } catch (const dlock::lock_deadlock&) {
      ++refused;
    }
  });
  fmt::print("8 processes{}, 2 of 4 keys in one order: {:.0f} acquires, {} false alarms\n", where, 120 * rate,
             refused.load());
  figures::add("nested locks in one order" + where + " that are refused", "times", {static_cast<double>(refused)},
               {.at_most = 0});
}

}  // namespace dlock::bench
