// SPDX-License-Identifier: BSL-1.0
// What a service does when its store notices something without being asked (store_listener).
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct notices_fixture : engine_fixture {
  std::size_t delete_lock(std::string_view key, std::uint64_t fence) {
    const auto session = store->opened().back();
    return store->notice([&](store_listener& to) { to.lock_deleted(key, session, fence); });
  }
  std::size_t suspect() {
    return store->notice([](store_listener& to) { to.renew_now(); });
  }
};

}  // namespace

TEST_CASE_METHOD(notices_fixture,
                 "notices: a lock that the store reports as deleted is lost at once, and only that one", "[notices]") {
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = 10s});
  const auto other = locks->acquire("other", {.ttl = 10s});
  REQUIRE(delete_lock("k", held.fencing_token()) == 1);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::taken_over);
  CHECK_THROWS_AS(held.ensure_held(), lock_lost);
  CHECK_NOTHROW(other.ensure_held());
  CHECK(seen->wait_for(event::kind::lost, 1));
}

TEST_CASE_METHOD(notices_fixture, "notices: a report about an earlier grant of the key ends no later one",
                 "[notices]") {
  const auto locks = service();
  const auto before = locks->acquire("k", {.ttl = 10s}).fencing_token();
  const auto held = locks->acquire("k", {.ttl = 10s});
  REQUIRE(delete_lock("k", before) == 1);
  REQUIRE(clock.at_rest());
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(notices_fixture, "notices: a report that overtakes its grant ends it all the same", "[notices]") {
  const auto locks = service();
  locks->acquire("warm up", {.ttl = 10s}).release();
  const auto next = locks->acquire("k", {.ttl = 10s}).fencing_token() + 1;
  REQUIRE(delete_lock("k", next) == 1);
  REQUIRE(clock.at_rest());
  const auto held = locks->acquire("k", {.ttl = 10s});
  REQUIRE(held.fencing_token() == next);
  clock.advance(20ms);
  CHECK(is_lost(held));
}

TEST_CASE_METHOD(notices_fixture, "notices: a report that matches no grant is forgotten after a second", "[notices]") {
  const auto locks = service();
  const auto next = locks->acquire("k", {.ttl = 10s}).fencing_token() + 1;
  REQUIRE(delete_lock("k", next) == 1);
  for (int i = 0; i != 11; ++i) REQUIRE(at_rest_after(100ms));
  const auto held = locks->acquire("k", {.ttl = 10s});
  REQUIRE(held.fencing_token() == next);
  REQUIRE(at_rest_after(100ms));
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(notices_fixture, "notices: when the store suspects a loss the sessions are renewed at once",
                 "[notices]") {
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = 10s});
  SECTION("a session that lives on keeps its leases") {
    REQUIRE(suspect() == 1);
    CHECK(eventually([&] { return store->count(session_verb::renew) == 1; }));
    CHECK_NOTHROW(held.ensure_held());
  }
  SECTION("a session that is gone loses them long before the renewal that was due") {
    store->next(session_verb::renew, {.what = fate::say, .answer = outcome::no});
    REQUIRE(suspect() == 1);
    CHECK(is_lost(held));
    CHECK(held.loss() == loss_reason::renewal_refused);
  }
}

TEST_CASE_METHOD(notices_fixture, "notices: a renewal that is under way is followed by another one", "[notices]") {
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = 10s});
  const auto gate = store->hold(session_verb::renew);
  clock.advance(3400ms);
  REQUIRE(gate->reached());
  REQUIRE(suspect() == 1);
  gate->open();
  CHECK(eventually([&] { return store->count(session_verb::renew) == 2; }));
}

TEST_CASE_METHOD(notices_fixture, "notices: a service that has ended hears nothing more", "[notices]") {
  service().reset();
  CHECK(eventually([&] { return suspect() == 0; }));
}

TEST_CASE_METHOD(notices_fixture, "notices: a store says why its waiters poll, and the observer hears it",
                 "[notices]") {
  const auto locks = service();
  REQUIRE(store->notice([](store_listener& to) { to.waiters_poll("a reason"); }) == 1);
  REQUIRE(seen->wait_for(event::kind::waiters_poll, 1));
  CHECK(seen->records().back().text == "a reason");
}
