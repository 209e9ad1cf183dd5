// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "dlock/lock_service.hpp"
#include "dlock/stores/memory.hpp"
#include "support/eventually.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;
using namespace std::chrono_literals;
using stores::virtual_clock;
using worker = time_source::worker;

/// A thread that waits on a clock until a time, or until it is told to end; counts how often it came out of its
/// waiting.
class sleeper {
 public:
  sleeper(virtual_clock& clock, instant until, bool works = false) : clock_(clock) {
    if (works) clock_.on_thread_event(worker::hired);
    thread_ = std::thread([this, until, works] {
      if (works) clock_.on_thread_event(worker::begins);
      {
        std::unique_lock lock(mutex_);
        while (!end_ && clock_.now() < until) {
          clock_.wait_until(wake_, lock, until);
          ++woken_;
        }
      }
      over_ = true;
      if (works) clock_.on_thread_event(worker::ends);
    });
  }
  ~sleeper() {
    end();
    thread_.join();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    end_ = true;
    clock_.notify(wake_);
  }
  /// Calls it. It can't run before the result goes.
  [[nodiscard]] std::unique_lock<std::mutex> call() {
    std::unique_lock lock(mutex_);
    clock_.notify(wake_);
    return lock;
  }
  bool over() const { return over_; }
  int woken() const { return woken_; }

 private:
  virtual_clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool end_ = false;
  std::atomic<bool> over_{false};
  std::atomic<int> woken_{0};
  std::thread thread_;
};

}  // namespace

TEST_CASE("virtual clock: moves only when told, and never back", "[clock]") {
  virtual_clock clock;
  const auto begun = clock.now();
  CHECK(clock.now() == begun);
  clock.advance(3s);
  CHECK(clock.now() == begun + 3s);
  CHECK_THROWS_AS(clock.advance(-1us), std::invalid_argument);
  CHECK(clock.now() == begun + 3s);
}

TEST_CASE("virtual clock: who waits wakes when the time has come, not before", "[clock]") {
  virtual_clock clock;
  sleeper early(clock, clock.now() + 1s);
  sleeper late(clock, clock.now() + 2s);
  REQUIRE(clock.at_rest({.callers = 2}));
  clock.advance(1s - 1us);
  REQUIRE(clock.at_rest({.callers = 2}));
  clock.advance(1us);
  CHECK(eventually([&] { return early.over(); }));
  REQUIRE(clock.at_rest({.callers = 1}));
  CHECK(late.woken() == 0);
  clock.advance(1s);
  CHECK(eventually([&] { return late.over(); }));
}

TEST_CASE("virtual clock: a time that has come before the waiting begins is not waited for", "[clock]") {
  virtual_clock clock;
  sleeper now(clock, clock.now());
  CHECK(eventually([&] { return now.over(); }));
}

TEST_CASE("virtual clock: a time that comes while somebody goes to sleep wakes him", "[clock]") {
  for (int round = 0; round < 2'000; ++round) {
    virtual_clock clock;
    sleeper asleep(clock, clock.now() + 1s);
    clock.advance(1s);
    REQUIRE(eventually([&] { return asleep.over(); }));
  }
}

TEST_CASE("virtual clock: not at rest while somebody has been called and did not run", "[clock]") {
  virtual_clock clock;
  sleeper asleep(clock, clock.now() + 1s);
  REQUIRE(clock.at_rest({.callers = 1}));
  {
    const auto kept = asleep.call();
    CHECK_FALSE(clock.at_rest({}, 0ms));
  }
  CHECK(clock.at_rest({.callers = 1}));
  CHECK(asleep.woken() == 1);
}

TEST_CASE("virtual clock: at rest when all who work for a service wait", "[clock]") {
  virtual_clock clock;
  clock.on_thread_event(worker::hired);
  CHECK_FALSE(clock.at_rest({}, 0ms));  // it is about to begin
  CHECK(clock.at_rest({.busy = 1}, 0ms));
  {
    sleeper asleep(clock, clock.now() + 1s, true);
    sleeper caller(clock, clock.now() + 1s);  // does not make up for the one that works
    CHECK(clock.at_rest({.callers = 1, .busy = 1}));
    CHECK_FALSE(clock.at_rest({.callers = 1}, 0ms));
    CHECK_FALSE(clock.at_rest({.callers = 2, .busy = 1}, 0ms));
    clock.on_thread_event(worker::ends);
    CHECK(clock.at_rest({.callers = 1}));
  }
  CHECK(clock.at_rest());  // who has ended does not count
}

TEST_CASE("virtual clock: a wait that the test forgot ends by itself", "[clock]") {
  stores::virtual_clock clock{20ms};
  const auto store = std::make_shared<stores::memory_store>(clock);
  lock_service locks{store, {.time = &clock}};
  lock_service others{store, {.time = &clock}};
  const auto theirs = others.acquire("k");
  CHECK_THROWS_AS(locks.acquire("k", {.wait = 30s}), lock_timeout);
  CHECK(theirs.loss() == loss_reason::none);  // it was renewed while the clock moved
}

TEST_CASE("virtual clock: wait_forever that the test forgot ends by itself, too", "[clock]") {
  stores::virtual_clock clock{20ms};
  const auto store = std::make_shared<stores::memory_store>(clock);
  lock_service locks{store, {.time = &clock}};
  lock_service others{store, {.time = &clock}};
  const auto theirs = others.acquire("k");
  const auto mine = locks.try_acquire("k", {.wait = wait_forever});
  CHECK(theirs.loss() != loss_reason::none);  // it ends by a leap that no lease outlives
}
