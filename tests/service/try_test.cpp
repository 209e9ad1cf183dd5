// SPDX-License-Identifier: BSL-1.0
// Calls that try: one attempt, or as long as the call itself says.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/access.hpp"
#include "dlock/dlock.hpp"
#include "service/engine_fixture.hpp"
#include "support/granted.hpp"
#include "support/running_clock.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct try_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = service();
  std::unique_ptr<lock_service> rival = foreign();

  try_fixture() { set_default_service(*locks); }
  bool queued(std::size_t count) {
    const inside home(detail::access::core_of(*locks));
    return eventually([&] { return home.waiting() == count; });
  }
};

}  // namespace

TEST_CASE_METHOD(try_fixture, "try: with a wait each waits so long, and then says that the key is busy", "[try]") {
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  const lock_options patient{.wait = 100ms};
  const auto macro = [&] {
    DISTRIBUTED_TRY_LOCKED_AS(held, "k", {.wait = 100ms}) return true;
    return false;
  };
  const std::vector<std::pair<const char*, std::function<bool()>>> calls{
      {"try_acquire", [&] { return granted(locks->try_acquire("k", patient)); }},
      {"try_acquire_all",
       [&] {
         return granted(locks->try_acquire_all({"j", "k"}, patient));
       }},
      {"try_with_lock", [&] { return locks->try_with_lock("k", patient, [] {}); }},
      {"try_with_locks",
       [&] {
         return locks->try_with_locks({"j", "k"}, patient, [] {});
       }},
      {"locked_or_skip",
       [&] {
         return locks->locked_or_skip(
             "k", [] {}, patient)();
       }},
      {"DISTRIBUTED_TRY_LOCKED_AS", macro},
      {"DISTRIBUTED_TRY_LOCKED", [&] {
         DISTRIBUTED_TRY_LOCKED("k", {.wait = 100ms}) return true;
         return false;
       }}};
  for (const auto& [name, call] : calls) {
    INFO(name);
    const auto busy = locks->count(event::kind::busy);
    const auto begun = clock.now();
    CHECK_FALSE(while_time_passes(call));
    CHECK(clock.now() - begun >= 100ms);
    CHECK(locks->count(event::kind::busy) == busy + 1);
  }
  CHECK(is_free("j"));
}

TEST_CASE_METHOD(try_fixture, "try: gets the key that becomes free within the wait", "[try]") {
  auto mine = locks->acquire("k");
  std::uint64_t fence = 0;
  std::thread waiter([&] { fence = locks->try_acquire("k", {.wait = 1h}).fencing_token(); });
  REQUIRE(queued(1));
  mine.release();
  waiter.join();  // time stands still: only the release can have ended it
  CHECK(fence == 2);
}

TEST_CASE_METHOD(try_fixture, "try: without a wait of its own it is one attempt, whatever the defaults say", "[try]") {
  auto settings = options();
  settings.defaults.wait = 1h;
  const auto patient = service(settings);
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  // Time stands still: whoever waited would wait for ever.
  CHECK_FALSE(patient->try_acquire("k"));
  CHECK_FALSE(patient->try_acquire("k", {.ttl = 5s}));
  CHECK_FALSE(patient->try_acquire("k", {.wait = 0ms}));
  CHECK_FALSE(patient->try_acquire_all({"j", "k"}));
  CHECK_FALSE(patient->try_with_lock("k", [] {}));
  CHECK_FALSE(patient->locked_or_skip("k", [] {})());
}

TEST_CASE_METHOD(try_fixture, "try: with a wait nothing but busy is an answer", "[try]") {
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  std::stop_source stop;
  stop.request_stop();
  CHECK(thrown([&] { return locks->try_acquire("k", {.wait = 1s, .cancel = stop.get_token()}); }) == errc::cancelled);
  CHECK_THROWS_AS(locks->try_acquire("k", {.wait = -1ms}), std::invalid_argument);
  locks->close(0ms);
  CHECK(thrown([&] { return locks->try_acquire("k", {.wait = 1s}); }) == errc::closed);
  CHECK(thrown([&] { return locks->try_acquire_all({"j", "k"}, {.wait = 1s}); }) == errc::closed);
}

TEST_CASE_METHOD(engine_fixture, "try: a key that this process leaves to other processes is free for one attempt",
                 "[try][fair]") {
  running_clock running{clock};
  const auto mine = service([&](auto& settings) { settings.time = &running; });
  const auto hold = [&] {
    const auto held = mine->acquire("k");
    clock.advance(100ms);
  };
  elsewhere(hold);
  std::atomic<bool> granted{false};
  std::thread waiting([&] {
    const auto held = mine->acquire("k", {.wait = 1h});
    granted = true;
  });
  CHECK(clock.at_rest({.callers = 1}));
  CHECK_FALSE(granted);
  {
    const auto held = mine->try_acquire("k");
    CHECK(static_cast<bool>(held));
    CHECK(clock.at_rest({.callers = 1}));
    CHECK_FALSE(granted);
    CHECK(at_rest_after(20ms, {.callers = 1}));
    CHECK_FALSE(granted);  // it stands in the queue again
  }
  waiting.join();
  CHECK(granted);
}

TEST_CASE_METHOD(try_fixture, "wait_forever: nobody sees its end", "[try][waiting]") {
  const auto mine = locks->acquire("k", {.ttl = 24h * 30, .renewal = renewal::none});
  std::uint64_t fence = 0;
  std::thread waiter([&] { fence = locks->acquire("k", {.wait = wait_forever}).fencing_token(); });
  REQUIRE(queued(1));
  clock.advance(24h * 366 * 50);  // the lease is over, the wait is not
  while_time_passes([&] { waiter.join(); });
  CHECK(fence == 2);
}
