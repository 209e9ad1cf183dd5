// SPDX-License-Identifier: BSL-1.0

// Attempts without an answer: they may have been executed, be executed later, or never.

#include "service/adopt_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

struct ghost_fixture : engine_fixture {
  /// Rule 6: no attempt is ever sent twice.
  bool nonces_are_unique() const {
    const auto all = store->nonces();
    return std::set<std::uint64_t>(all.begin(), all.end()).size() == all.size();
  }
  /// Whether the background has stopped trying.
  bool no_more_cancels() {
    const auto goes_on = [&] {
      const auto before = store->count(verb::cancel);
      return eventually(
          [&] {
            clock.advance(100ms);
            return store->count(verb::cancel) > before;
          },
          30ms);
    };
    return eventually([&] { return !goes_on(); });
  }
  /// One attempt at "k", whose row is there, gets no answer, and its end is not certain.
  void try_in_vain(lock_service& with, fate what, const lock_options& how = {}) {
    with.acquire("k").release();
    store->settles(false);
    store->next(verb::take, {.what = what});
    CHECK(thrown([&] { return with.try_acquire("k", how); }) == errc::outcome_unknown);
  }
  bool is_free_soon(const lock_key& key) {
    return as_time_passes([&] { return is_free(key); }, 10ms);
  }
};

}  // namespace

TEST_CASE_METHOD(ghost_fixture, "ghost: one attempt without an answer says so and holds nothing") {
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  const auto at = GENERATE(verb::take, verb::insert);
  const auto locks = service();
  if (at == verb::take) locks->acquire("k").release();
  store->next(at, {.what = fate});
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::outcome_unknown);
  CHECK(seen->count(event::kind::outcome_unknown) == 1);
  CHECK(store->settled() == 1);
  CHECK(store->count(verb::cancel) == 1);
  store->run_ghosts();
  CHECK(fence_of("k") == 0);
  CHECK(is_free("k"));
  CHECK(nonces_are_unique());
}

TEST_CASE_METHOD(ghost_fixture, "ghost: who waits gets the key by another attempt") {
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  const auto at = GENERATE(verb::take, verb::insert);
  const auto locks = service();
  if (at == verb::take) locks->acquire("k").release();
  store->next(at, {.what = fate, .times = 2});
  auto held = while_time_passes([&] { return locks->acquire("k"); });
  REQUIRE(held);
  store->run_ghosts();
  CHECK(fence_of("k") == held.fencing_token());
  CHECK(nonces_are_unique());
  held.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(ghost_fixture, "ghost: a take-over without an answer leaves one holder or none") {
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire("k", {.ttl = 1s});
  crashed->cut();
  REQUIRE(at_rest_after(1s));  // it knows that it lost the key: its end sends nothing
  const auto locks = service();
  store->next(verb::take_over, {.what = fate});
  auto held = while_time_passes([&] { return locks->acquire("k"); });
  store->run_ghosts();
  CHECK(fence_of("k") == held.fencing_token());
  CHECK(held.fencing_token() > theirs.fencing_token());
  CHECK(nonces_are_unique());
}

TEST_CASE_METHOD(with_service<ghost_fixture>, "ghost: while its end is not certain it is cancelled again and again") {
  locks->acquire("k").release();
  store->settles(false);
  store->next(verb::take, {.what = fate::ghost});
  auto held = while_time_passes([&] { return locks->acquire("k"); });
  const auto mine = held.fencing_token();

  // It comes while we hold the key: nothing changes. Then it is over, for a statement runs once.
  SECTION("and runs while the key is held") {
    CHECK(store->run_ghosts() == 1);
    CHECK(fence_of("k") == mine);
    CHECK_NOTHROW(held.ensure_held());
    held.release();
    CHECK(is_free("k"));
  }
  SECTION("and runs once the key is free") {
    held.release();
    CHECK(store->run_ghosts() == 1);
    CHECK(is_free_soon("k"));
  }
  SECTION("and never runs") {
    held.release();
    const auto before = store->count(verb::cancel);
    CHECK(as_time_passes([&] { return store->count(verb::cancel) > before + 3; }));
    store->settles(true);
    CHECK(as_time_passes([&] { return store->ghosts() == 0; }));
    // Settled and cancelled: that was the last of it.
    CHECK(no_more_cancels());
  }
  CHECK(nonces_are_unique());
}

TEST_CASE_METHOD(with_service<ghost_fixture>,
                 "ghost: that its connection has gone counts only for cancels sent after it") {
  locks->acquire_all({"a", "b"}).release();
  const auto other = locks->acquire("c");  // the session lives on
  store->settles(false);
  store->next(verb::take, {.what = fate::ghost, .times = 2, .together = true});
  CHECK_THROWS_AS(elsewhere([&] { static_cast<void>(locks->try_acquire_all({"a", "b"})); }), store_error);
  REQUIRE(clock.at_rest());
  REQUIRE(store->ghosts() == 2);
  // In the background, the first of both is cancelled before it has run, and both run before the second is looked at.
  const auto cancelled = std::make_shared<gate>();
  gate second;
  store->at_terminate([&, before = store->settled()](std::size_t earlier) {
    if (earlier == before + 1) second.pass();
  });
  store->next(verb::cancel, {.after = cancelled});
  REQUIRE(as_time_passes([&] { return cancelled->is_reached(); }));
  store->run_late();
  store->settles(true);
  second.open();
  REQUIRE(eventually([&] { return store->ghosts() == 0; }));
  cancelled->open();
  CHECK(is_free_soon("a"));
  CHECK(is_free_soon("b"));
  CHECK(no_more_cancels());
  store->at_terminate({});
}

TEST_CASE_METHOD(with_service<ghost_fixture>,
                 "ghost: one that can't be ended yet is cancelled at its own beat, whatever else happens") {
  try_in_vain(*locks, fate::ghost);
  REQUIRE(clock.at_rest());
  const auto before = store->count(verb::cancel);
  // Each of these gives the background something to do.
  for (int i = 0; i < 20; ++i) {
    auto held = locks->acquire("busy");
    store->next(verb::release, {.what = fate::fail, .why = denied});
    CHECK(thrown([&] { held.release(); }) == errc::outcome_unknown);
    REQUIRE(clock.at_rest());
  }
  CHECK(store->count(verb::cancel) == before);
  REQUIRE(at_rest_after(500ms));
  CHECK(store->count(verb::cancel) == before + 1);
}

TEST_CASE_METHOD(with_service<ghost_fixture>, "ghost: one of a lease with its own expiry is not cancelled for ever") {
  const auto another = locks->acquire("another");  // keeps the session alive
  try_in_vain(*locks, fate::vanish, {.ttl = 1h, .renewal = renewal::none});
  for (int i = 0; i < 65; ++i) REQUIRE(live_on(another, 10s, 30s));
  const auto sent = store->count(verb::cancel);
  CHECK(sent > 20);
  for (int i = 0; i < 6; ++i) REQUIRE(live_on(another, 10s, 30s));
  CHECK(store->count(verb::cancel) == sent);
}

TEST_CASE_METHOD(with_service<ghost_fixture>,
                 "ghost: one of a lease with its own expiry is cancelled as soon as the store is back") {
  locks->acquire("k").release();
  store->next(verb::take, {.what = fate::drop, .during = [&] { store->cut(); }});
  CHECK(thrown_as_time_passes([&] { return locks->try_acquire("k", {.ttl = 24h, .renewal = renewal::none}); }) ==
        errc::outcome_unknown);
  for (int i = 0; i < 60; ++i) REQUIRE(at_rest_after(20s));
  store->cut(false);
  CHECK(is_free_soon("k"));
}

TEST_CASE_METHOD(with_service<ghost_fixture>, "ghost: one of a lease with its own expiry outlives its session") {
  try_in_vain(*locks, fate::ghost, {.ttl = 1h, .renewal = renewal::none});
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  REQUIRE(at_rest_after(40s));
  REQUIRE(at_rest_after(2s));
  REQUIRE(store->count(session_verb::close) == 1);
  // What it takes now is kept by nothing but that hour.
  CHECK(store->run_ghosts() == 1);
  CHECK_FALSE(is_free("k"));
  REQUIRE(at_rest_after(500ms));
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(with_service<ghost_fixture>, "ghost: one of a lease with its own expiry does not keep the key") {
  try_in_vain(*locks, fate::drop, {.ttl = 1h, .renewal = renewal::none});
  CHECK(is_free_soon("k"));
}

TEST_CASE_METHOD(ghost_fixture, "ghost: too many of them end the session, not the process") {
  auto settings = options();
  settings.connections =
      GENERATE(std::size_t{4}, std::size_t{64});  // in an outage all of them break at once, perhaps twice
  const auto most = 32 + 2 * settings.connections;
  const auto locks = service(settings);
  const auto held = locks->acquire("held");
  store->settles(false);
  store->next(verb::take, {.what = fate::vanish, .times = static_cast<unsigned>(most) + 1});
  for (std::size_t i = 0; i <= most; ++i) {
    CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::outcome_unknown);
    if (i < most) REQUIRE_FALSE(held.lost_token().stop_requested());
  }
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::abandoned);
  const auto next = locks->acquire("other");
  CHECK(store->opened().size() == 2);
  CHECK(next.remaining() > 20s);
  // The retired session's are not cancelled for ever: what they take is free to everybody.
  CHECK(no_more_cancels());
}

TEST_CASE_METHOD(with_service<ghost_fixture>,
                 "ghost: one that runs under a retired session takes nothing from anybody") {
  try_in_vain(*locks, fate::ghost);
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  CHECK(at_rest_after(40s));
  CHECK(at_rest_after(1500ms));
  CHECK(store->count(session_verb::close) == 1);
  CHECK(store->run_ghosts() == 1);
  CHECK(fence_of("k") == 2);
  const auto mine = foreign()->try_acquire("k");  // at once: its session does not exist
  REQUIRE(mine);
  CHECK(mine.fencing_token() == 3);
}

TEST_CASE_METHOD(with_service<ghost_fixture>, "ghost: a poll or a kill without an answer is simply asked again") {
  store->next(verb::poll, {.what = fate::drop});
  CHECK(while_time_passes([&] { return granted(locks->acquire("k")); }));
  CHECK(store->count(verb::cancel) == 0);

  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire("dead", {.ttl = 1s});
  crashed->cut();
  REQUIRE(at_rest_after(1s));  // it knows that it lost the key: its end sends nothing
  store->next(session_verb::remove_expired, {.what = fate::drop});
  CHECK(while_time_passes([&] { return granted(locks->acquire("dead")); }));
  CHECK(store->count(verb::cancel) == 0);
  CHECK(seen->count(event::kind::outcome_unknown) == 0);
}

TEST_CASE_METHOD(with_service<ghost_fixture>, "ghost: a thousand failed attempts leave nothing behind", "[T80]") {
  for (int i = 0; i < 1'000; ++i) {
    store->next(i % 2 == 0 ? verb::take : verb::poll, {.what = i % 3 == 0 ? fate::drop : fate::vanish});
    static_cast<void>(thrown([&] { return locks->try_acquire("k"); }));
    store->forget_scripts();
  }
  CHECK(store->opened().size() == 1);
  CHECK(store->connections() <= 6);
  CHECK(locks->held_keys().empty());
  CHECK(granted(locks->acquire("k")));
}

// Grants of a service's own session that it knows nothing of: a proxy executed a take twice, for example.

namespace {

template <class Fixture>
struct forgetful : Fixture {
  /// Grants a key to the session of a service that holds `other`, without the service.
  void grant_behind(const lock_key& other, std::string_view key, std::uint64_t nonce) {
    const auto holder = this->foreign()->holder(lock_key::from_stored(other.view()));
    REQUIRE(holder);
    for (const auto action : {verb::take, verb::insert}) {
      const request asked{.action = action, .resource = key, .session = holder->session, .nonce = nonce};
      if (this->answer_to(asked).result == outcome::yes) return;
    }
    FAIL("not granted");
  }
};
using forgotten_fixture = forgetful<engine_fixture>;
using forgotten_rows = forgetful<adopt_fixture>;

}  // namespace

TEST_CASE_METHOD(with_service<forgotten_fixture>,
                 "forgotten: a key that our own session holds for no lease is freed and granted") {
  const auto other = locks->acquire("other", {.ttl = 30s});
  grant_behind("other", "stuck", 1ULL << 40U);
  CHECK_FALSE(is_free("stuck"));
  const auto held = locks->try_acquire("stuck", {.ttl = 30s});
  CHECK(held);
  CHECK(other.fencing_token() != 0);
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE_METHOD(with_service<forgotten_fixture>,
                 "forgotten: a key that another service holds for no lease is left alone") {
  const auto others = service();
  const auto other = others->acquire("other", {.ttl = 30s});
  grant_behind("other", "stuck", 1ULL << 40U);
  CHECK_FALSE(granted(locks->try_acquire("stuck", {.ttl = 30s})));
  CHECK(store->count(verb::cancel) == 0);
}

TEST_CASE_METHOD(with_service<forgotten_fixture>,
                 "forgotten: a lease that was lost is freed after its margin, not by who asks for its key before") {
  auto held = locks->acquire("key", {.ttl = 30s, .max_hold = 5s});
  clock.advance(5s);
  REQUIRE(eventually([&] { return held.remaining() == 0us; }));
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("key", {.ttl = 30s})); }));
  CHECK(store->count(verb::cancel) == 0);
}

TEST_CASE_METHOD(forgotten_fixture,
                 "forgotten: several keys are granted though our own session holds one for no lease") {
  if (GENERATE(false, true)) store->let_takes_wait();  // which are looked at first
  const auto locks = service();
  const auto other = locks->acquire("other", {.ttl = 30s});
  grant_behind("other", "stuck", 1ULL << 40U);
  CHECK(granted(locks->try_acquire_all({"free", "stuck"}, {.ttl = 30s})));
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE_METHOD(with_service<forgotten_fixture>,
                 "forgotten: a wait for several keys ends if our own session holds one for no lease") {
  const auto others = foreign();
  const auto other = locks->acquire("other", {.ttl = 60s});
  auto before = others->acquire("stuck", {.ttl = 60s});
  bool got = false;
  std::thread waiting([&] { got = granted(locks->acquire_all({"free", "stuck"}, {.ttl = 60s, .wait = 30s})); });
  const bool waits = clock.at_rest();
  before.release();
  grant_behind("other", "stuck", 1ULL << 40U);
  while_time_passes([&] { waiting.join(); });
  CHECK(waits);
  CHECK(got);
}

TEST_CASE_METHOD(forgotten_rows, "forgotten: a row that our own session holds for no lease is freed and granted") {
  const auto other = adopt_one(row(1));
  const auto stuck = row(2);
  grant_behind(row(1), stuck.view(), 1ULL << 40U);
  CHECK_FALSE(is_free(stuck));
  CHECK(granted(home.acquire(stuck, {.ttl = 30s}, true)));
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE_METHOD(forgotten_rows, "forgotten: a row that a claim has committed is left to the claim") {
  const auto key = row(1);
  const auto held = adopt([&](ticket& asked) {
    claimed done{{key, take(asked, key)}};
    CHECK_FALSE(elsewhere([&] { return granted(home.acquire(key, {.ttl = 30s}, true)); }));
    return done;
  });
  REQUIRE(held.size() == 1);
  CHECK_NOTHROW(held[0].ensure_held());
  CHECK_FALSE(is_free(key));
  CHECK(store->count(verb::cancel) == 0);
}
