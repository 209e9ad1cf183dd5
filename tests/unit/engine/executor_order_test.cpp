// SPDX-License-Identifier: BSL-1.0
// In which order an executor sends what waits, and what it leaves for releases.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "engine/statements/blocked_caller.hpp"
#include "support/running_clock.hpp"
#include "unit/engine/executor_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

/// A clock on which one thread that waits does not go on, as if a debugger had stopped it, until it may.
class stopping_clock final : public running_clock {
 public:
  using running_clock::running_clock;
  void stop_this_thread() { stopped_ = std::this_thread::get_id(); }
  bool stopped() { return gate_.reached(); }
  void go_on() { gate_.open(); }

  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    if (std::this_thread::get_id() != stopped_) return running_clock::wait_until(wake, lock, until);
    lock.unlock();
    gate_.pass();
    lock.lock();
  }

 private:
  std::atomic<std::thread::id> stopped_{};
  gate gate_;
};

}  // namespace

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
  for (const auto& [in, name] :
       {std::pair{priority::takes, "take"}, {priority::extends, "extension"}, {priority::frees, "free"}}) {
    calls.emplace_back().use = [&seen, title = name](connection&) { seen.add(title); };
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
  for (const auto in : {priority::takes, priority::extends, priority::takes, priority::extends, priority::takes}) {
    callers.emplace_back(*at, all.emplace_back(calls.emplace_back(stop).in(*this, in)));
  }
  REQUIRE(stop->reached(2));
  REQUIRE(eventually([&] { return at->queued() == 3; }));
  CHECK(at->queued() == 3);
  clock.advance(engine::concurrency_limit::longest_hold + 1us);  // for so long a crowd waits to share a statement
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
    patient.timeout = 1h;
    callers.emplace_back(*at, patient);
  };
  {
    // All are in use, and there are no more.
    const held_connection first(*this, at, priority::frees), second(*this, at, priority::frees);
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

TEST_CASE_METHOD(executor_fixture,
                 "statement_executor: a caller whose thread is stopped keeps no connection from others",
                 "[statement_executor]") {
  const auto in = GENERATE(priority::takes, priority::frees);
  stopping_clock time(clock);
  run_executor at(store, clock, 1, true, &time);
  held_connection held(*this, at, priority::frees);
  connection_call first, second;
  auto asked = first.in(*this, in);
  auto behind = second.in(*this);
  std::thread stopped([&] {
    time.stop_this_thread();
    at->run(asked);
  });
  const struct joined {
    stopping_clock& time;
    std::thread& thread;
    ~joined() {
      time.go_on();
      thread.join();
    }
  } end{time, stopped};
  const auto its_thread = stopped.get_id();
  REQUIRE(time.stopped());
  const waiting_caller other(*at, behind);
  REQUIRE(clock.at_rest({.callers = 1}));
  held.end();  // now it is the turn of the stopped one
  REQUIRE(clock.at_rest({.callers = 1}));
  REQUIRE(at_rest_after(engine::blocked_caller::grace - 1us, {.callers = 1}));
  CHECK_FALSE(other.is_answered());
  REQUIRE(at_rest_after(1us));
  CHECK(other.answered());
  CHECK(first.number != 0);
  CHECK(first.thread != its_thread);
  CHECK(second.number != 0);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: of a caller whose thread is stopped nothing is sent too late",
                 "[statement_executor]") {
  stopping_clock time(clock);
  run_executor at(store, clock, 1, true, &time);
  held_connection held(*this, at);
  connection_call first;
  auto asked = first.in(*this);
  {
    std::thread stopped([&] {
      time.stop_this_thread();
      at->run(asked);
    });
    REQUIRE(time.stopped());
    clock.advance(3s);  // its limit has come
    held.end();
    REQUIRE(clock.at_rest());
    REQUIRE(at_rest_after(10ms));
    time.go_on();
    stopped.join();
  }
  CHECK_FALSE(asked.sent);
  CHECK(first.number == 0);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: a caller whose thread is stopped is no work without an end",
                 "[statement_executor]") {
  stopping_clock time(clock);
  run_executor at(store, clock, 1, false, &time);
  at.no_threads(false, true);
  std::optional<held_connection> held(std::in_place, *this, at);
  connection_call first;
  auto asked = within(first.in(*this), 20ms);
  std::thread stopped([&] {
    time.stop_this_thread();
    at->run(asked);
  });
  const bool stands_still = time.stopped();
  held->end();  // now it is the turn of the stopped one, and nobody else can execute its statement
  // It counts as missing, and its limit has come: with a connection at hand it has a little longer.
  clock.advance(30ms);
  const auto next = at->tick(clock.now());
  time.go_on();
  stopped.join();
  CHECK(stands_still);
  CHECK(next > clock.now());
}
