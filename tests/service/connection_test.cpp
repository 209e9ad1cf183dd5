// SPDX-License-Identifier: BSL-1.0
// Connections that are closed, can't be had, or hang: what callers and leases notice of it.
#include <fmt/format.h>

#include "dlock/with_lock.hpp"
#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct connection_fixture : engine_fixture {
  /// Opens all four connections of the pool, and waits for that of renewals.
  void warm(lock_service& locks) {
    std::vector<lease> held;
    // Of sessions of their own: releases of one session would share a statement.
    for (const auto ttl : {30s, 60s, 120s, 300s})
      held.push_back(locks.acquire(fmt::format("w{}", ttl.count()), {.ttl = ttl}));
    const auto at = store->hold(verb::release, {.times = 4});
    std::vector<std::thread> threads;
    for (auto& each : held) threads.emplace_back([&each] { each.release(); });
    REQUIRE(at->reached(4));
    at->open();
    for (auto& each : threads) each.join();
    REQUIRE(eventually([&] { return store->connections() == 5; }));
  }
};

/// A service by the real clock, whose ends are quick.
service_options in_real_time() { return {.release_limit = 200ms, .close_limit = 0ms, .cleanup_interval = 0ms}; }

}  // namespace

// ---- closed while idle --------------------------------------------------------------------------------------------

TEST_CASE_METHOD(connection_fixture,
                 "connection: one attempt is enough though the server has closed every connection meanwhile") {
  const bool seen_closed = GENERATE(true, false);
  CAPTURE(seen_closed);
  const auto locks = service();
  const auto theirs = foreign();
  const auto foreign = theirs->acquire("foreign");
  std::optional<lease> held;
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"try_acquire", [&] { CHECK(granted(locks->try_acquire("a"))); }},
      {"try_acquire, busy", [&] { CHECK_FALSE(granted(locks->try_acquire("foreign"))); }},
      {"acquire without a wait", [&] { CHECK(granted(locks->acquire("b", {.wait = 0ms}))); }},
      {"acquire without a retry", [&] { CHECK(granted(locks->acquire("c", {.retry = {.limit = 0U}}))); }},
      {"try_acquire of several",
       [&] {
         CHECK(granted(locks->try_acquire_all({"d", "e"})));
       }},
      {"acquire of several",
       [&] {
         CHECK(granted(locks->acquire_all({"f", "g"}, {.wait = 0ms})));
       }},
      {"try_with_lock", [&] { CHECK(locks->try_with_lock("h", [] { return 1; }) == 1); }},
      {"holder", [&] { CHECK(locks->holder("foreign")); }},
      {"held_keys", [&] { CHECK_FALSE(locks->held_keys().empty()); }},
      {"force_release", [&] { CHECK(locks->force_release("foreign")); }},
      {"a new session", [&] { CHECK(granted(locks->try_acquire("i", {.ttl = 10s}))); }},
      {"renew", [&] { locks->try_acquire("j", {.renewal = renewal::manual}).renew(); }},
      {"release", [&] { held->release(); }},
  };
  for (const auto& [name, call] : calls) {
    CAPTURE(name);
    held = locks->acquire("held");
    warm(*locks);
    store->close_connections(seen_closed);
    CHECK_NOTHROW(call());
    held.reset();
  }
  CHECK(seen->count(event::kind::acquire_failed) == 0);
  CHECK(seen->count(event::kind::release_failed) == 0);
  CHECK(seen->count(event::kind::outcome_unknown) == 0);
}

TEST_CASE_METHOD(connection_fixture, "connection: a renewal on one that was closed meanwhile is not late", "[T13]") {
  const bool seen_closed = GENERATE(true, false);
  CAPTURE(seen_closed);
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = 10s});
  for (int i = 0; i < 5; ++i) {
    warm(*locks);
    store->close_connections(seen_closed);
    CHECK(live_on(held, 1s, 10s));
  }
  CHECK(seen->count(event::kind::renewal_late) == 0);
}

TEST_CASE_METHOD(with_service<connection_fixture>,
                 "connection: what was certainly not sent is tried again once, and no more") {
  locks->acquire("k").release();
  store->next(verb::take, {.what = fate::fail, .why = gone, .times = 2});
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::store_unreachable);
  CHECK(store->count(verb::take) == 3);  // one that found no row before, and these two
}

// ---- none to be had -----------------------------------------------------------------------------------------------

TEST_CASE_METHOD(with_service<connection_fixture>, "connection: that of renewals is made as soon as there is a session",
                 "[T19]") {
  CHECK(store->connections() == 0);
  locks->acquire("k").release();
  CHECK(eventually([&] { return store->connections() == 2; }));
  CHECK(store->count(session_verb::renew) == 0);
  for (int i = 0; i < 10; ++i) locks->acquire("k").release();
  CHECK(store->tried() == 2);
}

TEST_CASE_METHOD(connection_fixture, "connection: a wrong password is told at once, not at the end of the wait") {
  store->refuse_connections({.native = 1045, .connection = true, .text = "access denied"});
  const auto locks = service();
  // Nobody moves the clock.
  CHECK(thrown([&] { return locks->acquire("k", {.wait = 1h}); }) == errc::store_failed);
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}, {.wait = 1h}); }) == errc::store_failed);
}

TEST_CASE_METHOD(connection_fixture, "connection: where the server has only one to give, leases live by that one") {
  store->allow_connections(1);
  const auto locks = service();
  auto held = locks->acquire("k", {.ttl = 10s});
  CHECK(live_on(held, 120s, 10s));
  CHECK(store->most_connections() == 1);
  CHECK(granted(locks->acquire("other")));
  held.release();
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::session_lost) == 0);
}

TEST_CASE_METHOD(connection_fixture, "connection: a server that was full for a while gives the others later") {
  store->allow_connections(1);
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = 10s});
  CHECK(live_on(held, 10s, 10s));
  store->allow_connections(100);
  CHECK(as_time_passes([&] { return store->connections() >= 2; }));
}

// ---- hanging ------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(connection_fixture,
                 "connection: attempts to connect that hang hold a release no longer than its limit", "[T10]") {
  const auto locks = service([](auto& settings) { settings.release_limit = 300ms; });
  auto held = locks->acquire("k");
  REQUIRE(clock.at_rest());
  const auto connects = std::make_shared<gate>();
  store->hold_connects(connects);
  store->close_connections();
  const concurrent_call releasing([&] { const auto mine = std::move(held); });
  REQUIRE(connects->reached(2));                      // one for renewals
  REQUIRE(clock.at_rest({.callers = 1, .busy = 2}));  // the limit has been read from the clock
  clock.advance(300ms - 1us);
  CHECK_FALSE(releasing.over());
  clock.advance(1us);
  CHECK_FALSE(releasing.end());
  CHECK(seen->count(event::kind::release_failed) == 1);
  connects->open();
  CHECK(as_time_passes([&] { return fence_of("k") == 0; }));
}

TEST_CASE_METHOD(with_service<connection_fixture>,
                 "connection: attempts to connect that hang hold an acquire for two seconds at most") {
  const auto connects = std::make_shared<gate>();
  store->hold_connects(connects);
  const concurrent_call acquiring([&] { return locks->acquire("k", {.wait = 500ms}); });
  REQUIRE(connects->reached(2));                      // one for renewals
  REQUIRE(clock.at_rest({.callers = 1, .busy = 2}));  // the limit has been read from the clock
  clock.advance(2s);
  CHECK(acquiring.end() == errc::store_unreachable);
}

TEST_CASE_METHOD(with_service<connection_fixture>,
                 "connection: attempts to connect that hang hold an operator's question for five") {
  const auto connects = std::make_shared<gate>();
  store->hold_connects(connects);
  const concurrent_call asking([&] { return locks->held_keys(); });
  REQUIRE(connects->reached());
  REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  clock.advance(5s);
  CHECK(asking.end() == errc::store_unreachable);
}

TEST_CASE_METHOD(connection_fixture, "connection: a statement that hangs is interrupted, though there is no session",
                 "[T63]") {
  store->let_takes_wait();  // so that a single attempt begins with a poll
  const auto locks = service();
  const auto at = store->hold(verb::poll);
  const concurrent_call trying([&] { return locks->try_acquire("k"); });
  REQUIRE(at->reached());
  CHECK(store->opened().empty());
  clock.advance(2s);
  CHECK(trying.end());
}

TEST_CASE("connection: a service ends within its release limit while nothing answers", "[T89]") {
  const auto store = std::make_shared<faulty_store>(std::make_shared<stores::memory_store>());
  const auto never = std::make_shared<gate>();
  auto locks = std::make_unique<lock_service>(store, in_real_time());
  std::optional<lease> held;

  SECTION("no attempt to connect") {
    locks->acquire("k").release();
    store->hold_connects(never);
    store->close_connections();
  }
  SECTION("no attempt to connect, with a release that was not done") {
    held = locks->acquire("k");
    store->hold_connects(never);
    store->close_connections();
    CHECK(duration_of([&] { held.reset(); }) < 7s);
  }
  SECTION("no statement that closes the session") {
    locks->acquire("k").release();
    store->next(session_verb::close, {.before = never});
  }
  SECTION("no renewal") {
    locks->acquire("k", {.ttl = 1s}).release();
    store->next(session_verb::renew, {.before = never});
    REQUIRE(never->reached());
  }
  SECTION("no release in the background") {
    store->next(verb::release, {.times = 100, .before = never});
    { const auto freed_later = locks->acquire("k"); }
  }
  CHECK(duration_of([&] { locks.reset(); }) < 7s);  // 200 ms on an idle machine; ten seconds were one mistake
  CHECK(store->connections() == 0);
}

TEST_CASE_METHOD(with_service<connection_fixture>,
                 "lease: lost_token() fires though its renewal hangs and nothing can interrupt it", "[T92]") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  const auto own = locks->acquire("own", {.ttl = 20s, .renewal = renewal::none});
  const auto at = store->hold(session_verb::renew, {.deaf = true});
  clock.advance(4s);
  REQUIRE(at->reached());
  clock.advance(5500ms - 1us);
  CHECK_FALSE(held.lost_token().stop_requested());
  clock.advance(1us);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::unreachable);
  CHECK(seen->wait_for(event::kind::lost));
  clock.advance(10s);
  CHECK(is_lost(own));
  at->open();
}

TEST_CASE_METHOD(with_service<connection_fixture>, "lease: lost_token() fires though its keeper hangs in connecting",
                 "[T92]") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  REQUIRE(clock.at_rest());  // the connection for renewals is there, and closed below
  const auto at = std::make_shared<gate>();
  store->hold_connects(at);
  store->close_connections();
  clock.advance(4s);
  REQUIRE(at->reached());
  clock.advance(5500ms);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::unreachable);
  at->open();
}

// ---- another server -------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(with_service<connection_fixture>,
                 "session: once the server has changed, none of the old connections is kept", "[T59]") {
  warm(*locks);
  const auto held = locks->acquire("k");
  store->change_server("other");
  store->next(verb::poll, {.what = fate::vanish});  // breaks one; the next leads elsewhere
  static_cast<void>(thrown([&] { return locks->try_acquire("new"); }));
  static_cast<void>(thrown([&] { return locks->try_acquire("new"); }));
  while (store->connections() > 1 && !held.lost_token().stop_requested()) {
    store->next(verb::take, {.what = fate::vanish});
    static_cast<void>(thrown([&] { return locks->try_acquire("new"); }));
    store->forget_scripts();
  }
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::server_changed);
  CHECK(eventually([&] { return store->connections() <= 2; }));
}

// ---- attempts without an answer -------------------------------------------------------------------------------------

TEST_CASE_METHOD(connection_fixture, "ghost: cancelled after its connection was seen dead, never before", "[T29]") {
  const auto at = GENERATE(verb::take, verb::insert);
  const auto locks = service();
  const auto keeps_the_session = locks->acquire("other");
  if (at == verb::take) locks->acquire("k").release();
  store->run_late();  // what was sent runs just before that is seen
  const bool in_background = GENERATE(false, true);
  if (in_background) store->settles(false);
  store->next(at, {.what = fate::ghost});
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::outcome_unknown);
  if (in_background) {
    const auto asked = store->settled();
    store->settles(true);
    CHECK(as_time_passes([&] { return store->settled() > asked; }));
    CHECK(eventually([&] { return store->ghosts() == 0; }));
    CHECK(eventually([&] { return fence_of("k") == 0; }));
  }
  CHECK(store->ghosts() == 0);
  CHECK(fence_of("k") == 0);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(with_service<connection_fixture>,
                 "ghost: one with an expiry of its own is not forgotten when its session ends") {
  locks->acquire("k").release();
  store->settles(false);
  store->next(verb::take, {.what = fate::ghost});
  CHECK(thrown([&] { return locks->try_acquire("k", {.ttl = 10h, .renewal = renewal::none}); }) ==
        errc::outcome_unknown);
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(40s);  // the session that it was asked for with is over, and a margin later it is closed
  CHECK(as_time_passes([&] { return store->count(session_verb::close) == 1; }));
  const auto cancels = store->count(verb::cancel);
  CHECK(as_time_passes([&] { return store->count(verb::cancel) > cancels; }));
  CHECK(store->run_ghosts() == 1);  // for ten hours
  CHECK(as_time_passes([&] { return fence_of("k") == 0; }));
}
