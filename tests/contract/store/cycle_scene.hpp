// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Processes that wait for each other. Each service has a store of its own, as a process has.

#include "contract/store_fixture.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "support/calls.hpp"
#include "support/recording_observer.hpp"
#include "support/test.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

struct cycle_scene {
  explicit cycle_scene(store_fixture& of) : at(of) {}

  std::unique_ptr<lock_service> process(const std::string& label) {
    return std::make_unique<lock_service>(
        at.url(), service_options{.label = label, .close_limit = 0ms, .cleanup_interval = 0ms, .observer = seen});
  }
  /// So many locks are held by threads that wait for others, as their processes have said.
  bool nested(std::size_t count) {
    return eventually([&] { return at.held_by_waiters() == count; });
  }
  /// What a wait for `key` ends with; `several`: for another key together with it.
  static std::string end_of_wait(lock_service& locks, const lock_key& key, std::chrono::milliseconds wait = 30s,
                                 bool several = false) {
    try {
      if (several) {
        const auto got = locks.acquire_all({key, "with " + key.str()}, {.wait = wait});
      } else {
        const auto got = locks.acquire(key, {.wait = wait});
      }
      return "granted";
    } catch (const lock_deadlock& cycle) {
      return cycle.what();
    } catch (const lock_timeout&) {
      return "timeout";
    }
  }
  /// The same, while the thread holds `first`.
  static std::future<std::string> waits(lock_service& locks, const lock_key& first, const lock_key& key,
                                        std::promise<void>& holds, std::chrono::milliseconds wait = 60s,
                                        bool several = false) {
    return std::async(std::launch::async, [&locks, &holds, first, key, wait, several] {
      const auto held = locks.acquire(first);
      holds.set_value();
      return end_of_wait(locks, key, wait, several);
    });
  }
  /// Each process holds one of these, and waits for the next: the last one closes the cycle, and is refused, because
  /// it waits for less than the others.
  void break_cycle(const std::vector<lock_key>& keys, bool several = false) {
    const std::size_t size = keys.size();
    std::vector<std::unique_ptr<lock_service>> processes;
    std::vector<std::promise<void>> holds(size);
    std::vector<std::future<std::string>> ends;
    for (std::size_t i = 0; i != size; ++i) processes.push_back(process("p" + std::to_string(i)));
    // The last one holds its key, so that each of the others waits for the next.
    std::promise<void> last_holds, last_waits;
    auto last = std::async(std::launch::async, [&] {
      const auto held = processes.back()->acquire(keys.back());
      last_holds.set_value();
      last_waits.get_future().wait();
      return end_of_wait(*processes.back(), keys[0], 30s, several);
    });
    last_holds.get_future().wait();
    for (std::size_t i = size - 1; i-- > 0;) {
      ends.push_back(waits(*processes[i], keys[i], keys[i + 1], holds[i], 60s, several));
      holds[i].get_future().wait();
      REQUIRE(nested(size - 1 - i));
    }
    last_waits.set_value();
    const auto refused = last.get();
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(refused, ContainsSubstring("dlock: key '" + keys[0].str() + "': the wait would never end: "));
    for (std::size_t i = 0; i + 1 != size; ++i) {
      CHECK_THAT(refused,
                 ContainsSubstring(" p" + std::to_string(i) + " holds " + (i == 0 ? "it" : "'" + keys[i].str() + "'") +
                                   " and waits for '" + keys[i + 1].str() + "'"));
    }
    CHECK_THAT(refused, ContainsSubstring("; the calling thread holds '" + keys.back().str() + "'"));
    for (auto& each : ends) CHECK(each.get() == "granted");
    CHECK(seen->count(event::kind::deadlock) == 1);
  }

  store_fixture& at;
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
};

}  // namespace dlock::test
