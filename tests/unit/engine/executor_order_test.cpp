// SPDX-License-Identifier: GPL-2.0-or-later
// In which order an executor sends what waits, and what it leaves for releases.
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "unit/engine/executor_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(executor_fixture, "statement_executor: takes are executed in the order in which they came",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  happenings seen;
  held_connection held(*this, at);
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  std::deque<waiting_caller> callers;
  order expected;
  for (std::size_t i = 0; i < 8; ++i) {
    expected.push_back(std::to_string(i));
    calls.emplace_back().use = [&seen, i](connection&) { seen.add(std::to_string(i)); };
    callers.emplace_back(*at, all.emplace_back(calls.back().in(*this)));
    REQUIRE(clock.at_rest({.callers = i + 1}));
    CHECK(at->queued() == i + 1);
  }
  held.end();
  for (const auto& each : callers) CHECK(each.answered());
  CHECK(seen.all() == expected);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: releases go before extensions, and these before takes",
                 "[statement_executor]") {
  run_executor at(store, clock, 1);
  happenings seen;
  held_connection held(*this, at);
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  std::deque<waiting_caller> callers;
  for (const auto& [in, name] : {std::pair{line::takes, "take"}, {line::extends, "extension"}, {line::frees, "free"}}) {
    calls.emplace_back().use = [&seen, told = name](connection&) { seen.add(told); };
    callers.emplace_back(*at, all.emplace_back(calls.back().in(*this, in)));
    REQUIRE(clock.at_rest({.callers = callers.size()}));
  }
  held.end();
  for (const auto& each : callers) CHECK(each.answered());
  CHECK(seen.all() == order{"free", "extension", "take"});
}

TEST_CASE_METHOD(executor_fixture,
                 "statement_executor: takes and extensions leave one connection to releases, if there are several",
                 "[statement_executor]") {
  run_executor at(store, clock, 3);
  const auto stop = std::make_shared<gate>();
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  std::deque<waiting_caller> callers;
  for (const auto in : {line::takes, line::extends, line::takes, line::extends, line::takes}) {
    callers.emplace_back(*at, all.emplace_back(calls.emplace_back(stop).in(*this, in)));
  }
  REQUIRE(stop->reached(2));
  REQUIRE(eventually([&] { return at->queued() == 3; }));
  CHECK(at->queued() == 3);
  clock.advance(engine::concurrency_limit::patience + 1us);  // for so long a crowd waits to share a statement
  auto freed = release();
  at->run(freed);  // at once
  CHECK(freed.sent);
  CHECK(at->queued() == 3);
  stop->open();
  for (const auto& each : callers) CHECK(each.answered());
}

TEST_CASE_METHOD(executor_fixture,
                 "statement_executor: takes leave one connection to releases where the server has few to give",
                 "[statement_executor]") {
  run_executor at(store, clock, 8);
  fill(at, 2);
  store->allow_connections(2);
  const auto attempts = at.attempts();
  const auto stop = std::make_shared<gate>();
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  std::deque<waiting_caller> callers;
  const auto take = [&] {
    auto& patient = all.emplace_back(within(calls.emplace_back(stop).in(*this), 1h));
    patient.patience = 1h;
    callers.emplace_back(*at, patient);
  };
  {
    // All are in use, and there are no more.
    const held_connection first(*this, at, line::frees), second(*this, at, line::frees);
    take();
    REQUIRE(eventually([&] { return at.attempts() > attempts; }));
    take();
    REQUIRE(clock.at_rest({.callers = 2}));
  }
  REQUIRE(stop->reached(1));
  REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  auto freed = release();
  at->run(freed);  // at once: they are no crowd
  CHECK(freed.sent);
  CHECK(at->queued() == 1);
  store->allow_connections(8);  // the server has more again
  clock.advance(200ms);
  CHECK(stop->reached(2));
  const auto connects = hold_connects();
  take();  // so the idle one need not be saved
  CHECK(stop->reached(3));
  connects->open();
  stop->open();
  for (const auto& each : callers) CHECK(each.answered());
}
