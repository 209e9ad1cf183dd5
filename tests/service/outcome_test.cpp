// SPDX-License-Identifier: BSL-1.0
// The moment after a transaction's outcome: the leases that it outlived are still to be released, and their owner, who
// knows that it is over, wants the key again.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "dlock/distributed_mutex.hpp"
#include "service/transaction_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct outcome_fixture : transaction_fixture {
  const std::shared_ptr<gate> busy = keep_background_busy();

  ~outcome_fixture() { busy->open(); }

  /// A lease that ended inside a transaction which has its outcome; its release is queued and not begun.
  std::uint64_t outlived(const lock_options& options = {}) {
    fake_transaction open(*store);
    auto held = locks->acquire("k", options);
    const auto fence = held.fencing_token();
    held.release();
    CHECK_FALSE(is_free("k"));
    open.end();
    return fence;
  }
};

}  // namespace

TEST_CASE_METHOD(outcome_fixture,
                 "outcome: after it the owner gets a new grant, though the old one is not released yet",
                 "[transaction][T46]") {
  const auto releases = store->count(verb::release);  // once it is queued, the release may be done at any moment
  const auto fence = outlived();
  const auto next = locks->acquire("k");
  CHECK_FALSE(next.reentered());
  CHECK(next.fencing_token() == fence + 1);
  CHECK(store->count(verb::release) == releases + 1);
  busy->open();
  CHECK(clock.at_rest());
  CHECK_NOTHROW(next.ensure_held());
  CHECK(store->count(verb::release) == releases + 2);  // of the other key
  CHECK(locks->count(event::kind::released) == 2);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: after it one attempt is enough", "[transaction][T32]") {
  const auto fence = outlived();
  SECTION("of one key") {
    const auto next = locks->try_acquire("k");
    REQUIRE(next);
    CHECK(next.fencing_token() == fence + 1);
  }
  SECTION("of several") {
    const auto next = locks->try_acquire_all({"j", "k"});
    REQUIRE(next);
    CHECK(next["k"].fencing_token() == fence + 1);
  }
  SECTION("where the owner's own lease counts as busy") {
    const auto next = locks->try_acquire("k", {.reentry = reentry::busy});
    REQUIRE(next);
    CHECK(next.fencing_token() == fence + 1);
  }
}

TEST_CASE_METHOD(outcome_fixture, "outcome: after it the key is not the owner's any more", "[transaction][T45]") {
  const auto fence = outlived();
  SECTION("to reentry::refuse") {
    CHECK(locks->acquire("k", {.reentry = reentry::refuse}).fencing_token() == fence + 1);
  }
  SECTION("to a mutex") {
    distributed_mutex mutex(*locks, "k");
    mutex.lock();
    CHECK(mutex.held().fencing_token() == fence + 1);
    mutex.unlock();
  }
}

TEST_CASE_METHOD(outcome_fixture, "outcome: the new lease has its own options, not those of the old one",
                 "[transaction]") {
  outlived();
  auto next = locks->acquire("k", {.ttl = 20s, .renewal = renewal::manual, .max_hold = 1min});
  CHECK(next.remaining() == 19s);
  clock.advance(5s);
  CHECK_NOTHROW(next.renew());
  CHECK(next.remaining() == 19s);
  clock.advance(19s);
  CHECK(next.loss() == loss_reason::expired);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: min_hold of the old lease holds, also against its owner", "[transaction]") {
  const auto fence = outlived({.min_hold = 10s});
  CHECK_FALSE(locks->try_acquire("k"));
  clock.advance(10s - 1us);
  CHECK_FALSE(locks->try_acquire("k"));
  clock.advance(1us);
  CHECK(locks->acquire("k").fencing_token() == fence + 1);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: a lease whose time is over while it is being released is not lost",
                 "[transaction][T46]") {
  const auto at = store->hold(verb::release);
  const auto fence = outlived({.ttl = 1s, .renewal = renewal::none});
  REQUIRE(at->reached());
  REQUIRE(at_rest_after(1s, {.busy = 2}));
  CHECK(seen->count(event::kind::lost) == 0);
  at->open();
  CHECK(locks->acquire("k", {.wait = 0ms}).fencing_token() == fence + 1);
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: who waited before gets the key before its old owner",
                 "[transaction][T33]") {
  std::atomic<std::uint64_t> theirs{0};
  std::thread waiter;
  {
    fake_transaction open(*store);
    const auto held = locks->acquire("k");
    waiter = std::thread([&] { theirs = locks->acquire("k", {.wait = 1h}).fencing_token(); });
    REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  }
  // Destroyed in this order: the lease inside the transaction, which then ends.
  const auto mine = locks->acquire("k", {.wait = 1h});
  waiter.join();
  CHECK(theirs == 2);
  CHECK(mine.fencing_token() == 3);
}

TEST_CASE_METHOD(transaction_fixture, "outcome: a release that the background is at is waited for", "[transaction]") {
  const bool once = GENERATE(true, false);
  const auto at = store->hold(verb::release);
  fake_transaction open(*store);
  hold_in(open, "k");
  open.end();
  REQUIRE(at->reached());
  const auto me = owner::current();
  lease next;
  std::thread again([&] {
    const owner_scope here(me);
    next = once ? locks->try_acquire("k") : locks->acquire("k");
  });
  CHECK(clock.at_rest({.callers = 1, .busy = 1}));
  at->open();
  again.join();
  REQUIRE(next);
  CHECK(next.fencing_token() == 2);
  CHECK(store->count(verb::release) == 1);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: a release that fails leaves the key to the background", "[transaction]") {
  store->next(verb::release, {.what = fate::fail, .why = denied});
  outlived();
  CHECK_FALSE(locks->try_acquire("k"));
  CHECK(eventually([&] { return locks->count(event::kind::release_failed) == 1; }));
  busy->open();
  CHECK(at_rest_after(500ms));
  CHECK(locks->try_acquire("k").fencing_token() == 2);
}

TEST_CASE_METHOD(transaction_fixture,
                 "outcome: acquired at once after each, a key has one holder and one release a time",
                 "[transaction][T70]") {
  constexpr int rounds = 2'000;
  std::uint64_t last = 0;
  bool entered = false;
  for (int i = 0; i < rounds; ++i) {
    fake_transaction open(*store);
    auto held = locks->acquire("k", {.reentry = reentry::refuse});
    entered = entered || held.reentered() || held.fencing_token() != last + 1;
    last = held.fencing_token();
    held.release();
    open.end();
  }
  CHECK_FALSE(entered);
  CHECK(clock.at_rest());
  CHECK(is_free("k"));
  CHECK(store->count(verb::release) == rounds);
  CHECK(locks->count(event::kind::split_brain) == 0);
}
