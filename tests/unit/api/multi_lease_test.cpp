// SPDX-License-Identifier: BSL-1.0
#include "dlock/multi_lease.hpp"

#include "dlock/dlock.hpp"
#include "support/test.hpp"
#include "unit/api/macro_forms.hpp"
#include "unit/api/memory_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

}  // namespace

TEST_CASE_METHOD(memory_fixture, "multi_lease: has a lease for each key, in their order", "[T77]") {
  const auto held = locks.acquire_all({"b", "a", "b"});
  REQUIRE(held);
  REQUIRE(held.size() == 2);
  std::string keys;
  for (const auto& each : held) keys += each.key();
  CHECK(keys == "ab");
  CHECK(held["b"].key() == "b");
  CHECK(held["b"].fencing_token() == 1);
  CHECK(held.find("a") == held.begin());
  CHECK(held.find("c") == held.end());
  CHECK_THROWS_AS(held["c"], std::out_of_range);
  CHECK(held.remaining() == held["a"].remaining());
  CHECK(held.remaining() > 0us);
  CHECK_NOTHROW(held.ensure_held());
  CHECK(held.loss() == loss_reason::none);
}

TEST_CASE("multi_lease: an empty one holds nothing, and says so") {
  multi_lease none;
  CHECK_FALSE(none);
  CHECK(none.size() == 0);
  CHECK(none.begin() == none.end());
  CHECK(none.find("k") == none.end());
  CHECK(none.remaining() == 0us);
  CHECK_FALSE(none.lost_token().stop_possible());
  CHECK(none.loss() == loss_reason::none);
  CHECK_THROWS_AS(none["k"], std::out_of_range);
  CHECK_THROWS_AS(none.ensure_held(), std::logic_error);
  CHECK_THROWS_AS(none.renew(), std::logic_error);
  CHECK_THROWS_AS(none.release(), std::logic_error);
}

TEST_CASE_METHOD(memory_fixture, "multi_lease: can be moved, and releases what is assigned over") {
  STATIC_CHECK_FALSE(std::copyable<multi_lease>);
  STATIC_CHECK(std::is_nothrow_move_constructible_v<multi_lease>);
  auto held = locks.acquire_all({"a", "b"});
  auto moved = std::move(held);
  CHECK(moved.size() == 2);
  CHECK_FALSE(is_free("a"));
  moved = locks.acquire_all({"c", "d"});
  CHECK(is_free("a"));
  CHECK(is_free("b"));
  CHECK_FALSE(is_free("d"));
  moved = multi_lease();
  CHECK(is_free("c"));
}

TEST_CASE_METHOD(memory_fixture, "multi_lease: release() empties it") {
  auto held = locks.acquire_all({"a", "b"});
  held.release();
  CHECK_FALSE(held);
  CHECK(held.size() == 0);
  CHECK(held.find("a") == held.end());
  CHECK(is_free("a"));
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(memory_fixture, "multi_lease: renew() by hand prolongs all", "[T12]") {
  auto held = locks.acquire_all({"a", "b"}, {.ttl = 1s, .renewal = renewal::manual});
  clock.advance(600ms);
  held.renew();
  clock.advance(600ms);
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(is_free("a"));
  clock.advance(400ms);
  CHECK_THROWS_AS(held.renew(), lock_lost);
  CHECK(is_free("b"));
  auto kept = locks.acquire_all({"c", "d"});
  CHECK_THROWS_AS(kept.renew(), std::logic_error);
}

TEST_CASE_METHOD(memory_fixture, "multi_lease: the macros take a list of keys") {
  CHECK(returned_from_list(7) == 7);
  CHECK(is_free("k"));
  CHECK(fence_from_list({7, "ann"}, {.ttl = 5s}) == 2);
  CHECK(tried_list({"l", "m"}) == 4);
  CHECK(list_in_loop_and_if(10, true) == 2);  // 0 and 2; 1 continues, 3 breaks
  CHECK(list_in_loop_and_if(2, false) == 20);
  CHECK(is_free("l"));
  const lock_key key("a");
  const std::string two = "b";
  const std::vector<std::string> three{"c", "d"};
  int runs = 0;
  DISTRIBUTED_LOCKED({key, two, "c"}, {.ttl = 5s, .wait = 2s}) {
    runs += !is_free("a") && !is_free("b") && !is_free("c") ? 1 : 0;
  }
  DISTRIBUTED_LOCKED_AS(held, {dlock::key<"{o.id}:{u}", "o", "u">(order{7, "ann"}, two), two}) {
    STATIC_CHECK(std::is_same_v<decltype(held), const multi_lease>);
    runs += held["7:b"].fencing_token() == 1 ? 1 : 0;
  }
  DISTRIBUTED_LOCKED_AS(held, three) { runs += held.size() == 2 ? 1 : 0; }
  DISTRIBUTED_TRY_LOCKED_AS(held, {"a"}) { runs += held.size() == 1 ? 1 : 0; }
  CHECK(runs == 4);
  CHECK(is_free("a"));
  CHECK(is_free("d"));
}

TEST_CASE_METHOD(memory_fixture, "multi_lease: nothing runs with fewer than all keys", "[T03][T76]") {
  const auto theirs = rival.acquire("b");
  int runs = 0;
  const auto attempt = [&] {
    DISTRIBUTED_LOCKED({"a", "b"}) { ++runs; }
  };
  CHECK_THROWS_AS(attempt(), lock_timeout);
  CHECK_FALSE(granted(locks.try_acquire_all({"a", "b"})));
  CHECK_FALSE(locks.try_with_locks({"a", "b"}, [&] { ++runs; }));
  CHECK_THROWS_AS(locks.with_locks({"a", "b"}, [&] { ++runs; }), lock_timeout);
  CHECK_THROWS_AS(locks.acquire_all({"b", "c"}), lock_timeout);
  CHECK(runs == 0);
  CHECK(is_free("a"));
  CHECK(is_free("c"));
}

TEST_CASE_METHOD(memory_fixture,
                 "multi_lease: with_locks takes lists, lock_keys and ranges, and gives results of any kind") {
  const lock_keys keys{"a", "b"};
  const std::vector<std::string> names{"a", "b"};
  const lock_options options{.ttl = 5s};
  CHECK(locks.with_locks({"a", "b"}, [] { return 1; }) == 1);
  CHECK(locks.with_locks({"a"}, {.ttl = 5s}, [](const multi_lease& held) { return held.size(); }) == 1);
  CHECK(locks.with_locks(keys, options, [](const multi_lease& held) { return held["b"].fencing_token(); }) == 2);
  CHECK(locks.with_locks(names, [&] { return !is_free("a") && !is_free("b"); }));
  int target = 0;
  CHECK(&locks.with_locks({"a", "b"}, options, [&]() -> int& { return target; }) == &target);
  locks.with_locks({"a", "b"}, [](multi_lease& held) { held.release(); });
  CHECK(locks.try_with_locks({"a", "b"}, [] {}));
  CHECK(locks.try_with_locks(keys, options, [] { return 5; }) == 5);
  CHECK(locks.try_with_locks({"a"}, [] { return std::string("x"); }) == "x");
  CHECK(is_free("a"));
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(memory_fixture, "multi_lease: with_locks throws the result away if one lease was lost", "[T04]") {
  const auto late = [&] {
    outlive_leases();
    return 42;
  };
  CHECK_THROWS_AS(locks.with_locks({"a", "b"}, late), lock_lost);
}
