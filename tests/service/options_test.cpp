// SPDX-License-Identifier: BSL-1.0
// Each option has a test that fails when its meaning is flipped [T10]; those not here are in the files of what they
// are about: max_waiters, cancel: waiting_test; release_limit: release_test; close_limit: close_test; retry.limit:
// acquire_test; reentry: reentry_test; renewal, min_hold, max_hold, margin: hold_test; observer: observer_test; the
// pauses of retry: backoff_test.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dlock/locked.hpp"
#include "service/engine_fixture.hpp"
#include "support/granted.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(engine_fixture, "options: ttl is what the server keeps", "[options][T10]") {
  const auto locks = service();
  const auto kept = locks->acquire("kept", {.ttl = 59s});
  const auto own = locks->acquire("own", {.ttl = 59s, .renewal = renewal::none});
  CHECK(locks->holder("kept")->remaining == 30s);
  CHECK(locks->holder("kept")->kind == lease_kind::session);
  CHECK(locks->holder("own")->remaining == 59s);
  CHECK(locks->holder("own")->kind == lease_kind::expiring);
}

TEST_CASE_METHOD(engine_fixture, "options: label names the holder to operators", "[options][T10]") {
  const auto locks = service([](auto& settings) { settings.label = "billing"; });
  const auto held = locks->acquire("k");
  const auto seen_by_all = foreign()->holder("k");
  REQUIRE(seen_by_all);
  CHECK(seen_by_all->label == "billing");
  CHECK(seen_by_all->pid == ::getpid());
  CHECK_FALSE(seen_by_all->host.empty());
  CHECK(seen_by_all->key == "k");
  CHECK(seen_by_all->fence == held.fencing_token());
  const auto usual = service();
  const auto other = usual->acquire("other");
  CHECK_FALSE(usual->holder("other")->label.empty());
  CHECK(usual->holder("other")->label != "billing");
}

TEST_CASE_METHOD(engine_fixture, "options: connections bounds the pool", "[options][T10]") {
  for (const std::size_t count : {1U, 3U}) {
    const auto locks = service([&](auto& settings) { settings.connections = count; });
    std::vector<std::shared_ptr<gate>> gates;
    static_cast<void>(locks->try_acquire("warm"));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) gates.push_back(store->hold(verb::insert));
    for (std::size_t i = 0; i < 4; ++i) {
      threads.emplace_back(
          [&, i] { static_cast<void>(locks->try_acquire(std::to_string(count) + "." + std::to_string(i))); });
    }
    // Of several, one is left to releases.
    for (std::size_t i = 0; i < (count == 1 ? 1 : count - 1); ++i) CHECK(gates[i]->reached());
    CHECK(store->connections() <= count + 1);
    for (auto& each : gates) each->open();
    for (auto& each : threads) each.join();
    store->forget_scripts();
  }
}

TEST_CASE_METHOD(engine_fixture, "options: defaults are those of calls that give none", "[options][T10]") {
  const auto locks = service([](auto& settings) { settings.defaults = {.ttl = 10s, .wait = 0ms}; });
  CHECK(locks->defaults().ttl == 10s);
  const auto held = locks->acquire("k");
  CHECK(locks->holder("k")->remaining == 10s);
  CHECK(elsewhere([&] { return thrown([&] { return locks->acquire("k"); }); }) == errc::timed_out);
}

TEST_CASE_METHOD(engine_fixture, "options: a call sets what it names, and inherits each other field",
                 "[options][T10]") {
  auto settings = options();
  settings.defaults = {.ttl = 20s,
                       .wait = 0ms,
                       .renewal = renewal::manual,
                       .reentry = reentry::refuse,
                       .retry = {.pause = 7ms, .limit = 3},
                       .max_hold = 40s};
  const auto locks = service(settings);
  auto held = locks->acquire("k", {.wait = 50ms});  // the wait, and nothing else
  CHECK(locks->holder("k")->remaining == 20s);
  CHECK(locks->holder("k")->kind == lease_kind::expiring);
  CHECK_NOTHROW(held.renew());
  CHECK(thrown([&] { return locks->acquire("k", {.ttl = 5s}); }) == errc::already_held);
  held.renew(60s);
  CHECK(held.remaining() == 40s);  // max_hold
  const auto kept = locks->acquire("kept", {.renewal = renewal::automatic, .max_hold = 0ms});
  CHECK(locks->holder("kept")->kind == lease_kind::session);
  CHECK(locks->holder("kept")->remaining == 15s);  // the class of 20 s
  CHECK(kept.remaining() < 15s);
  // Time stands still: who does not inherit wait = 0 waits for ever.
  CHECK(elsewhere([&] { return thrown([&] { return locks->acquire("k", {.ttl = 5s}); }); }) == errc::timed_out);
}

TEST_CASE_METHOD(engine_fixture, "options: defaults() leaves nothing open", "[options]") {
  const auto locks = service([](auto& settings) { settings.defaults = {.ttl = 10s, .retry = {.pause = 7ms}}; });
  const auto& all = locks->defaults();
  CHECK(all.ttl == 10s);
  CHECK(all.wait == 10s);
  CHECK(all.renewal == renewal::automatic);
  CHECK(all.reentry == reentry::allow);
  CHECK(all.retry.pause == 7ms);
  CHECK(all.retry.multiplier == 2.0);
  CHECK(all.retry.max_pause == 250ms);
  CHECK(all.retry.jitter == 0.5);
  CHECK(all.retry.limit.has_value());
  CHECK(all.min_hold == 0ms);
  CHECK(all.max_hold == 0ms);
  CHECK(all.fairness == fairness::none);
  CHECK(all.cancel.has_value());
}

TEST_CASE_METHOD(engine_fixture, "options: the order of processes is asked for by the call, or by the service",
                 "[options]") {
  store->can().keeps_order = true;
  auto settings = options();
  const bool by_default = GENERATE(true, false);
  if (by_default) settings.defaults.fairness = fairness::fifo;
  const auto locks = service(settings);
  const lock_options asks = by_default ? lock_options{} : lock_options{.fairness = fairness::fifo};
  CHECK(locks->acquire("k", asks));
  CHECK(store->in_order() > 0);
  const auto before = store->in_order();
  CHECK(locks->acquire("k", {.fairness = fairness::none}));
  CHECK(store->in_order() == before);
}

TEST_CASE_METHOD(engine_fixture, "options: what is inherited is validated with what is given", "[options]") {
  auto settings = options();
  settings.defaults = {.ttl = 100ms, .renewal = renewal::none, .retry = {.pause = 200ms}};
  const auto locks = service(settings);
  CHECK_THROWS_AS(locks->acquire("k", {.renewal = renewal::automatic}), std::invalid_argument);  // ttl = 100 ms
  CHECK_THROWS_AS(locks->acquire("k", {.retry = {.max_pause = 100ms}}), std::invalid_argument);
  CHECK_THROWS_AS(locks->locked("k", [] {}, {.renewal = renewal::automatic}), std::invalid_argument);
  CHECK(locks->acquire("k", {.ttl = 10s, .renewal = renewal::automatic}));
  settings.defaults = {.ttl = 100ms};
  CHECK_THROWS_AS(service(settings), std::invalid_argument);
}

TEST_CASE_METHOD(engine_fixture, "options: cleanup_interval and key_retention forget what is long unused, but no fence",
                 "[options][T10][T58]") {
  auto settings = options();
  settings.cleanup_interval = 1min;
  settings.key_retention = 10min;
  const auto locks = service(settings);
  REQUIRE(clock.at_rest());
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) last = locks->acquire("k").fencing_token();
  // Whether the key has a row: only a key without one is inserted.
  const auto is_known = [&] {
    const auto inserted = store->count(verb::insert);
    const auto fence = service()->acquire("k").fencing_token();
    CHECK(fence > last);  // whatever became of the row
    last = fence;
    return store->count(verb::insert) == inserted;
  };
  const auto pass = [&](std::chrono::milliseconds time) {
    for (auto left = time; left > 0ms; left -= 10s) REQUIRE(at_rest_after(10s));
  };
  pass(9min);
  CHECK(is_known());
  pass(10min - 10s);  // since then
  CHECK(is_known());
  pass(11min + 10s);  // key_retention, and at most cleanup_interval more
  CHECK(locks->count(event::kind::cleanup) >= 1);
  CHECK_FALSE(is_known());
  CHECK(locks->acquire("k").fencing_token() > last);
}

TEST_CASE_METHOD(engine_fixture, "options: without cleanup_interval, or without key_retention, no key is forgotten",
                 "[options][T10]") {
  auto settings = options();
  SECTION("cleanup_interval = 0") {
    settings.cleanup_interval = 0ms;
    settings.key_retention = 10min;
  }
  SECTION("key_retention = 0") {
    settings.cleanup_interval = 1min;
    settings.key_retention = 0ms;
  }
  const auto locks = service(settings);
  locks->acquire("k").release();
  for (int i = 0; i < 50; ++i) REQUIRE(at_rest_after(1min));
  const auto inserted = store->count(verb::insert);
  CHECK(locks->acquire("k").fencing_token() == 2);
  CHECK(store->count(verb::insert) == inserted);
}

TEST_CASE_METHOD(engine_fixture, "options: wait bounds the whole call", "[options][T10]") {
  const auto rival = foreign();
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  const auto locks = service();
  for (const auto wait : {0ms, 50ms, 200ms}) {
    const auto begun = clock.now();
    const auto end = thrown_as_time_passes([&] { return locks->acquire("k", {.wait = wait}); });
    CHECK(end == errc::timed_out);
    CHECK(clock.now() - begun >= wait);
  }
}

TEST_CASE_METHOD(engine_fixture, "options: a longer pause asks the store less often", "[options][T10][T36]") {
  const auto rival = foreign();
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  const auto asked = [&](retry_policy retry) {
    const auto locks = service();
    thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 20s, .retry = retry}); });
    return locks->statements();
  };
  const auto often = asked({.pause = 10ms, .multiplier = 1.0, .max_pause = 10ms, .jitter = 0.0});
  const auto seldom = asked({.pause = 250ms, .multiplier = 1.0, .max_pause = 250ms, .jitter = 0.0});
  CHECK(often > 2 * seldom);
  CHECK(seldom <= 2 + 80 + 5);
}

TEST_CASE_METHOD(engine_fixture, "options: start_limit waits for a database that starts later", "[options][T10]") {
  const store_error nobody(errc::store_unreachable, "nobody there", 2003, "", true);
  store->not_ready(4, nobody);
  auto settings = options();
  settings.start_limit = 10s;
  const auto begun = clock.now();
  const auto locks = while_time_passes([&] { return service(settings); });
  CHECK(store->prepared() == 5);
  CHECK(clock.now() - begun >= 50ms + 100ms + 200ms + 400ms);
  CHECK(locks->try_acquire("k"));
}

TEST_CASE_METHOD(engine_fixture, "options: a service gives up at start_limit, at once without it", "[options][T10]") {
  const store_error nobody(errc::store_unreachable, "nobody there", 2003, "", true);
  store->not_ready(1000, nobody);
  auto settings = options();
  CHECK(thrown([&] { return service(settings); }) == errc::store_unreachable);
  CHECK(store->prepared() == 1);
  settings.start_limit = 3s;
  const auto begun = clock.now();
  CHECK(thrown_as_time_passes([&] { return service(settings); }) == errc::store_unreachable);
  CHECK(clock.now() - begun >= 3s);
  CHECK(store->prepared() > 5);
}

TEST_CASE_METHOD(engine_fixture, "options: a lazy service is made while the database is down", "[options][T10]") {
  auto settings = options();
  settings.lazy = true;
  store->cut();
  const auto locks = service(settings);
  CHECK(store->tried() == 0);
  store->not_ready(1, store_error(errc::store_unreachable, "down", 2002, "", true));
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::store_unreachable);
  CHECK(thrown([&] { return locks->holder("k"); }) == errc::store_unreachable);
  store->cut(false);
  const auto prepared = store->prepared();
  CHECK(locks->try_acquire("k"));
  CHECK(locks->try_acquire("other"));
  CHECK(store->prepared() <= prepared + 1);  // once is enough
}

TEST_CASE_METHOD(engine_fixture, "options: a waiter of a lazy service gets the lock when the database is there",
                 "[options][T10]") {
  auto settings = options();
  settings.lazy = true;
  store->not_ready(3, store_error(errc::store_unreachable, "down", 2002, "", true));
  const auto locks = service(settings);
  CHECK(while_time_passes([&] { return granted(locks->acquire("k", {.wait = 1min})); }));
  CHECK(store->prepared() == 4);
}

TEST_CASE_METHOD(engine_fixture, "options: what the schema of a lazy service lacks is told by each call",
                 "[options][T10]") {
  const auto locks = service([](auto& settings) { settings.lazy = true; });
  const store_error lacking(errc::store_failed, "no such table", 1146, "42S02", false);
  store->not_ready(1000, lacking);
  for (int i = 0; i < 2; ++i) {
    const auto failure = caught<store_error>([&] { return locks->acquire("k"); });
    CHECK(failure.code() == errc::store_failed);
    CHECK(failure.native_code() == 1146);
    CHECK(failure.sqlstate() == "42S02");
  }
  store->not_ready(0, lacking);
  CHECK(locks->acquire("k"));
}

TEST_CASE_METHOD(engine_fixture, "options: start_limit does not wait for what will not pass", "[options][T10]") {
  store->not_ready(1, store_error(errc::store_unreachable, "wrong password", 1045, "28000", false));
  CHECK(thrown([&] { return service([](auto& settings) { settings.start_limit = 10s; }); }) == errc::store_failed);
  CHECK(store->prepared() == 1);
}

TEST_CASE_METHOD(engine_fixture, "options: bad ones are refused before the store is looked at", "[options]") {
  CHECK_THROWS_AS(service([](auto& settings) { settings.connections = 0; }), std::invalid_argument);
  CHECK(store->prepared() == 0);
}
