// SPDX-License-Identifier: BSL-1.0

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

const fault hiccup{.native = 1180, .transient = true, .text = "hiccup"};

struct renewal_fixture : engine_fixture {
  /// Lets time pass until one more renewal has been answered.
  bool beat(std::chrono::milliseconds step) {
    const auto before = store->count(session_verb::renew);
    clock.advance(step);
    return eventually([&] { return store->count(session_verb::renew) > before; });
  }
  /// Lets time pass in steps after each of which all is at rest: statements take the time that their scripts say.
  bool pass(std::chrono::milliseconds time, std::chrono::milliseconds step = 10ms) {
    for (auto passed = 0ms; passed < time; passed += step) {
      clock.advance(step);
      if (!clock.at_rest()) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: renewed for as long as it is held, whatever its ttl") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  CHECK(live_on(held, 120s, 10s));
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(is_free("k"));
  CHECK(held.fencing_token() == fence_of("k"));
  CHECK_FALSE(held.lost_token().stop_requested());
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: never promises more than the server would keep", "[T22]") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  for (int i = 0; i < 50; ++i) {
    clock.advance(777ms);
    const auto mine = held.remaining();
    CHECK(mine <= locks->holder("k")->remaining);
  }
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: renewals that fail are tried again before the deadline",
                 "[T13]") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  store->next(session_verb::renew, {.what = fate::fail, .why = hiccup, .times = 3});
  REQUIRE(beat(3400ms));
  REQUIRE(beat(500ms));
  REQUIRE(beat(500ms));
  CHECK(held.remaining() < 6s);
  REQUIRE(beat(500ms));
  CHECK(eventually([&] { return held.remaining() > 9s; }));
  CHECK(seen->wait_for(event::kind::renewal_late, 3));
  CHECK_FALSE(held.lost_token().stop_requested());
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: renewal with an unknown answer does not extend the deadline",
                 "[T29]") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  store->next(session_verb::renew, {.what = fate::drop, .times = 1000});
  REQUIRE(beat(3400ms));
  CHECK(held.remaining() == 9500ms - 3400ms);
  CHECK(locks->holder("k")->remaining == 10s);  // though the server did it
  clock.advance(6100ms);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::unreachable);
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: renewal with an unknown answer does not lose it either") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  store->next(session_verb::renew, {.what = fate::drop, .times = 3});
  REQUIRE(beat(3400ms));
  CHECK_NOTHROW(held.ensure_held());
  REQUIRE(beat(500ms));
  REQUIRE(beat(500ms));
  REQUIRE(beat(500ms));
  CHECK(eventually([&] { return held.remaining() > 9s; }));
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: a late reply revives nothing", "[T24][T46]") {
  auto held = locks->acquire("k", {.ttl = 10s});
  const auto at = std::make_shared<gate>();
  store->next(session_verb::renew, {.after = at});
  clock.advance(3400ms);
  REQUIRE(at->reached());  // the server has extended it, we don't know
  clock.advance(1500ms);   // less than it takes to count as hung
  CHECK_NOTHROW(held.ensure_held());
  REQUIRE(at_rest_after(4700ms, {.busy = 1}));  // lost before its holder lets go of it
  CHECK(held.remaining() == 0us);
  CHECK_THROWS_AS(held.ensure_held(), lock_lost);
  at->open();
  CHECK(is_lost(held));
  CHECK(held.remaining() == 0us);
  CHECK(thrown([&] { held.release(); }) == errc::lost);
  REQUIRE(clock.at_rest());  // the background has freed it
  // And its session is not used again.
  CHECK(is_free_after("k", 500ms));
  const auto next = locks->acquire("k", {.ttl = 10s, .wait = 0ms});
  CHECK(store->opened().size() == 2);
  CHECK(store->opened()[0] != store->opened()[1]);
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: the pause of a process is seen at the first call after it",
                 "[T24]") {
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  const auto held = locks->acquire("k", {.ttl = 10s});
  clock.advance(9500ms - 1us);
  CHECK(held.remaining() == 1us);
  CHECK_NOTHROW(held.ensure_held());
  clock.advance(1us);
  CHECK(held.remaining() == 0us);
  CHECK(held.loss() == loss_reason::unreachable);
  CHECK_THROWS_AS(held.ensure_held(), lock_lost);
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: lost_token() fires though nothing can be sent", "[T92]") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  std::atomic<bool> notified{false};
  const std::stop_callback on_loss(held.lost_token(), [&] { notified = true; });
  store->cut();
  clock.advance(9s);
  CHECK_FALSE(notified);
  clock.advance(500ms);
  CHECK(eventually([&] { return notified.load(); }));
  CHECK(seen->wait_for(event::kind::lost));
}

TEST_CASE_METHOD(renewal_fixture, "lease: the first session of a service is watched from the start", "[T92]") {
  // A new session can reach the alarm at any point of its round.
  for (int round = 0; round < 100; ++round) {
    const auto locks = service();
    store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
    const auto held = locks->acquire("k" + std::to_string(round), {.ttl = 1s});
    clock.advance(1s);
    REQUIRE(is_lost(held));
    store->forget_scripts();
  }
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: a refused renewal loses every lease of the session", "[T15]") {
  auto first = locks->acquire("a");
  auto second = locks->acquire("b");
  const auto other = locks->acquire("c", {.ttl = 60s});  // another class, another session
  CHECK(locks->force_release("a"));
  CHECK_NOTHROW(first.ensure_held());
  clock.advance(11s);
  CHECK(is_lost(first));
  CHECK(is_lost(second));
  CHECK(first.loss() == loss_reason::renewal_refused);
  CHECK(second.loss() == loss_reason::renewal_refused);
  CHECK(thrown([&] { first.ensure_held(); }) == errc::lost);
  CHECK(eventually([&] { return other.remaining() > 40s; }));
  CHECK(is_free_after("a", 1500ms));
  CHECK(is_free("b"));
  CHECK_FALSE(is_free("c"));
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "lease: the reason of a loss is right from its first moment") {
  auto held = locks->acquire("k");
  std::vector<loss_reason> reasons;
  std::atomic<bool> stop{false};
  std::thread watching([&] {
    while (!stop) {
      if (const auto why = held.loss(); why != loss_reason::none) reasons.push_back(why);
    }
  });
  locks->force_release("k");
  clock.advance(11s);
  CHECK(is_lost(held));
  stop = true;
  watching.join();
  for (const auto each : reasons) REQUIRE(each == loss_reason::renewal_refused);
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "keeper: a hung renewal is given up in time for another",
                 "[T63][T92]") {
  const auto held = locks->acquire("k");
  const auto at = store->hold(session_verb::renew);
  clock.advance(10s);
  REQUIRE(at->reached());
  clock.advance(7500ms);  // a quarter of the ttl
  REQUIRE(eventually([&] { return store->count(session_verb::renew) >= 1; }));
  CHECK(seen->wait_for(event::kind::renewal_late));
  REQUIRE(beat(1s));
  CHECK(eventually([&] { return held.remaining() > 28s; }));
}

TEST_CASE_METHOD(with_service<renewal_fixture>,
                 "keeper: a long session's hung renewal does not cost a short one its leases") {
  const auto brief = locks->acquire("brief", {.ttl = 1s});
  const auto lasting = locks->acquire("lasting", {.ttl = 30s});
  // Each hangs until it is given up, from the second on.
  store->next(session_verb::renew, {.times = 1000, .takes = 1h, .ttl = 30s});
  for (int i = 0; i < 250; ++i) {
    REQUIRE(pass(100ms));
    REQUIRE(brief.remaining() > 1s - 50ms - (333ms + 250ms) - 20ms);  // due, and then a quarter of its ttl
  }
  store->forget_scripts();
  CHECK(lasting.loss() == loss_reason::none);
  REQUIRE(pass(2s));
  CHECK(lasting.remaining() > 25s);
  CHECK_FALSE(brief.lost_token().stop_requested());
}

TEST_CASE_METHOD(with_service<renewal_fixture>,
                 "keeper: of several hung ones none costs another session more than a quarter of its ttl") {
  const auto ttl = GENERATE(2000ms, 5000ms, 10'000ms);
  const auto held = locks->acquire("k", {.ttl = ttl});
  const auto minute = locks->acquire("minute", {.ttl = 60s});
  const auto hour = locks->acquire("hour", {.ttl = 1h});
  for (const auto hangs : {60s, 3600s}) store->next(session_verb::renew, {.times = 1000, .takes = 1h, .ttl = hangs});
  for (int i = 0; i < 50; ++i) {
    REQUIRE(pass(1s, 50ms));
    // One may hang when it is due, the other when that has been given up.
    REQUIRE(held.remaining() > ttl - ttl / 20 - ttl / 3 - 2 * ttl / 4 - 100ms);
  }
}

TEST_CASE_METHOD(renewal_fixture, "keeper: on a slow network short leases don't cost long ones theirs") {
  const auto takes = GENERATE(200ms, 300ms, 600ms, 1000ms);  // a quarter of 1 s is 250 ms, of 5 s 1250 ms
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = 5s});
  store->next(session_verb::renew, {.times = 100'000, .takes = takes});
  std::optional<lease> brief;
  for (int i = 0; i < 300; ++i) {
    if (!brief || brief->remaining() == 0us) {  // the next one, as programs do
      brief.reset();
      brief = locks->acquire("brief" + std::to_string(i), {.ttl = 1s});
    }
    REQUIRE(pass(100ms));
    REQUIRE(held.loss() == loss_reason::none);
  }
  if (takes < 250ms) CHECK(seen->count(event::kind::session_lost) == 0);
}

TEST_CASE_METHOD(renewal_fixture, "keeper: one that is answered within a quarter of its ttl is not given up") {
  const auto ttl = GENERATE(1000ms, 5000ms, 30'000ms);
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = ttl});
  store->next(session_verb::renew, {.takes = ttl / 4 - 1ms});
  REQUIRE(at_rest_after(ttl / 3 + 1ms));
  REQUIRE(at_rest_after(ttl / 4 - 1ms));
  CHECK(held.remaining() == ttl - std::max<std::chrono::milliseconds>(50ms, ttl / 20) - (ttl / 4 - 1ms));
  CHECK(seen->count(event::kind::renewal_late) == 0);
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "keeper: a cut network that heals before the deadline costs no lease",
                 "[T13]") {
  const auto held = locks->acquire("k");
  store->cut();
  for (int i = 0; i < 25; ++i) REQUIRE(at_rest_after(1s));
  CHECK_NOTHROW(held.ensure_held());
  store->cut(false);
  CHECK(at_rest_after(1s));
  CHECK(held.remaining() == 28500ms);
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "keeper: a session is not renewed once it is late") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  clock.advance(60s);
  CHECK(is_lost(held));
  CHECK(store->count(session_verb::renew) == 0);
}

TEST_CASE_METHOD(with_service<renewal_fixture>, "keeper: no lease, no renewal after a while, and its session goes",
                 "[T80]") {
  locks->acquire("k", {.ttl = 1s}).release();
  CHECK(idle_session_ends());
  CHECK(seen->count(event::kind::session_lost) == 0);
  const auto beats = store->count(session_verb::renew);
  clock.advance(60s);
  CHECK(locks->acquire("k", {.ttl = 1s}).fencing_token() == 2);
  CHECK(store->opened().size() == 2);
  CHECK(store->count(session_verb::renew) <= beats + 1);
}

TEST_CASE_METHOD(renewal_fixture, "keeper: renewals run on a connection of their own", "[T19]") {
  const auto locks = service([](auto& settings) { settings.connections = 1; });
  const auto held = locks->acquire("k");
  const auto at = store->hold(verb::poll);  // fills the pool
  std::thread busy([&] { static_cast<void>(thrown([&] { return locks->try_acquire("new"); })); });
  REQUIRE(at->reached());
  clock.advance(1500ms);
  REQUIRE(beat(8500ms));
  CHECK(eventually([&] { return held.remaining() > 28s; }));
  at->open();
  busy.join();
}
