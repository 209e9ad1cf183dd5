// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <stop_token>

#include "service/multi_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(multi_fixture, "multi: the loss of one is the loss of all", "[multi]") {
  const auto outer = locks->acquire("b", {.max_hold = 1s});
  auto held = locks->acquire_all({"a", "b", "c"});
  clock.advance(1s);
  CHECK(held["a"].remaining() > 1s);
  CHECK(held.remaining() == 0us);
  CHECK(held.loss() == loss_reason::max_hold);
  CHECK(is_lost(held));
  CHECK(thrown([&] { return held.ensure_held(), 0; }) == errc::lost);
  // The others are freed all the same.
  CHECK(thrown([&] { return held.release(), 0; }) == errc::lost);
  CHECK_FALSE(held);
  CHECK(eventually([&] { return all_free({"a", "c"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: a key that was lost before can't be entered again, nothing is taken",
                 "[multi][T42]") {
  const auto outer = locks->acquire("b", {.ttl = 300ms, .renewal = renewal::none});
  clock.advance(400ms);
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}); }) == errc::lost);
  CHECK(is_free("a"));
}

TEST_CASE_METHOD(multi_fixture, "multi: they are released last first, and told so", "[multi]") {
  locks->acquire_all({"b", "c", "a"}).release();
  CHECK(keys_of(event::kind::granted) == "abc");
  CHECK(keys_of(event::kind::released) == "cba");
}

TEST_CASE_METHOD(multi_fixture, "multi: a release without an answer is repeated", "[multi][T07][T08]") {
  auto held = locks->acquire_all({"a", "b", "c"});
  store->next(verb::release, {.what = GENERATE(fate::drop, fate::ghost, fate::vanish), .skip = 1});
  CHECK_NOTHROW(while_time_passes([&] { held.release(); }));
  const auto theirs = rival->try_acquire_all({"a", "b", "c"});
  CHECK(theirs);
  store->run_ghosts();
  CHECK_NOTHROW(theirs.ensure_held());
  CHECK(fence_of("b") == theirs["b"].fencing_token());
}

TEST_CASE_METHOD(multi_fixture, "multi: a release that fails for one key frees the others, and says so", "[multi]") {
  auto held = locks->acquire_all({"a", "b", "c"});
  store->next(verb::release, {.what = fate::fail, .why = denied, .skip = 1});
  CHECK(thrown([&] { return held.release(), 0; }) == errc::outcome_unknown);
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK(keys_of(event::kind::release_failed) == "b");
  const auto end = clock.now() + 5s;  // long before its session would end
  CHECK(eventually([&] {
    if (clock.now() < end) clock.advance(100ms);
    return is_free("b");
  }));
}

TEST_CASE_METHOD(multi_fixture, "multi: released after a loss, it throws lock_lost and touches nobody's keys",
                 "[multi][T05]") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 1s});
  store->cut();
  clock.advance(2s);
  const auto theirs = rival->acquire_all({"a", "b"}, {.wait = 0ms});
  store->cut(false);
  CHECK(thrown([&] { return held.release(), 0; }) == errc::lost);
  CHECK_NOTHROW(theirs.ensure_held());
  CHECK(fence_of("a") == theirs["a"].fencing_token());
}

TEST_CASE_METHOD(multi_fixture,
                 "multi: a release that takes longer than the leases live finds them expired, and no split",
                 "[multi][T06]") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 10s, .renewal = renewal::none});
  lease theirs;
  store->next(verb::release, {.ahead = [&] {
                clock.advance(11s);
                theirs = rival->acquire("b", {.wait = 0ms});
              }});
  CHECK(caught<lock_lost>([&] { held.release(); }).reason() == loss_reason::expired);
  CHECK(locks->count(event::kind::split_brain) == 0);
  CHECK_NOTHROW(theirs.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: it may outlive its service, and its keys are freed with it", "[multi][T17]") {
  auto held = locks->acquire_all({"a", "b"});
  locks.reset();
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(is_free("a"));
  held = multi_lease();
  CHECK(all_free({"a", "b"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: min_hold keeps all of them, max_hold ends all", "[multi][T20]") {
  locks->acquire_all({"a", "b"}, {.min_hold = 1s}).release();
  CHECK_FALSE(is_free("a"));
  CHECK_FALSE(is_free("b"));
  clock.advance(1s);
  CHECK(all_free({"a", "b"}));
  const auto held = locks->acquire_all({"a", "b"}, {.max_hold = 1s});
  clock.advance(1s);
  CHECK(held.loss() == loss_reason::max_hold);
  CHECK(is_lost(held));
  CHECK(is_free_after("a", 1500ms));
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(multi_fixture, "multi: it may be released by a callback of its own loss", "[multi]") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 1s});
  std::atomic<bool> over{false};
  const std::stop_callback on_loss(held.lost_token(), [&] {
    static_cast<void>(thrown([&] { return held.release(), 0; }));
    over = true;
  });
  clock.advance(2s);
  CHECK(eventually([&] { return over.load(); }));
  CHECK_FALSE(held);
}

TEST_CASE_METHOD(multi_fixture, "multi: its end does not wait for a callback of its loss that runs", "[multi]") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 1s});
  gate slow;
  {
    const std::stop_callback on_loss(held.lost_token(), [&] { slow.pass(); });
    clock.advance(2s);
    CHECK(slow.reached());
    held = multi_lease();  // would hang
    slow.open();
  }
  CHECK_FALSE(held);
}

TEST_CASE_METHOD(multi_fixture, "multi: nothing hangs on the session any more, whether it was granted or not",
                 "[multi][T80]") {
  const lock_options options{.ttl = 1s, .wait = 0ms};
  const auto theirs = rival->acquire("b", {.ttl = 1h});
  CHECK_FALSE(locks->try_acquire_all({"a", "b"}, options));
  locks->acquire_all({"a", "c"}, options).release();
  CHECK(idle_session_ends());
}
