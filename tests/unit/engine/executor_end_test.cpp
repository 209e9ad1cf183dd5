// SPDX-License-Identifier: BSL-1.0
// When an executor looks after what runs and waits, and how it ends.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "unit/engine/executor_fixture.hpp"
#include "unit/engine/whole_batch_store.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(executor_fixture, "executor limits: says of each statement when it must be looked at",
                 "[statement_executor][T63]") {
  run_executor at(store, clock, 4);
  fill(at, 3);
  open_for_renewals(at, 3);
  REQUIRE(at_rest_after(1h));
  const auto before = at.watched().size();
  const auto begun = clock.now();
  const auto stop = std::make_shared<gate>();
  connection_call first(stop), second(stop);
  auto patient = first.in(*this), hasty = within(second.in(*this), 100ms);
  hasty.timeout = 0us;
  store->next(session_verb::renew, {.before = stop});
  auto renewed = renewal(50ms);
  const waiting_caller slow(*at, patient);
  REQUIRE(stop->reached(1));
  const waiting_caller quick(*at, hasty);
  REQUIRE(stop->reached(2));
  at->submit(renewed);
  REQUIRE(stop->reached(3));
  REQUIRE(clock.at_rest({.busy = 1}));
  at->end_by(begun + 10ms);
  const auto all = at.watched();
  CHECK(std::vector<instant>(all.begin() + static_cast<std::ptrdiff_t>(before), all.end()) ==
        std::vector<instant>{begun + 2s, begun + 100ms, begun + 50ms, begun + 10ms});
  stop->open();
}

TEST_CASE_METHOD(executor_fixture, "executor limits: what has no patience is interrupted at its own, also after a wait",
                 "[statement_executor][T63]") {
  run_executor at(store, clock, 1);
  held_connection held(*this, at);
  const auto stuck = store->hold(verb::poll);
  auto slow = within(poll(), 1s);
  slow.timeout = 0us;
  const waiting_caller waits(*at, slow);
  REQUIRE(clock.at_rest({.callers = 1}));
  REQUIRE(at_rest_after(900ms, {.callers = 1}));
  held.end();
  REQUIRE(stuck->reached());
  REQUIRE(at_rest_after(100ms - 1us));
  CHECK_FALSE(waits.is_answered());
  clock.advance(1us);
  CHECK(waits.answered());
  CHECK(slow.answer.result == outcome::unknown);
}

TEST_CASE_METHOD(executor_fixture, "executor limits: what hangs is interrupted again and again",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  const auto stop = std::make_shared<gate>();
  connection_call holds(stop);
  auto held = holds.in(*this);
  const waiting_caller holder(*at, held);
  REQUIRE(stop->reached());
  REQUIRE(at_rest_after(2s));
  CHECK(at->tick(clock.now()) == clock.now() + 100ms);
  stop->open();
  CHECK(holder.answered());
}

// ---- the end --------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_fixture, "executor end: nobody waits, and nothing runs, beyond its time, and renewals end",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  const auto stuck = store->hold(verb::poll);
  auto runs = within(poll("a"), 1h), waits = within(poll("a"), 1h), nobodys = within(release(), 1h);
  runs.timeout = 1h;
  const waiting_caller running(*at, runs);
  REQUIRE(stuck->reached());
  const waiting_caller waiting(*at, waits);
  REQUIRE(clock.at_rest({.callers = 1}));
  at->submit(nobodys);
  const auto connects = hold_connects();
  auto renewed = renewal(1h), later = renewal(1h);
  at->submit(renewed);
  REQUIRE(connects->reached());
  at->end_by(clock.now() + 300ms);
  CHECK(notified.reached(1));
  CHECK_FALSE(renewed.sent);
  REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  CHECK_FALSE(waiting.is_answered());
  CHECK_FALSE(running.is_answered());
  at->submit(later);
  CHECK(notified.count() == 2);
  CHECK_FALSE(later.sent);
  clock.advance(300ms);
  CHECK(running.answered());
  CHECK(runs.answer.result == outcome::unknown);
  CHECK(waiting.answered());
  CHECK(notified.reached(3));
  CHECK_FALSE(nobodys.sent);
}

TEST_CASE_METHOD(executor_fixture, "executor end: what waits is answered, what runs is interrupted, nothing begins",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  const auto stuck = store->hold(verb::poll);
  auto runs = within(poll("a"), 1h), waits = within(poll("a"), 1h), nobodys = within(release(), 1h);
  runs.timeout = 1h;
  const waiting_caller running(*at, runs);
  REQUIRE(stuck->reached());
  const waiting_caller waiting(*at, waits);
  at->submit(nobodys);
  REQUIRE(clock.at_rest({.callers = 1}));
  at->stop();
  CHECK(running.answered());
  CHECK(runs.answer.result == outcome::unknown);
  CHECK(waiting.answered());
  CHECK(notified.reached(1));
  for (const auto* each : {&waits, &nobodys}) {
    CHECK_FALSE(each->sent);
    CHECK(each->answer.why.text == "the service ends");
  }
  auto after = poll();
  at->run(after);
  CHECK_FALSE(after.sent);
  at->submit(after);
  CHECK(notified.count() == 2);
  CHECK(store->count(verb::release) == 0);
}

TEST_CASE_METHOD(executor_fixture, "executor end: what was about to be sent on a dead connection is answered",
                 "[statement_executor]") {
  auto polls = std::make_shared<whole_batch_store>(store);
  run_executor at(polls, clock, 2);
  fill(at, 1);
  const auto stop = std::make_shared<gate>();
  polls->hold_polls(stop);
  auto waits = within(release("a"), 1h), nobodys = within(release("b"), 1h);
  store->close_connections();
  const auto stop_at_once = [&] {
    REQUIRE(stop->reached());
    at->stop();
    polls->hold_polls(nullptr);
    stop->open();
  };
  SECTION("of a caller") {
    const waiting_caller caller(*at, {&waits}, {&nobodys});
    stop_at_once();
    CHECK(caller.answered());
    if (!caller.is_answered()) clock.advance(2h);
    CHECK_FALSE(waits.sent);
  }
  SECTION("of nobody") {
    at->submit(nobodys);
    stop_at_once();
  }
  CHECK(eventually([&] { return notified.count() == 1; }));
  CHECK_FALSE(nobodys.sent);
}

TEST_CASE_METHOD(executor_fixture, "executor end: a renewal that was about to be sent on a dead connection ends",
                 "[statement_executor]") {
  auto polls = std::make_shared<whole_batch_store>(store);
  run_executor at(polls, clock, 2);
  open_for_renewals(at);
  const auto stop = std::make_shared<gate>();
  polls->hold_polls(stop);
  store->close_connections();
  auto renewed = renewal(1h);
  at->submit(renewed);
  REQUIRE(stop->reached());
  at->end_by(clock.now() + 1h);
  polls->hold_polls(nullptr);
  stop->open();
  REQUIRE(clock.at_rest());
  CHECK(notified.count() == 1);
  CHECK_FALSE(renewed.sent);
}
