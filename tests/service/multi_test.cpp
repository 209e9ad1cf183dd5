// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "service/multi_fixture.hpp"
#include "support/granted.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(multi_fixture, "multi: known free keys are taken and released by one batch each", "[multi]") {
  known({"a", "b", "c"});
  const auto takes = store->batches(verb::take);
  const auto releases = store->batches(verb::release);
  {
    const auto held = locks->acquire_all({"c", "a", "b"});
    CHECK(held["a"].fencing_token() == 2);
    CHECK(held["c"].fencing_token() == 2);
    CHECK_FALSE(is_free("b"));
  }
  CHECK(store->batches(verb::take) == takes + 1);
  CHECK(store->batches(verb::release) == releases + 1);
  CHECK(store->count(session_verb::open) == 1);
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: other threads of the process learn that its keys are held without a statement",
                 "[multi]") {
  const auto held = locks->acquire_all({"a", "b"});
  const auto before = locks->statements();
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("a")); }));
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire_all({"b", "c"})); }));
  CHECK(locks->statements() == before);
}

TEST_CASE_METHOD(multi_fixture, "multi: new keys are made, known ones taken", "[multi]") {
  known({"b"});
  const auto held = locks->acquire_all({"a", "b", "c"});
  CHECK(held["a"].fencing_token() == 1);
  CHECK(held["b"].fencing_token() == 2);
  CHECK(held["c"].fencing_token() == 1);
  CHECK_FALSE(is_free("a"));
}

TEST_CASE_METHOD(multi_fixture, "multi: a key named twice is taken once and released once", "[multi][T77]") {
  {
    const auto held = locks->acquire_all({"a", "a", "b", "a"});
    CHECK(held.size() == 2);
    CHECK_FALSE(held["a"].reentered());
  }
  CHECK(store->count(verb::release) == 2);
  CHECK(seen->count(event::kind::split_brain) == 0);
}

TEST_CASE_METHOD(multi_fixture, "multi: one attempt is all or nothing", "[multi][T76]") {
  known({"a", "b", "c"});
  const auto theirs = rival->acquire("b");
  CHECK_FALSE(locks->try_acquire_all({"a", "b", "c"}));
  CHECK(store->batches(verb::cancel) == 1);
  CHECK(store->count(verb::cancel) == 2);
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK(fence_of("b") == theirs.fencing_token());
  CHECK(locks->close(0ms).empty());
}

TEST_CASE_METHOD(multi_fixture, "multi: a dead holder's key is taken over within the round", "[multi][T30]") {
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire_all({"b", "d"}, {.ttl = 10s});
  crashed->cut();
  REQUIRE(at_rest_after(11s));  // it knows that it lost them: its end sends nothing
  const auto held = locks->try_acquire_all({"a", "b", "c", "d"});
  REQUIRE(held);
  CHECK(held["b"].fencing_token() == theirs["b"].fencing_token() + 1);
  CHECK(held["d"].fencing_token() == 2);
}

TEST_CASE_METHOD(multi_fixture, "multi: keys held before are entered again, only the new ones are freed",
                 "[multi][T41][T43][T77]") {
  const auto outer = locks->acquire("b");
  {
    const auto held = locks->acquire_all({"a", "b", "c"});
    CHECK(held["b"].reentered());
    CHECK_FALSE(held["a"].reentered());
    CHECK(held["b"].fencing_token() == outer.fencing_token());
    const auto before = locks->statements();
    const auto again = locks->acquire_all({"a", "b"});
    CHECK(again["a"].reentered());
    CHECK(locks->statements() == before);
  }
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK_FALSE(is_free("b"));
  CHECK_NOTHROW(outer.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: an own expiry is extended by re-entry, never shortened", "[multi][T12]") {
  const auto outer = locks->acquire("b", {.ttl = 2s, .renewal = renewal::none});
  const auto before = outer.remaining();
  const auto shorter = locks->acquire_all({"a", "b"}, {.ttl = 500ms, .renewal = renewal::none});
  CHECK(outer.remaining() == before);
  CHECK(shorter.remaining() < 500ms);
  const auto longer = locks->acquire_all({"b", "c"}, {.ttl = 5s, .renewal = renewal::none});
  CHECK(outer.remaining() > 4s);
  CHECK(longer.remaining() > 4s);
}

TEST_CASE_METHOD(multi_fixture, "multi: the policies of re-entry are those of one key", "[multi][T43]") {
  const auto outer = locks->acquire("b");
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}, {.reentry = reentry::refuse}); }) == errc::already_held);
  CHECK_FALSE(locks->try_acquire_all({"a", "b"}, {.reentry = reentry::busy}));
  CHECK(is_free("a"));
  CHECK_NOTHROW(outer.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: an attempt without an answer holds nothing in the end", "[multi][T14][T76]") {
  known({"a", "b", "c"});
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  const auto settles = GENERATE(true, false);
  store->settles(settles);
  store->next(verb::take, {.what = fate, .skip = 1});
  CHECK(thrown([&] { return locks->try_acquire_all({"a", "b", "c"}); }) == errc::outcome_unknown);
  store->run_ghosts();
  store->settles(true);
  CHECK(as_time_passes([&] { return all_free({"a", "b", "c"}); }));
  const auto nonces = store->nonces();
  CHECK(std::set<std::uint64_t>(nonces.begin(), nonces.end()).size() == nonces.size());
}

TEST_CASE_METHOD(multi_fixture, "multi: a round in trouble is given back and made anew", "[multi][T14]") {
  known({"a", "b", "c"});
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  store->next(verb::take, {.what = fate, .skip = 2});
  multi_lease held;
  while_time_passes([&] { held = locks->acquire_all({"a", "b", "c"}, {.wait = 1h}); });
  store->run_ghosts();
  CHECK_NOTHROW(held.ensure_held());
  for (const auto* key : {"a", "b", "c"}) CHECK(fence_of(key) == held[key].fencing_token());
  held.release();
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: what can't be given back at once is given back later", "[multi][T76]") {
  known({"a", "b", "c"});
  const auto theirs = rival->acquire("c");
  store->next(verb::cancel, {.what = GENERATE(fate::drop, fate::vanish, fate::fail), .why = denied, .times = 2});
  CHECK_FALSE(locks->try_acquire_all({"a", "b", "c"}));
  CHECK(as_time_passes([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: a refusal of the database ends it at once, nothing is held", "[multi]") {
  known({"a", "b", "c"});
  store->next(verb::take, {.what = fate::fail, .why = denied, .skip = 1});
  CHECK(thrown([&] { return locks->acquire_all({"a", "b", "c"}, {.wait = 1h}); }) == errc::store_failed);
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: a row lock that was not to be had counts as busy, polls tell which key it was",
                 "[multi]") {
  known({"a", "b", "c"});
  const auto theirs = rival->acquire("b");
  const auto takes = store->count(verb::take);
  store->next(verb::take, {.what = fate::fail, .why = row_lock, .times = 3});
  const auto text = message_of([&] { return locks->acquire_all({"a", "b", "c"}, {.wait = 0ms}); });
  CHECK(text.starts_with("dlock: key 'b'"));
  CHECK(store->count(verb::take) == takes + 3 + 1);  // a, once it was seen to be free
  CHECK(all_free({"a", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: grants that were answered too late are given back, not handed out",
                 "[multi][T25][T38]") {
  known({"a", "b"});
  const bool kept = GENERATE(true, false);
  const lock_options options{.ttl = 10s, .wait = 0ms, .renewal = kept ? renewal::automatic : renewal::none};
  store->next(verb::take, {.skip = 1, .during = [&] { clock.advance(40s); }});
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}, options); }) == errc::store_failed);
  CHECK(seen->count(event::kind::granted) == 2);  // by known()
  CHECK(eventually([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: a grant that gets too old while the others are asked for is given back",
                 "[multi][T25]") {
  known({"a"});
  store->next(verb::poll, {.during = [&] { clock.advance(600ms); }});
  CHECK(thrown([&] {
          return locks->acquire_all({"a", "b"}, {.ttl = 500ms, .wait = 0ms, .renewal = renewal::none});
        }) == errc::store_failed);
  CHECK(eventually([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: grants under two sessions, the elder of which has ended, are all given back",
                 "[multi][T25]") {
  known({"a", "b"});
  // b is granted. a has to ask once more, and the session ends before that: a's next take is under another one.
  store->next(verb::take, {.what = fate::fail, .why = row_lock});
  store->next(verb::poll, {.during = [&] { clock.advance(4h); }});
  CHECK(thrown([&] {
          return locks->acquire_all({"a", "b"}, {.ttl = 24h, .wait = 0ms, .renewal = renewal::none});
        }) == errc::store_failed);
  CHECK(eventually([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: bad options are refused before any statement", "[multi]") {
  CHECK_THROWS_AS(locks->acquire_all({"a", "b"}, {.ttl = 0s}), std::invalid_argument);
  CHECK_THROWS_AS(locks->try_acquire_all({"a", "b"}, {.wait = -1ms}), std::invalid_argument);
  CHECK(locks->statements() == 0);
}

TEST_CASE_METHOD(multi_fixture, "multi: a key held before that is lost while the others are taken fails it all",
                 "[multi][T76]") {
  const auto outer = locks->acquire("b", {.ttl = 300ms, .renewal = renewal::none});
  store->next(verb::take, {.during = [&] { clock.advance(2s); }});
  CHECK(thrown([&] {
          return locks->acquire_all({"a", "b", "c"}, {.ttl = 1s, .wait = 1h, .renewal = renewal::none});
        }) == errc::lost);
  CHECK(eventually([&] { return all_free({"a", "c"}); }));
}
