// SPDX-License-Identifier: GPL-2.0-or-later
// What becomes of a pool's connections that are of no more use.
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

TEST_CASE_METHOD(connecting_fixture, "connection_pool: what the server has closed is not lent, and all of it goes",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 4);
  fill(pool, 3);
  where->close_connections();
  const auto on = get(pool);
  REQUIRE(on);
  CHECK((*on).alive());
  CHECK(pool.open() == 1);
  CHECK(where->connections() == 1);
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: what was not sent is sent again, on another connection, once",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 4);
  fill(pool, 4);
  const request ask{.action = verb::look, .resource = "k"};
  const auto look = [&](connection& on) {
    reply answer;
    where->execute(on, {&ask, 1}, {&answer, 1});
    return answer;
  };
  where->close_connections(false);  // seen only as it is used
  CHECK(pool.run(clock.now() + 2s, 2s, look).result == outcome::absent);
  CHECK(where->count(verb::look) == 2);
  CHECK(pool.open() == 1);  // the others were not trusted any more

  // Once, and not after the limit, and not if it may have been done.
  const fault gone{.native = 2006, .transient = true, .connection = true, .text = "gone"};
  where->next(verb::look, {.what = test::fate::fail, .why = gone, .times = 2});
  CHECK(pool.run(clock.now() + 2s, 2s, look).result == outcome::failed);
  CHECK(where->count(verb::look) == 4);
  where->next(verb::look, {.what = test::fate::fail, .why = gone});
  CHECK(pool.run(clock.now(), 2s, look).result == outcome::failed);
  CHECK(where->count(verb::look) == 5);
  where->next(verb::look, {.what = test::fate::drop});
  CHECK(pool.run(clock.now() + 2s, 2s, look).result == outcome::unknown);
  CHECK(where->count(verb::look) == 6);
}

TEST_CASE_METHOD(connecting_fixture,
                 "connection_pool: where one has hung for long, none of the idle ones is used again",
                 "[connection_pool][T63]") {
  const auto patience = GENERATE(999ms, 1000ms);
  CAPTURE(patience);
  connection_pool pool(where, clock, 4);
  fill(pool, 3);
  const auto at = where->hold(verb::look);
  std::thread hanging([&] {
    fault reason;
    const auto on = pool.get(clock.now(), patience, reason);
    const request ask{.action = verb::look, .resource = "k"};
    reply answer;
    where->execute(*on, {&ask, 1}, {&answer, 1});
  });
  REQUIRE(at->reached());
  clock.advance(patience);
  pool.interrupt_hung(clock.now());
  hanging.join();
  CHECK(pool.open() == (patience < 1s ? 2 : 0));
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: connections to a server that was left are not used any more",
                 "[connection_pool][T59]") {
  connection_pool pool(where, clock, 4);
  std::vector<std::string> greeted;
  pool.on_connect([&](const connection_identity& to) { greeted.push_back(to.server); });
  std::vector<connection_pool::loan> loans;
  for (int i = 0; i < 3; ++i) loans.push_back(get(pool));
  loans.pop_back();
  loans.pop_back();  // two idle ones, one on loan
  CHECK(where->connections() == 3);

  where->change_server("other");
  std::list<connection_pool::loan> more;
  for (int i = 0; i < 3; ++i) more.push_back(get(pool));
  CHECK((*more.back()).identity().server == "other");
  CHECK(where->connections() == 4);
  more.pop_front();  // they were taken before that was known
  more.pop_front();
  CHECK(where->connections() == 2);
  CHECK((*loans[0]).usable());  // nobody's statement is disturbed
  loans.clear();
  CHECK(where->connections() == 1);
  CHECK(greeted == std::vector<std::string>{"server", "server", "server", "other"});
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: idle connections to a server that was left are closed at once",
                 "[connection_pool][T59]") {
  connection_pool pool(where, clock, 4);
  fill(pool, 3);
  where->change_server("other");
  std::vector<connection_pool::loan> all;
  for (int i = 0; i < 2; ++i) all.push_back(get(pool));
  fault reason;
  // That of renewals is the first that leads elsewhere.
  const auto renewing = pool.get_for_renewal(clock.now() + 2s, 0us, reason);
  CHECK((*renewing).identity().server == "other");
  CHECK(where->connections() == 3);
  all.clear();
  CHECK(where->connections() == 1);
}

TEST_CASE_METHOD(connecting_fixture, "connection_pool: an attempt that began before the server changed changes nothing",
                 "[connection_pool][T59]") {
  connection_pool pool(where, clock, 4);
  std::vector<std::string> greeted;
  pool.on_connect([&](const connection_identity& to) { greeted.push_back(to.server); });
  fill(pool, 1);
  // One to the old server is made, and nobody uses it yet.
  pool.prepare_renewal();
  REQUIRE(eventually([&] { return pool.open() == 2; }));
  where->change_server("other");
  const auto old = get(pool);
  const auto on = get(pool);
  CHECK((*on).identity().server == "other");
  fault reason;
  const auto renewing = pool.get_for_renewal(clock.now() + 2s, 0us, reason);
  CHECK((*renewing).identity().server == "other");
  CHECK(greeted == std::vector<std::string>{"server", "other", "other"});
}
