// SPDX-License-Identifier: BSL-1.0
// Who executes what, when, and in which order.
#include "engine/statements/statement_executor.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/on_threads.hpp"
#include "unit/engine/executor_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

// ---- connections ----------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_fixture, "statement_executor: connects when asked, not before, and keeps warm",
                 "[statement_executor]") {
  run_executor at(store, clock, 4);
  CHECK(at->open() == 0);
  connection_call first, again;
  auto statement = first.in(*this);
  at->run(statement);
  CHECK(statement.answer.result == outcome::yes);
  CHECK(at->open() == 1);
  auto other = again.in(*this);
  at->run(other);
  CHECK(again.number == first.number);
  CHECK(at->open() == 1);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: never more connections than its size, others wait their turn",
                 "[statement_executor][T68]") {
  run_executor at(store, clock, 2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  on_threads(16, [&](int i) {
    for (int round = 0; round < 20; ++round) {
      connection_call mine;
      mine.use = [&](connection&) {
        const int now = ++inside;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        --inside;
      };
      auto statement = mine.in(*this, i % 2 == 0 ? priority::frees : priority::takes);
      at->run(statement);
      done += statement.answer.result == outcome::yes ? 1 : 0;
    }
  });
  CHECK(done == 16 * 20);
  CHECK(most <= 2);
  CHECK(store->most_connections() <= 2);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: what finds no connection in time is told why",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  const held_connection held(*this, at);
  auto late = within(poll(), 0s);
  at->run(late);
  CHECK_FALSE(late.sent);
  CHECK(late.answer.result == outcome::failed);
  CHECK(late.answer.why.transient);
  CHECK_FALSE(late.answer.why.connection);
  CHECK(late.answer.why.text.find("busy") != std::string::npos);

  auto patient = within(poll(), 5s);
  auto nobodys = within(poll("other"), 5s);
  const waiting_caller waits(*at, patient);
  at->submit(nobodys);
  REQUIRE(clock.at_rest({.callers = 1}));
  REQUIRE(at_rest_after(5s - 1us, {.callers = 1}));
  CHECK_FALSE(waits.is_answered());
  CHECK(notified.count() == 0);
  clock.advance(1us);
  CHECK(waits.answered());
  CHECK(notified.reached(1));
  CHECK_FALSE(patient.sent);
  CHECK_FALSE(nobodys.sent);
  CHECK(nobodys.answer.why.text.find("busy") != std::string::npos);
  CHECK(store->count(verb::poll) == 0);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: what hangs is interrupted at its limit, the healthy is not",
                 "[statement_executor][T63]") {
  run_executor at(store, clock, 3);
  const auto stuck = store->hold(verb::poll);
  auto hangs = poll();
  const waiting_caller hanging(*at, hangs);
  REQUIRE(stuck->reached());
  clock.advance(1s);
  const auto stop = std::make_shared<gate>();
  connection_call healthy(stop);
  auto well = healthy.in(*this);
  const waiting_caller other(*at, well);
  REQUIRE(stop->reached());
  REQUIRE(at_rest_after(1s - 1us, {.callers = 0}));
  CHECK_FALSE(hanging.is_answered());
  clock.advance(1us);
  CHECK(hanging.answered());
  CHECK(hangs.sent);
  CHECK(hangs.answer.result == outcome::unknown);
  CHECK_FALSE(other.is_answered());
  CHECK(at->open() == 1);
  stop->open();
  CHECK(other.answered());
  CHECK(well.answer.result == outcome::yes);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: patience counts from the sending, not from the wait before it",
                 "[statement_executor][T63]") {
  run_executor at(store, clock, 1);
  held_connection held(*this, at);
  const auto begun = clock.now();
  auto waits = within(poll(), 1h);  // 2 s of patience
  auto hasty = poll("a");           // none: until its own limit
  hasty.timeout = 0us;
  const auto stuck = store->hold(verb::poll, {.times = 2});
  at->submit(waits);
  REQUIRE(clock.at_rest());
  clock.advance(30s);
  held.end();
  REQUIRE(stuck->reached());
  REQUIRE(clock.at_rest({.busy = 1}));
  CHECK(waits.sent_at == begun + 30s);
  REQUIRE(at_rest_after(2s - 1us, {.busy = 1}));
  CHECK(notified.count() == 0);
  clock.advance(1us);
  CHECK(notified.reached(1));
  CHECK(waits.answer.result == outcome::unknown);

  hasty.queue_deadline = clock.now() + 1s;
  at->submit(hasty);
  REQUIRE(stuck->reached(2));
  REQUIRE(clock.at_rest({.busy = 1}));
  REQUIRE(at_rest_after(1s - 1us, {.busy = 1}));
  CHECK(notified.count() == 1);
  clock.advance(1us);
  CHECK(notified.reached(2));
}

// ---- who executes ---------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_fixture, "statement_executor: a lone caller executes its statement on its own thread",
                 "[statement_executor]") {
  run_executor at(store, clock, 4);
  const auto workers = at.workers();
  for (const auto which : {priority::takes, priority::frees}) {
    for (int round = 0; round < 3; ++round) {
      connection_call mine;
      auto statement = mine.in(*this, which);
      at->run(statement);
      CHECK(mine.thread == std::this_thread::get_id());
    }
  }
  CHECK(at.workers() == workers);
}

TEST_CASE_METHOD(executor_fixture,
                 "statement_executor: a renewal is never executed on a caller's thread, and goes first",
                 "[statement_executor][T19]") {
  run_executor at(store, clock, 1);
  fill(at, 1);
  happenings seen;
  std::thread::id thread{};
  store->next(session_verb::renew, {.ahead = [&] {
                thread = std::this_thread::get_id();
                seen.add("renewal");
              }});
  store->refuse_connections(away);
  connection_call takes, frees;
  takes.use = [&](connection&) { seen.add("take"); };
  frees.use = [&](connection&) { seen.add("free"); };
  auto taken = takes.in(*this);
  auto freed = frees.in(*this, priority::frees);
  auto renewed = renewal();
  held_connection held(*this, at);
  const waiting_caller taker(*at, taken);
  REQUIRE(clock.at_rest({.callers = 1}));
  const waiting_caller freer(*at, freed);
  REQUIRE(clock.at_rest({.callers = 2}));
  at->submit(renewed);
  held.end();
  CHECK(taker.answered());
  CHECK(freer.answered());
  CHECK(notified.reached(1));
  CHECK(seen.all() == order{"renewal", "free", "take"});
  for (const auto* each : {&std::as_const(held.caller), &taker, &freer}) CHECK(thread != each->thread());
}

TEST_CASE_METHOD(executor_fixture,
                 "statement_executor: a renewal that somebody waits for is executed by another thread",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  fill(at, 1);
  std::thread::id thread{};
  store->next(session_verb::renew, {.ahead = [&] { thread = std::this_thread::get_id(); }});
  auto renewed = renewal();
  const waiting_caller waits(*at, renewed);
  CHECK(waits.answered());
  CHECK(renewed.sent);
  CHECK(thread != waits.thread());
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: a late renewal is not sent any more, not even once it could be",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  const auto connects = hold_connects();
  auto renewed = renewal(50ms);
  at->submit(renewed);
  REQUIRE(connects->reached());
  REQUIRE(clock.at_rest({.busy = 1}));
  clock.advance(50ms);
  REQUIRE(notified.reached(1));
  CHECK_FALSE(renewed.sent);
  connects->open();
  REQUIRE(clock.at_rest());
  CHECK(store->count(session_verb::renew) == 0);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: threads are started as needed, one for each connection at most",
                 "[statement_executor]") {
  run_executor at(store, clock, 3, false);
  CHECK(at.workers() == 0);
  const auto stop = std::make_shared<gate>();
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  for (int i = 0; i < 10; ++i) all.push_back(calls.emplace_back(stop).in(*this, priority::frees));
  for (auto& each : all) each.owner = &notified;
  at->submit(all[0]);
  REQUIRE(stop->reached(1));
  REQUIRE(clock.at_rest({.busy = 1}));
  CHECK(at.workers() == 1);
  for (std::size_t i = 1; i < all.size(); ++i) at->submit(all[i]);
  REQUIRE(stop->reached(3));
  stop->open();
  CHECK(notified.reached(10));
  CHECK(at.workers() <= 4);
  CHECK(store->most_connections() == 3);
}

TEST_CASE_METHOD(
    executor_fixture,
    "statement_executor: a caller does not come back late from a statement of others that stood before his",
    "[statement_executor]") {
  run_executor at(store, clock, 4);
  fill(at, 3);
  const auto stuck = std::make_shared<gate>();
  connection_call first(stuck), mine;
  std::deque<held_connection> held;
  for (int i = 0; i < 3; ++i) held.emplace_back(*this, at, priority::frees);
  store->refuse_connections(away);
  // Nobody's release, which hangs, goes first. Whoever waits for the take does not do that one.
  auto nobodys = first.in(*this, priority::frees);
  nobodys.owner = &notified;
  auto wanted = mine.in(*this);
  const waiting_caller caller(*at, {&wanted}, {&nobodys});
  REQUIRE(clock.at_rest({.callers = 1}));
  for (auto& each : held) each.end();
  REQUIRE(stuck->reached());
  CHECK(caller.answered());
  stuck->open();
  CHECK(notified.reached(1));
}
