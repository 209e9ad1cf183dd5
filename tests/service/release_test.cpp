// SPDX-License-Identifier: BSL-1.0

#include "service/engine_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(one_service, "release: frees the key at once, by one statement") {
  auto held = locks->acquire("k");
  held.release();
  CHECK_FALSE(held);
  CHECK(store->count(verb::release) == 1);
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::released) == 1);
}

TEST_CASE_METHOD(one_service, "release: one whose lease ran out does not touch the successor's", "[T01]") {
  const auto rival = foreign();
  auto late = locks->acquire("k");
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(40s);
  const auto theirs = rival->acquire("k");
  CHECK(caught<lock_lost>([&] { late.release(); }).reason() == loss_reason::unreachable);
  CHECK(fence_of("k") == theirs.fencing_token());
  CHECK_NOTHROW(theirs.ensure_held());
  CHECK(seen->count(event::kind::released) == 0);
}

TEST_CASE_METHOD(one_service, "release: a row that is not ours any more is an event and an error", "[T06]") {
  auto held = locks->acquire("k");
  steal("k");
  CHECK_NOTHROW(held.ensure_held());
  CHECK(caught<lock_lost>([&] { held.release(); }).reason() == loss_reason::taken_over);
  CHECK(seen->count(event::kind::split_brain) == 1);
  CHECK(locks->count(event::kind::split_brain) == 1);
}

TEST_CASE_METHOD(engine_fixture, "release: one that takes longer than the lease lives finds it expired, and no split",
                 "[T06]") {
  const auto renew = GENERATE(renewal::automatic, renewal::none);
  const auto locks = service();
  const auto rival = foreign();
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renew});
  lease theirs;
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  store->next(verb::release, {.ahead = [&] {
                clock.advance(11s);
                theirs = rival->acquire("k", {.wait = 0ms});
              }});
  const auto reason = renew == renewal::automatic ? loss_reason::unreachable : loss_reason::expired;
  CHECK(caught<lock_lost>([&] { held.release(); }).reason() == reason);
  CHECK(clock.at_rest());
  CHECK(locks->count(event::kind::split_brain) == 0);
  CHECK(locks->count(event::kind::released) == 0);
  REQUIRE(seen->wait_for(event::kind::lost));
  CHECK(seen->count(event::kind::lost) == 1);
  for (const auto& each : seen->records()) CHECK((each.what != event::kind::lost || each.reason == reason));
  CHECK_NOTHROW(theirs.ensure_held());
}

TEST_CASE_METHOD(engine_fixture, "release: deadlock and row lock are retried", "[T07]") {
  const auto locks = service([](auto& settings) { settings.release_limit = 60s; });
  auto held = locks->acquire("k");
  store->next(verb::release, {.what = fate::fail, .why = deadlock, .times = 2});
  store->next(verb::release, {.what = fate::fail, .why = row_lock, .times = 2});
  while_time_passes([&] { held.release(); });
  CHECK(store->count(verb::release) == 5);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "release: what can't succeed soon is left to the background and said", "[T06][T07]") {
  auto held = locks->acquire("k");
  store->next(verb::release, {.what = fate::fail, .why = denied, .times = 2});
  const auto failure = caught<store_error>([&] { held.release(); });
  CHECK(failure.code() == errc::outcome_unknown);
  CHECK(failure.native_code() == 1142);
  CHECK(seen->count(event::kind::release_failed) == 1);
  CHECK(clock.at_rest());
  CHECK(store->count(verb::release) == 2);
  CHECK_FALSE(is_free("k"));
  CHECK(at_rest_after(500ms));
  CHECK(store->count(verb::release) == 3);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(engine_fixture, "release: what is left to the background does not wait for a clean-up that hangs",
                 "[T33]") {
  const auto locks = service([](auto& settings) { settings.cleanup_interval = 1min; });
  REQUIRE(clock.at_rest());  // a service begins to clean up a minute after it began
  const auto held = locks->acquire("other");
  for (int i = 0; i < 5; ++i) REQUIRE(live_on(held, 10s, 30s));
  const auto sweep = store->hold(other_verb::cleanup);
  clock.advance(10s);
  REQUIRE(sweep->reached());
  auto mine = locks->acquire("k");
  store->next(verb::release, {.what = fate::fail, .why = denied});
  CHECK(thrown([&] { mine.release(); }) == errc::outcome_unknown);
  CHECK(clock.at_rest({.busy = 1}));
  CHECK(is_free("k"));  // no time has passed
  sweep->open();
}

TEST_CASE_METHOD(engine_fixture, "release: without an answer it is repeated, and done is done") {
  const auto locks = service([](auto& settings) { settings.release_limit = 60s; });
  for (const auto fate : {fate::drop, fate::vanish}) {
    auto held = locks->acquire("k");
    const auto before = store->count(verb::release);
    store->next(verb::release, {.what = fate});
    while_time_passes([&] { held.release(); });
    CHECK(store->count(verb::release) == before + 2);
    CHECK(is_free("k"));
  }
  CHECK(seen->count(event::kind::split_brain) == 0);
}

TEST_CASE_METHOD(engine_fixture, "release: one that runs late does not free a successor's grant", "[T08]") {
  const auto locks = service([](auto& settings) { settings.release_limit = 60s; });
  auto held = locks->acquire("k");
  store->next(verb::release, {.what = fate::ghost});
  while_time_passes([&] { held.release(); });
  auto mine = locks->acquire("k");
  CHECK(store->run_ghosts() == 1);
  CHECK(fence_of("k") == mine.fencing_token());
  mine.release();
  const auto theirs = held_elsewhere("k");
  CHECK(fence_of("k") == theirs.fencing_token());
}

TEST_CASE_METHOD(one_service, "release: a second one is misuse and harms nobody", "[T08]") {
  auto held = locks->acquire("k");
  held.release();
  const auto theirs = held_elsewhere("k");
  CHECK_THROWS_AS(held.release(), std::logic_error);
  CHECK(fence_of("k") == theirs.fencing_token());
}

TEST_CASE_METHOD(one_service, "release: on another thread it is as good", "[T09]") {
  auto held = locks->acquire("k");
  std::thread([moved = std::move(held)]() mutable { moved.release(); }).join();
  CHECK(is_free("k"));
  const auto again = locks->acquire("k");
  CHECK_FALSE(again.reentered());
}

TEST_CASE_METHOD(one_service, "release: a moved lease is released once") {
  {
    auto first = locks->acquire("a");
    auto second = std::move(first);
    CHECK_FALSE(first);
    first = locks->acquire("b");
    second = std::move(first);  // frees a
    CHECK(is_free("a"));
    CHECK_FALSE(is_free("b"));
    auto& self = second;
    second = std::move(self);
    CHECK(second);
  }
  CHECK(store->count(verb::release) == 2);
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(engine_fixture, "release: without a store the destructor returns at once, the key is freed later",
                 "[T89]") {
  const auto locks = service([](auto& settings) { settings.release_limit = 60s; });
  auto held = locks->acquire("k");
  store->cut();
  const auto begun = clock.now();
  let_go(std::move(held));
  CHECK(clock.now() - begun < 60s);  // release_limit
  CHECK(seen->count(event::kind::release_failed) == 1);
  CHECK_FALSE(is_free("k"));
  REQUIRE(clock.at_rest());  // the background has tried it
  store->cut(false);
  clock.advance(500ms);
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(engine_fixture, "release: a hung statement holds the destructor no longer than release_limit",
                 "[T10][T89]") {
  const auto locks = service([](auto& settings) { settings.release_limit = 300ms; });
  auto held = locks->acquire("k");
  const auto at = store->hold(verb::release);
  const concurrent_call releasing([&] { const auto mine = std::move(held); });
  REQUIRE(at->reached());
  clock.advance(300ms - 1us);
  CHECK_FALSE(releasing.over());
  clock.advance(1us);
  CHECK_FALSE(releasing.end());
  CHECK(seen->count(event::kind::release_failed) == 1);
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(engine_fixture,
                 "release: one that waits for a connection and then hangs takes no longer than release_limit",
                 "[T10]") {
  const auto locks = service([](auto& settings) { settings.connections = 1; });
  auto held = locks->acquire("k");
  locks->acquire("x").release();
  const auto busy = store->hold(verb::take);
  lease theirs;
  std::thread other([&] { theirs = locks->acquire("x"); });
  REQUIRE(busy->reached());
  const concurrent_call releasing([&] { const auto mine = std::move(held); });
  REQUIRE(clock.at_rest({.callers = 1}));
  clock.advance(900ms);
  const auto hangs = store->hold(verb::release);
  busy->open();
  other.join();
  REQUIRE(hangs->reached());
  clock.advance(100ms);
  CHECK(releasing.over(20s));
  if (!releasing.over()) clock.advance(1min);  // so that the test can end
}

TEST_CASE_METHOD(one_service,
                 "release: what is left to the background is not given up while an extension may keep the key") {
  auto held = locks->acquire("k", {.ttl = 1s, .renewal = renewal::manual});
  held.renew(1h);
  store->cut();
  let_go(std::move(held));
  for (int i = 0; i < 60; ++i) REQUIRE(at_rest_after(1s));
  store->cut(false);
  CHECK(as_time_passes([&] { return is_free("k"); }, 500ms));
  CHECK(clock.now().time_since_epoch() < 50min);
}

TEST_CASE_METHOD(one_service, "release: close() does not name a key whose release is under way") {
  auto held = locks->acquire("k");
  const auto other = locks->acquire("other");
  const auto at = store->hold(verb::release);
  std::thread releasing([&] { held.release(); });
  REQUIRE(at->reached());
  CHECK(locks->close(0ms) == std::vector<std::string>{"other"});
  at->open();
  releasing.join();
}

TEST_CASE_METHOD(one_service, "release: trust ends before the statement is sent", "[T18]") {
  auto held = locks->acquire("k");
  const auto lost = held.lost_token();
  const auto at = store->hold(verb::release);
  owner mine = owner::current();
  std::thread releasing([&] { held.release(); });
  REQUIRE(at->reached());
  // The same owner can't re-enter what is being released, and nobody is told that it was lost.
  CHECK(elsewhere([&] {
          const owner_scope here(mine);
          return thrown([&] { return locks->acquire("k", {.wait = 0ms}); });
        }) == errc::timed_out);
  at->open();
  releasing.join();
  CHECK_FALSE(lost.stop_requested());
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(one_service, "release: beats between acquires and releases leave nothing behind", "[T11]") {
  for (int i = 0; i < 20'000; ++i) {
    auto held = locks->acquire("k", {.ttl = 1s});
    if (i % 10 == 0) clock.advance(1ms);
    held.release();
  }
  CHECK(locks->held_keys().empty());
  CHECK(store->count(verb::release) == 20'000);
  const auto beats = store->count(session_verb::renew);
  CHECK(beats <= 8);  // 2 s of a ttl of 1 s
  clock.advance(10min);
  CHECK(locks->held_keys().empty());
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(engine_fixture, "release: while the background has all it can do under way, no thread polls") {
  counted_waits time(clock);
  const auto locks = service([&](auto& settings) { settings.time = &time; });
  constexpr int many = 300;  // far more than go out at a time
  std::vector<lease> held;
  for (int i = 0; i < many; ++i) {
    held.push_back(locks->acquire("k" + std::to_string(i), {.ttl = 1s, .renewal = renewal::none}));
  }
  const auto stuck = store->hold(verb::release);
  clock.advance(2s);  // all are lost, and released a margin later
  REQUIRE(clock.at_rest());
  clock.advance(1s);
  REQUIRE(stuck->reached());
  CHECK(clock.at_rest({.busy = 1}));
  const auto waits = time.count();
  for (int i = 0; i < 100; ++i) CHECK(at_rest_after(1ms, {.busy = 1}));
  CHECK(time.count() - waits <= 10);
  stuck->open();
  CHECK(eventually([&] { return store->count(verb::release) == many; }));
}
