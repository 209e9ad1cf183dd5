// SPDX-License-Identifier: BSL-1.0
// What becomes of an executor's connections that are of no more use, and of what was to be sent on them.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "unit/engine/executor_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

using names = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(executor_fixture, "executor connections: one that broke is dropped, and not used again",
                 "[statement_executor][T67]") {
  run_executor at(store, clock, 1);
  connection_call before, after;
  auto first = before.in(*this);
  at->run(first);
  store->next(verb::poll, {.what = test::fate::vanish});
  auto breaks = poll();
  at->run(breaks);
  CHECK(breaks.answer.result == outcome::unknown);
  CHECK(at->open() == 0);
  CHECK(store->connections() == 0);
  auto next = after.in(*this);
  at->run(next);
  CHECK(next.answer.result == outcome::yes);
  CHECK(after.number != before.number);
}

TEST_CASE_METHOD(executor_fixture,
                 "executor connections: in the place of one that broke another is made for those who wait",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  const auto stuck = store->hold(verb::poll, {.what = test::fate::vanish});
  auto breaks = poll("a"), waits = poll("a"), nobodys = poll("a");
  const bool submitted = GENERATE(false, true);
  CAPTURE(submitted);
  {
    const waiting_caller first(*at, breaks);
    REQUIRE(stuck->reached());
    std::deque<waiting_caller> second;
    submitted ? at->submit(nobodys) : static_cast<void>(second.emplace_back(*at, waits));
    REQUIRE(clock.at_rest({.callers = submitted ? 0U : 1U}));
    stuck->open();
    CHECK(first.answered());
    // At once: nobody's time has come.
    const auto served = [&] { return submitted ? notified.count() == 1 : second.front().is_answered(); };
    CHECK(eventually(served));
    if (!served()) clock.advance(2s);
  }
  CHECK((submitted ? nobodys : waits).sent);
}

TEST_CASE_METHOD(executor_fixture, "executor connections: what the server has closed is not used, and all of it goes",
                 "[statement_executor]") {
  run_executor at(store, clock, 4);
  fill(at, 3);
  store->close_connections();
  auto statement = poll();
  at->run(statement);
  CHECK(statement.answer.result == outcome::absent);
  CHECK(store->count(verb::poll) == 1);
  // The new one, and that of renewals, which is needed for certain.
  CHECK(eventually([&] { return at->open() == 2; }));
  CHECK(store->connections() == 2);
}

TEST_CASE_METHOD(executor_fixture, "executor connections: what was not sent is sent again, on another connection, once",
                 "[statement_executor]") {
  run_executor at(store, clock, 4);
  fill(at, 4);
  store->close_connections(false);  // seen only as it is used
  auto statement = poll();
  at->run(statement);
  CHECK(statement.answer.result == outcome::absent);
  CHECK(store->count(verb::poll) == 2);
  CHECK(at->open() == 1);  // the others were not trusted any more

  // Once, and not after the limit, and not if it may have been done.
  store->next(verb::poll, {.what = test::fate::fail, .why = gone, .times = 2});
  at->run(statement);
  CHECK(statement.answer.result == outcome::failed);
  CHECK(store->count(verb::poll) == 4);
  store->next(verb::poll, {.what = test::fate::fail, .why = gone});
  auto late = within(poll(), 0s);
  at->run(late);
  CHECK(late.answer.result == outcome::failed);
  CHECK(store->count(verb::poll) == 5);
  store->next(verb::poll, {.what = test::fate::drop});
  at->run(statement);
  CHECK(statement.answer.result == outcome::unknown);
  CHECK(store->count(verb::poll) == 6);
  // What nobody waits for is sent again as well.
  store->next(verb::poll, {.what = test::fate::fail, .why = gone});
  at->submit(statement);
  CHECK(notified.reached(1));
  CHECK(statement.answer.result == outcome::absent);
  CHECK(store->count(verb::poll) == 8);
}

TEST_CASE_METHOD(executor_fixture, "executor connections: what is to be sent again waits no longer than it would have",
                 "[statement_executor]") {
  run_executor at(store, clock, 2);
  fill(at, 1);
  const auto stuck = store->hold(verb::release, {.what = test::fate::fail, .why = gone});
  auto waits = within(release("a"), 1s), nobodys = within(release("b"), 1s);
  for (auto* each : {&waits, &nobodys}) each->timeout = 1h;
  // One whose statement another thread sends, and one that nobody waits for.
  const bool somebody = GENERATE(true, false);
  CAPTURE(somebody);
  held_connection busy(*this, at, priority::frees);
  store->refuse_connections({.native = 2002, .transient = true, .connection = true, .full = true, .text = "none"});
  std::optional<waiting_caller> caller;
  at->submit(nobodys);
  if (somebody) caller.emplace(*at, waits);
  REQUIRE(clock.at_rest({.callers = somebody ? 1U : 0U}));
  const auto connects = hold_connects();
  busy.end();
  REQUIRE(stuck->reached());
  REQUIRE(at_rest_after(500ms, {.callers = 0, .busy = 1}));
  stuck->open();
  REQUIRE(connects->reached());
  clock.advance(500ms);
  CHECK(notified.reached(1));
  CHECK(notified.count() == 1);
  CHECK_FALSE(nobodys.sent);
  if (caller && !caller->answered()) {
    CHECK(caller->is_answered());
    at->stop();
  }
  connects->open();
}

TEST_CASE_METHOD(executor_fixture,
                 "executor connections: where one has hung for long, none of the idle ones is used again",
                 "[statement_executor][T63]") {
  const auto timeout = GENERATE(999ms, 1000ms);
  CAPTURE(timeout);
  run_executor at(store, clock, 4);
  fill(at, 3);
  const auto stuck = store->hold(verb::poll);
  auto statement = poll();
  statement.timeout = timeout;
  const waiting_caller hanging(*at, statement);
  REQUIRE(stuck->reached());
  clock.advance(timeout);
  CHECK(hanging.answered());
  CHECK(at->open() == (timeout < 1s ? 2 : 0));
}

// ---- another server -------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_fixture, "executor connections: those to a server that was left are not used any more",
                 "[statement_executor][T59]") {
  run_executor at(store, clock, 4);
  fill(at, 2);
  {
    held_connection disturbed_by_nobody(*this, at, priority::frees);
    store->change_server("other");
    {
      const held_connection first(*this, at, priority::frees);  // the other old one
      const held_connection second(*this, at, priority::frees);
      CHECK(second.call.server == "other");
      CHECK(store->connections() == 3);
    }
    CHECK(store->connections() == 2);
    CHECK_FALSE(disturbed_by_nobody.caller.is_answered());
    disturbed_by_nobody.end();
    CHECK(disturbed_by_nobody.asked.answer.result == outcome::yes);
  }
  CHECK(store->connections() == 1);
  connection_call after;
  auto next = after.in(*this);
  at->run(next);
  CHECK(after.server == "other");
  CHECK(at.greeted() == names{"server", "server", "other"});
}

TEST_CASE_METHOD(executor_fixture, "executor connections: idle ones to a server that was left are closed at once",
                 "[statement_executor][T59]") {
  run_executor at(store, clock, 4);
  fill(at, 3);
  store->change_server("other");
  // That of renewals is the first that leads elsewhere.
  at->prepare_renewals();
  CHECK(eventually([&] { return at.greeted().back() == "other" && store->connections() == 1; }));
  connection_call after;
  auto next = after.in(*this);
  at->run(next);
  CHECK(after.server == "other");
}

TEST_CASE_METHOD(executor_fixture,
                 "executor connections: an attempt that began before the server changed changes nothing",
                 "[statement_executor][T59]") {
  run_executor at(store, clock, 4);
  fill(at, 1);
  // One to the old server is being made; it is there, but not told yet, when another one leads elsewhere.
  const auto answered_late = std::make_shared<gate>();
  at.on_connected([&](const std::string& server) {
    if (server == "server") answered_late->pass();
  });
  at->prepare_renewals();
  REQUIRE(answered_late->reached());
  store->change_server("other");
  {
    const held_connection old(*this, at, priority::frees);
    const held_connection next(*this, at, priority::frees);
    CHECK(next.call.server == "other");
  }
  answered_late->open();
  CHECK(eventually([&] { return at->open() == 1; }));
  auto renewed = renewal();
  at->submit(renewed);
  REQUIRE(notified.reached(1));
  CHECK(eventually([&] { return at->open() == 2; }));
  CHECK(at.greeted() == names{"server", "server", "other", "other"});
}

TEST_CASE_METHOD(executor_fixture, "executor connections: one is told of before anything is sent on it",
                 "[statement_executor][T59]") {
  run_executor at(store, clock, 4);
  std::size_t sent = 99;
  at.on_connected([&](const std::string&) { sent = store->count(verb::poll); });
  auto statement = poll();
  at->run(statement);
  CHECK(statement.sent);
  CHECK(sent == 0);
}
