// SPDX-License-Identifier: BSL-1.0

// How long a lease lasts when it does not last as long as its holder: expiry of its own, max_hold, min_hold.

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

TEST_CASE_METHOD(one_service, "renewal::none: ends ttl after it was asked for, whatever happens", "[T10][T37]") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::none});
  CHECK(held.remaining() == 9500ms);
  CHECK_THROWS_AS(held.renew(), std::logic_error);
  clock.advance(9500ms);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::expired);
  CHECK(thrown([&] { held.ensure_held(); }) == errc::lost);
  CHECK(thrown([&] { held.release(); }) == errc::lost);
  CHECK(is_free_after("k", 500ms));
}

TEST_CASE_METHOD(engine_fixture, "renewal::none: a crashed holder's key is free at its expiry", "[T91]") {
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire("k", {.ttl = 100ms, .renewal = renewal::none});
  crashed->cut();
  clock.advance(100ms - 1us);
  CHECK_FALSE(is_free("k"));
  clock.advance(1us);
  CHECK(is_free("k"));
  crashed->cut(false);  // for its end
}

TEST_CASE_METHOD(one_service, "renewal::manual: renew() sets it to now + ttl, by one statement", "[T10]") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  for (int i = 0; i < 5; ++i) {
    clock.advance(8s);
    const auto before = locks->statements();
    held.renew();
    CHECK(locks->statements() == before + 1);
    CHECK(held.remaining() == 9500ms);
  }
  CHECK(locks->holder("k")->fence == held.fencing_token());
  clock.advance(9500ms);
  CHECK(is_lost(held));
  CHECK(thrown([&] { held.renew(); }) == errc::lost);
  CHECK(store->count(verb::extend) == 5);
}

TEST_CASE_METHOD(one_service, "renewal::manual: an answer that comes late, or not, promises nothing", "[T29]") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  clock.advance(5s);
  store->next(verb::extend, {.during = [&] { clock.advance(2s); }});
  held.renew();
  CHECK(held.remaining() == 7500ms);
  store->next(verb::extend, {.what = fate::drop});
  CHECK(thrown([&] { held.renew(); }) == errc::outcome_unknown);
  CHECK(held.remaining() == 7500ms);
  CHECK_NOTHROW(held.ensure_held());
  store->next(verb::extend, {.during = [&] { clock.advance(8s); }});
  CHECK(thrown([&] { held.renew(); }) == errc::lost);
}

TEST_CASE_METHOD(one_service, "renewal::manual: one that is refused because it comes too late finds the lease expired",
                 "[T12]") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  store->next(verb::extend, {.ahead = [&] { clock.advance(10s); }});
  CHECK(thrown([&] { held.renew(); }) == errc::lost);
  CHECK(held.loss() == loss_reason::expired);
  CHECK(seen->wait_for(event::kind::lost));
  CHECK(seen->records().back().reason == loss_reason::expired);
}

TEST_CASE_METHOD(one_service, "renewal::manual: a row that is not ours any more is a loss", "[T12]") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  steal("k");
  CHECK(thrown([&] { held.renew(); }) == errc::lost);
  CHECK(held.loss() == loss_reason::taken_over);
  CHECK(is_lost(held));
}

TEST_CASE_METHOD(one_service, "renewal::automatic: renew() by hand is misuse") {
  auto held = locks->acquire("k");
  CHECK_THROWS_AS(held.renew(), std::logic_error);
  CHECK_THROWS_AS(lease{}.renew(), std::logic_error);
}

TEST_CASE_METHOD(engine_fixture, "max_hold: lost first, then freed", "[T10][T20]") {
  const auto renew = GENERATE(renewal::automatic, renewal::none);
  const auto locks = service();
  auto held = locks->acquire("k", {.ttl = 30s, .renewal = renew, .max_hold = 5s});
  const auto at = store->hold(verb::release);
  clock.advance(5s - 1us);
  CHECK_NOTHROW(held.ensure_held());
  CHECK(held.remaining() == 1us);
  clock.advance(1us);
  CHECK(held.remaining() == 0us);
  CHECK(clock.at_rest());
  CHECK(held.lost_token().stop_requested());
  CHECK(held.loss() == loss_reason::max_hold);
  clock.advance(1500ms);   // the margin: time to stop in
  REQUIRE(at->reached());  // not yet freed
  CHECK_FALSE(is_free("k"));
  at->open();
  CHECK(clock.at_rest());
  CHECK(is_free("k"));
  CHECK(thrown([&] { held.release(); }) == errc::lost);
}

TEST_CASE_METHOD(engine_fixture,
                 "margin: whatever ends a lease, its holder has so much time before dlock frees the key", "[T10]") {
  const bool set = GENERATE(false, true);
  auto settings = options();
  if (set) settings.margin = 4s;
  const auto margin = set ? 4000ms : 1000ms;
  const auto locks = service(settings);
  lease held;
  SECTION("an expiry of its own") {
    held = locks->acquire("k", {.ttl = 20s, .renewal = renewal::none});
    clock.advance(20s - margin);
  }
  SECTION("no renewal") {
    held = locks->acquire("k", {.ttl = 60s});
    store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
    clock.advance(60s - (set ? margin : 3000ms));
    REQUIRE(is_lost(held));
    store->forget_scripts();
    CHECK(is_free_after("k", set ? margin : 3000ms));
    return;
  }
  SECTION("max_hold") {
    held = locks->acquire("k", {.ttl = 20s, .renewal = renewal::none, .max_hold = 5s});
    clock.advance(5s);
  }
  REQUIRE(is_lost(held));
  CHECK(is_free_after("k", margin));
}

TEST_CASE_METHOD(one_service, "margin: a service that ends does not free the key earlier either", "[T90]") {
  const auto renew = GENERATE(renewal::automatic, renewal::none);
  {
    const auto held = locks->acquire("k", {.ttl = 30s, .renewal = renew, .max_hold = 5s});
    clock.advance(5s);
    REQUIRE(is_lost(held));
    REQUIRE(clock.at_rest());
  }
  const auto begun = clock.now();
  locks.reset();
  CHECK(clock.now() == begun);
  CHECK_FALSE(is_free("k"));
  clock.advance(1499ms);
  CHECK_FALSE(is_free("k"));
  clock.advance(30s);  // nobody is left to free it: the server does
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "max_hold: who waits in this process gets the key then", "[T20]") {
  const auto wedged = locks->acquire("k", {.max_hold = 1s});
  const auto fence = while_time_passes([&] { return locks->acquire("k", {.wait = 1h}).fencing_token(); });
  CHECK(fence == 2);
}

TEST_CASE_METHOD(one_service, "min_hold: the key stays taken though it was released", "[T10]") {
  auto held = locks->acquire("k", {.min_hold = 5s});
  clock.advance(1s);
  held.release();
  CHECK_FALSE(is_free("k"));
  CHECK_FALSE(granted(locks->try_acquire("k")));
  clock.advance(4s - 1us);
  CHECK_FALSE(is_free("k"));
  clock.advance(1us);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "min_hold: over at the release, it changes nothing") {
  auto held = locks->acquire("k", {.min_hold = 5s});
  clock.advance(5s);
  held.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "min_hold: holds when the release was done by the background", "[T07]") {
  const auto begun = clock.now();
  auto held = locks->acquire("k", {.min_hold = 20s});
  store->cut();
  let_go(std::move(held));
  REQUIRE(clock.at_rest());  // the background has tried it
  store->cut(false);
  clock.advance(500ms);
  CHECK(eventually([&] { return store->count(verb::release) == 2; }));
  CHECK_FALSE(is_free("k"));
  clock.advance(begun + 20s - 1us - clock.now());
  CHECK_FALSE(is_free("k"));
  clock.advance(1us);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(engine_fixture, "margin: trust ends so much before the server's expiry", "[T10]") {
  const auto locks = service([](auto& settings) { settings.margin = 400ms; });
  CHECK(locks->acquire("a", {.ttl = 10s, .renewal = renewal::none}).remaining() == 9600ms);
  CHECK(locks->acquire("b", {.ttl = 10s}).remaining() == 9600ms);
  const auto usual = service();
  CHECK(usual->acquire("a", {.ttl = 10s, .renewal = renewal::none}).remaining() == 9500ms);
}

TEST_CASE_METHOD(engine_fixture, "margin: one that is more than a quarter of the ttl is refused, not made smaller",
                 "[T10]") {
  auto settings = options();
  settings.margin = 500ms;
  const auto locks = service(settings);
  const auto refused = [&](auto&& call) {
    const auto text = refusal(call);
    return text.find("margin = 500 ms") != std::string::npos && text.find("1000 ms") != std::string::npos;
  };
  CHECK(refused([&] { return locks->acquire("k", {.ttl = 1999ms}); }));
  CHECK(refused([&] { return locks->try_acquire("k", {.ttl = 1s, .renewal = renewal::none}); }));
  CHECK(refused([&] { return locks->acquire_all({"k", "l"}, {.ttl = 1s}); }));
  CHECK(store->tried() == 0);
  CHECK(locks->acquire("k", {.ttl = 2s}).remaining() == 1500ms);
  settings.margin = 7501ms;
  CHECK_THROWS_AS(service(settings), std::invalid_argument);
}

TEST_CASE_METHOD(engine_fixture, "margin: a renewal by hand leaves it as well", "[T10]") {
  const auto locks = service([](auto& settings) { settings.margin = 400ms; });
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  clock.advance(5s);
  held.renew();
  CHECK(held.remaining() == 9600ms);
  const auto again = locks->acquire("k", {.ttl = 20s, .renewal = renewal::manual});
  CHECK(held.remaining() == 19600ms);
}

TEST_CASE_METHOD(one_service, "max_hold: a callback that blocks does not keep the key", "[T20][T93]") {
  const lock_options brief{.ttl = 10s, .max_hold = 5s};  // a margin of 500 ms
  const auto first = locks->acquire("first", brief);
  auto later = brief;
  later.max_hold = 6s;
  const auto second = locks->acquire("second", later);
  std::atomic<bool> go_on{false};
  const std::stop_callback on_loss(first.lost_token(),
                                   [&] { static_cast<void>(eventually([&] { return go_on.load(); }, 60s)); });
  clock.advance(5s);
  REQUIRE(is_lost(first));
  // As long as it runs its holder may still be at work, but that does not go on for ever.
  CHECK(is_free_after("first", 1s, {.busy = 1}));
  CHECK(second.loss() == loss_reason::max_hold);
  // It keeps that of the second from being called, but that does not go on for ever either.
  CHECK_FALSE(second.lost_token().stop_requested());
  CHECK(is_free_after("second", 1s, {.busy = 1}));
  go_on = true;
  CHECK(is_lost(second));
}

TEST_CASE_METHOD(one_service, "holds: the current owner's leases, by no statement") {
  CHECK_FALSE(locks->holds("k"));
  auto held = locks->acquire("k");
  const auto sent = locks->statements();
  CHECK(locks->holds("k"));
  CHECK(locks->holds(lock_key("k")));
  CHECK_FALSE(locks->holds("l"));
  CHECK([&] { return locks->holds("k"); }());
  CHECK_FALSE(elsewhere([&] { return locks->holds("k"); }));
  CHECK_FALSE(service()->holds("k"));  // of another service
  {
    const owner_scope task;
    CHECK_FALSE(locks->holds("k"));
  }
  CHECK(locks->statements() == sent);
  {
    const auto inner = locks->acquire("k");
    CHECK(locks->holds("k"));
    held = lease{};
    CHECK_FALSE(locks->holds("k"));  // nor would it be entered again
  }
  CHECK_FALSE(locks->holds("k"));
}

TEST_CASE_METHOD(one_service, "holds: not a lease that is lost, or one that its thread could not enter") {
  const auto brief = locks->acquire("k", {.ttl = 1s, .renewal = renewal::none});
  CHECK(locks->holds("k"));
  clock.advance(1s);
  CHECK_FALSE(locks->holds("k"));
  const auto on_heap = std::make_unique<lease>(locks->acquire("l"));
  CHECK_FALSE(locks->holds("l"));
}

TEST_CASE_METHOD(one_service, "holds: a task's owner wherever it runs, and the owner of a mutex") {
  const owner me;
  std::unique_ptr<lease> held;
  {
    const owner_scope here{me};
    held = std::make_unique<lease>(locks->acquire("k"));
  }
  CHECK_FALSE(locks->holds("k"));
  CHECK(elsewhere([&] {
    const owner_scope there{me};
    return locks->holds("k");
  }));
  distributed_mutex door{*locks, "door"};
  {
    const std::lock_guard guard{door};
    CHECK(locks->holds("door"));
    CHECK_FALSE(elsewhere([&] { return locks->holds("door"); }));
  }
  CHECK_FALSE(locks->holds("door"));
}

// What an operator takes away; on each store: contract/service/service_contract.hpp.

TEST_CASE_METHOD(one_service, "force: the holder that was seen, and nobody who has the key after him") {
  const auto rival = foreign();
  const auto first = locks->acquire("k", {.ttl = 10s, .renewal = renewal::none});
  lease second;
  store->next(verb::release, {.ahead = [&] {
                clock.advance(10s);
                second = rival->acquire("k", {.ttl = 1min, .renewal = renewal::none});
              }});
  CHECK_FALSE(locks->force_release("k"));
  CHECK(fence_of("k") == 2);
  CHECK(second.loss() == loss_reason::none);
}

TEST_CASE_METHOD(one_service, "force: one statement by session, three by an expiry of its own, two for nobody") {
  const auto rival = foreign();
  const auto kept = rival->acquire("kept");
  const auto own = rival->acquire("own", {.ttl = 1min, .renewal = renewal::manual});
  const auto cost = [&](const char* key, bool forced) {
    const auto before = locks->statements();
    CHECK(locks->force_release(key) == forced);
    return locks->statements() - before;
  };
  CHECK(cost("kept", true) == 1);
  CHECK(fence_of("kept") == kept.fencing_token());  // until its session has ended
  CHECK(cost("own", true) == 3);
  CHECK(fence_of("own") == 0);
  CHECK(cost("own", false) == 2);
  CHECK(cost("never used", false) == 2);
}

TEST_CASE_METHOD(one_service, "force: what is unknown is said, and forced by the next call") {
  const auto own = foreign()->acquire("k", {.ttl = 1min, .renewal = renewal::manual});
  store->next(verb::poll, {.what = fate::drop});
  CHECK(thrown([&] { return locks->force_release("k"); }) == errc::outcome_unknown);
  CHECK(fence_of("k") == 1);
  CHECK(locks->force_release("k"));
  CHECK(fence_of("k") == 0);
}
