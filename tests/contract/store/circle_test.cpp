// SPDX-License-Identifier: BSL-1.0

/// Processes that wait for each other. Each service has a store of its own, as a process has. Of stores with
/// capabilities::wakes_one that find such circles.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/store_fixture.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/recording_observer.hpp"

namespace dlock::test {

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

struct circle_fixture {
  std::unique_ptr<store_fixture> fixture = make_store_fixture();
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();

  std::unique_ptr<lock_service> process(const std::string& label) {
    return std::make_unique<lock_service>(
        fixture->url(), service_options{.label = label, .close_limit = 0ms, .cleanup_interval = 0ms, .observer = seen});
  }
  /// So many locks are held by threads that wait for others, as their processes have said.
  bool nested(std::size_t count) {
    return eventually([&] { return fixture->held_by_waiters() == count; });
  }
  /// What a wait for `key` ends with; `several`: for another key together with it.
  static std::string end_of_wait(lock_service& locks, const std::string& key, std::chrono::milliseconds wait = 60s,
                                 bool several = false) {
    try {
      if (several) {
        const auto got = locks.acquire_all({key, "with " + key}, {.wait = wait});
      } else {
        const auto got = locks.acquire(key, {.wait = wait});
      }
      return "granted";
    } catch (const lock_deadlock& circle) {
      return circle.what();
    } catch (const lock_timeout&) {
      return "timeout";
    }
  }
  /// The same, while the thread holds `first`.
  static std::future<std::string> waits(lock_service& locks, const std::string& first, const std::string& key,
                                        std::promise<void>& holds, std::chrono::milliseconds wait = 60s,
                                        bool several = false) {
    return std::async(std::launch::async, [&locks, &holds, first, key, wait, several] {
      const auto held = locks.acquire(first);
      holds.set_value();
      return end_of_wait(locks, key, wait, several);
    });
  }
};

}  // namespace

TEST_CASE_METHOD(circle_fixture, "circle: of several processes, broken by the youngest wait, and named as a whole",
                 "[contract][circle]") {
  const std::size_t size = GENERATE(2, 3, 8);
  const bool several = GENERATE(false, true);
  CAPTURE(size, several);
  std::vector<std::unique_ptr<lock_service>> processes;
  std::vector<std::promise<void>> holds(size);
  std::vector<std::future<std::string>> ends;
  const auto key = [&](std::size_t i) { return "k" + std::to_string(i % size); };
  for (std::size_t i = 0; i != size; ++i) processes.push_back(process("p" + std::to_string(i)));
  // The last one holds its key, so that each of the others waits for the next.
  std::promise<void> last_holds, last_waits;
  auto last = std::async(std::launch::async, [&] {
    const auto held = processes.back()->acquire(key(size - 1));
    last_holds.set_value();
    last_waits.get_future().wait();
    return end_of_wait(*processes.back(), key(0), 60s, several);
  });
  last_holds.get_future().wait();
  for (std::size_t i = size - 1; i-- > 0;) {
    ends.push_back(waits(*processes[i], key(i), key(i + 1), holds[i], 60s, several));
    holds[i].get_future().wait();
    REQUIRE(nested(size - 1 - i));
  }
  last_waits.set_value();
  const auto refused = last.get();
  CHECK_THAT(refused, ContainsSubstring("dlock: key 'k0': the wait would never end: "));
  for (std::size_t i = 0; i + 1 != size; ++i) {
    CHECK_THAT(refused, ContainsSubstring(" p" + std::to_string(i) + " holds " + (i == 0 ? "it" : "'" + key(i) + "'") +
                                          " and waits for '" + key(i + 1) + "'"));
  }
  CHECK_THAT(refused, ContainsSubstring("; the calling thread holds '" + key(size - 1) + "'"));
  for (auto& each : ends) CHECK(each.get() == "granted");
  CHECK(seen->count(event::kind::deadlock) == 1);
}

TEST_CASE_METHOD(circle_fixture, "circle: the second thread that waits for a key of its process closes it",
                 "[contract][circle]") {
  const auto one = process("one"), other = process("other");
  // The first waiter of the process holds nothing, and stands in front.
  std::promise<void> other_holds, other_waits;
  auto theirs = std::async(std::launch::async, [&] {
    const auto held = other->acquire("b");
    other_holds.set_value();
    other_waits.get_future().wait();
    const auto got = other->acquire("a", {.wait = 60s});
  });
  other_holds.get_future().wait();
  auto front = std::async(std::launch::async, [&] { return granted(one->acquire("b", {.wait = 60s})); });
  REQUIRE(eventually([&] { return one->waiters("b").count == 1; }));
  std::promise<void> holds, goes_on;
  auto mine = std::async(std::launch::async, [&]() -> std::string {
    const auto held = one->acquire("a");
    holds.set_value();
    goes_on.get_future().wait();
    try {
      const auto got = one->acquire("b", {.wait = 60s});
    } catch (const lock_deadlock& circle) {
      return circle.what();
    }
    return "granted";
  });
  holds.get_future().wait();
  other_waits.set_value();
  REQUIRE(nested(1));
  goes_on.set_value();
  CHECK_THAT(mine.get(), ContainsSubstring("dlock: key 'b': the wait would never end: "));
  theirs.get();
  CHECK(front.get());
}

TEST_CASE_METHOD(circle_fixture, "circle: a thread that waits for a lock of its own process is part of it",
                 "[contract][circle]") {
  const auto one = process("one"), other = process("other");
  std::promise<void> other_holds, first_holds, second_holds, other_waits;
  auto theirs = std::async(std::launch::async, [&]() -> std::string {
    const auto held = other->acquire("c");
    other_holds.set_value();
    other_waits.get_future().wait();
    try {
      const auto got = other->acquire("a", {.wait = 60s});
      return "granted";
    } catch (const lock_deadlock& circle) {
      return circle.what();
    }
  });
  other_holds.get_future().wait();
  auto first = waits(*one, "b", "c", first_holds);
  first_holds.get_future().wait();
  REQUIRE(nested(1));
  // It waits in the process: the server knows of nobody who waits for `b`.
  auto second = waits(*one, "a", "b", second_holds);
  second_holds.get_future().wait();
  REQUIRE(nested(2));
  other_waits.set_value();
  CHECK_THAT(theirs.get(), ContainsSubstring("one holds it and waits for 'c'; the calling thread holds 'c'"));
  CHECK(first.get() == "granted");
  CHECK(second.get() == "granted");
}

TEST_CASE_METHOD(circle_fixture, "circle: who has given up its wait and works on with what it holds is in none",
                 "[contract][circle]") {
  const auto one = process("one"), other = process("other");
  std::promise<void> over, works_on;
  // Another thread of its process goes on waiting, so its wait stays on record.
  std::promise<void> theirs_held;
  auto theirs = std::async(std::launch::async, [&] {
    const auto held = other->acquire("b");
    theirs_held.set_value();
    over.get_future().wait();
    auto got = other->try_acquire("a", {.wait = 1s});
    const bool granted = static_cast<bool>(got);
    works_on.set_value();
    return granted;
  });
  theirs_held.get_future().wait();
  auto front = std::async(std::launch::async, [&] { return granted(one->acquire("b", {.wait = 60s})); });
  auto mine = std::async(std::launch::async, [&] {
    const auto held = one->acquire("a");
    const bool timed_out = !one->try_acquire("b", {.wait = 500ms});
    over.set_value();
    works_on.get_future().wait();  // a slow holder
    return timed_out;
  });
  CHECK_FALSE(theirs.get());
  CHECK(mine.get());
  CHECK(front.get());
  CHECK(seen->count(event::kind::deadlock) == 0);
}

TEST_CASE_METHOD(circle_fixture, "circle: a wait that holds nothing is no part of one", "[contract][circle]") {
  const auto one = process("one"), other = process("other");
  auto held = other->acquire("b");
  auto waiter = std::async(std::launch::async, [&] { return granted(one->acquire("b", {.wait = 60s})); });
  REQUIRE(eventually([&] { return one->waiters("b").count == 1; }));
  CHECK(nested(0));
  held.release();
  CHECK(waiter.get());
}

}  // namespace dlock::test
