// SPDX-License-Identifier: GPL-2.0-or-later
// How a pool gets its connections.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/connecting_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(connecting_fixture, "connection_pool: who waits for a connection leaves at his own limit",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 2);
  const auto at = hold_connects();
  asker early([&](fault& reason) { return pool.get(clock.now() + 500ms, 2s, reason); });
  REQUIRE(at->reached());
  REQUIRE(eventually([&] { return pool.waiting() == 1; }));
  clock.advance(499ms);
  CHECK_FALSE(early.answered);
  clock.advance(1ms);
  CHECK_FALSE(early.got());
  CHECK(early.why.connection);
  CHECK(early.why.transient);

  // What comes late serves the next one.
  asker late([&](fault& reason) { return pool.get(clock.now() + 1h, 2s, reason); });
  at->open();
  CHECK(late.got());
  CHECK(where->tried() == 1);
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: who has no time left gets a connection that is nearly made",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 1);
  CHECK(pool.get(clock.now() - 1h, 2s, why));
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: never more attempts at one time than it has places",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 3);
  const auto at = hold_connects();
  pool.prepare_renewal();
  std::vector<std::unique_ptr<asker>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<asker>([&](fault& reason) { return pool.get(clock.now() + 1s, 2s, reason); }));
  }
  REQUIRE(at->reached(4));
  REQUIRE(eventually([&] { return pool.waiting() == 20; }));
  clock.advance(1s);
  for (auto& each : all) CHECK_FALSE(each->got());
  CHECK(where->tried() == 4);
  CHECK(where->most_connecting() == 4);
  at->open();
  CHECK(eventually([&] { return pool.open() == 4; }));
  CHECK(where->tried() == 4);
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: it may end while connections are made, and leaves none",
                 "[connection_pool]") {
  const auto at = hold_connects();
  {
    connection_pool pool(where, clock, 2);
    pool.prepare_renewal();
    asker impatient([&](fault& reason) { return pool.get(clock.now() + 500ms, 2s, reason); });
    REQUIRE(at->reached(2));
    REQUIRE(eventually([&] { return pool.waiting() == 1; }));
    clock.advance(500ms);
    CHECK_FALSE(impatient.got());
  }
  at->open();
  CHECK(eventually([&] { return where->connections() == 0 && where.use_count() == 1; }));
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: at its end it waits for attempts that can be cancelled",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 2);
  const auto at = hold_connects();
  pool.prepare_renewal();
  REQUIRE(at->reached());
  pool.end_connecting(20s);
  CHECK(where.use_count() == 2);  // ours and the pool's: no thread has it any more
  CHECK(where->connections() == 0);
  CHECK_FALSE(get(pool));
  CHECK(where->tried() == 1);
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: those who wait are served in the order in which they came",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 1);
  auto held = std::make_unique<connection_pool::loan>(get(pool));
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    std::atomic<bool> asks{false};
    threads.emplace_back([&, i] {
      fault reason;
      asks = true;
      const auto on = pool.get(clock.now() + 1h, 1h, reason);
      if (on) order.push_back(i);  // one connection: one at a time
    });
    REQUIRE(eventually([&] { return asks.load(); }));
    REQUIRE(eventually([&] { return pool.waiting() == static_cast<std::size_t>(i) + 1; }));
  }
  held.reset();
  for (auto& each : threads) each.join();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: a server with no more to give serves by those that it gave",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 4);
  where->allow_connections(1);
  auto held = std::make_unique<connection_pool::loan>(get(pool));
  REQUIRE(*held);
  const auto only = (**held).identity().id;
  asker next([&](fault& reason) { return pool.get(clock.now() + 1h, 1h, reason); });
  REQUIRE(eventually([&] { return where->tried() >= 2; }));
  CHECK_FALSE(next.answered);
  held.reset();
  CHECK(next.got());
  CHECK(next.number == only);
  // And whoever waits in vain learns the cause.
  CHECK_FALSE(get(pool));
  CHECK(why.native == 1040);
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: after a failure it tries again while others wait",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 2);
  where->allow_connections(1);
  const auto held = get(pool);
  REQUIRE(held);
  asker next([&](fault& reason) { return pool.get(clock.now() + 1h, 1h, reason); });
  REQUIRE(eventually([&] { return where->tried() >= 2; }));
  REQUIRE(clock.at_rest({.callers = 1}));
  where->allow_connections(2);
  clock.advance(200ms);
  CHECK(next.got());
  CHECK(next.number != (*held).identity().id);
}

// ---- renewals -----------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(connecting_fixture, "connection_pool: the connection for renewals serves nothing else",
                 "[connection_pool][T19]") {
  connection_pool pool(where, clock, 1);
  pool.prepare_renewal();
  REQUIRE(eventually([&] { return pool.open() == 1; }));
  const auto on = get(pool);
  REQUIRE(on);
  CHECK(where->connections() == 2);
  CHECK_FALSE(get(pool));
  CHECK(pool.get_for_renewal(clock.now(), 0us, why));
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: without one of its own a renewal gets the next that comes back",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 4);
  where->allow_connections(1);
  auto held = std::make_unique<connection_pool::loan>(get(pool));
  REQUIRE(*held);
  asker other([&](fault& reason) { return pool.get(clock.now() + 1h, 1h, reason); });
  REQUIRE(eventually([&] { return pool.waiting() == 1; }));
  asker renewing([&](fault& reason) { return pool.get_for_renewal(clock.now() + 1h, 0us, reason); });
  REQUIRE(eventually([&] { return pool.waiting() == 2; }));
  held.reset();
  CHECK(renewing.got());
  CHECK_FALSE(other.answered);
  renewing.end();
  CHECK(other.got());
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: a renewal uses another connection while its own takes too long",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 4);
  fill(pool, 1);
  const auto at = hold_connects();
  asker renewing([&](fault& reason) { return pool.get_for_renewal(clock.now() + 500ms, 0us, reason); });
  REQUIRE(at->reached());
  clock.advance(249ms);
  CHECK_FALSE(renewing.answered);
  clock.advance(1ms);
  CHECK(renewing.got());
}

// ---- the end, and what hangs ----------------------------------------------------------------------------------------

TEST_CASE_METHOD(connecting_fixture, "connection_pool: says of each loan when it must be looked at",
                 "[connection_pool][T63]") {
  connection_pool pool(where, clock, 4);
  std::vector<instant> limits;
  pool.on_watch([&](instant limit) { limits.push_back(limit); });
  CHECK(pool.interrupt_hung(clock.now()) == instant::max());
  const auto begun = clock.now();
  {
    const auto on = get(pool);
    const auto hasty = pool.get(begun + 100ms, 0us, why);
    CHECK(pool.interrupt_hung(begun) == begun + 100ms);
    const auto renewing = pool.get_for_renewal(begun + 50ms, 0us, why);
    CHECK(pool.interrupt_hung(begun) == begun + 50ms);
  }
  CHECK(pool.interrupt_hung(begun) == instant::max());
  pool.finish(begun + 10ms);
  CHECK(limits == std::vector<instant>{begun + 2s, begun + 100ms, begun + 50ms, begun + 10ms});
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: a limit of zero patience is the caller's, also after a wait",
                 "[connection_pool][T63]") {
  connection_pool pool(where, clock, 1);
  auto held = std::make_unique<connection_pool::loan>(get(pool));
  const auto until = clock.now() + 1s;
  asker waiting([&](fault& reason) { return pool.get(until, 0us, reason); });
  REQUIRE(eventually([&] { return pool.waiting() == 1; }));
  clock.advance(900ms);
  held.reset();
  CHECK(waiting.got());
  CHECK(pool.interrupt_hung(clock.now()) == until);
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: when it finishes nobody waits beyond that, and renewals end",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 1);
  auto held = std::make_unique<connection_pool::loan>(get(pool));
  asker waiting([&](fault& reason) { return pool.get(clock.now() + 1h, 1h, reason); });
  REQUIRE(eventually([&] { return pool.waiting() == 1; }));
  const auto at = hold_connects();
  asker renewing([&](fault& reason) { return pool.get_for_renewal(clock.now() + 1h, 0us, reason); });
  REQUIRE(at->reached());
  pool.finish(clock.now() + 300ms);
  CHECK_FALSE(renewing.got());
  CHECK_FALSE(waiting.answered);
  CHECK(pool.interrupt_hung(clock.now()) == clock.now() + 300ms);  // what is on loan, too
  clock.advance(300ms);
  CHECK_FALSE(waiting.got());
  CHECK_FALSE(pool.get_for_renewal(clock.now() + 1h, 0us, why));
  CHECK_FALSE(pool.get(clock.now() + 1h, 1h, why));
}
