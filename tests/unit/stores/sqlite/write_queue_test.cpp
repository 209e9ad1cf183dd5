// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/busy_retry.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>
#include <vector>

using dlock::stores::sqlite::sqlite_write_queue;
using namespace std::chrono_literals;

namespace {

const std::atomic<bool> never{false};

sqlite_write_queue::time_point in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

void wait_for(sqlite_write_queue& queue, std::size_t waiting) {
  while (queue.waiting() != waiting) std::this_thread::yield();
}

}  // namespace

TEST_CASE("sqlite write queue: turns are given in the order of arrival", "[unit][sqlite]") {
  constexpr int threads = 5;
  sqlite_write_queue queue;
  sqlite_write_queue::waiter mine;
  REQUIRE(queue.enter(mine, in(1min), never));
  std::vector<int> order;  // written only by who has the turn
  {
    std::vector<std::jthread> others;
    for (int i = 0; i < threads; ++i) {
      others.emplace_back([&, i] {
        sqlite_write_queue::waiter me;
        if (!queue.enter(me, in(1min), never)) return;
        order.push_back(i);
        queue.leave();
      });
      wait_for(queue, static_cast<std::size_t>(i) + 1);
    }
    queue.leave();
  }
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(queue.enter(mine, in(0ms), never));
}

TEST_CASE("sqlite write queue: who has waited long enough leaves the line without a trace", "[unit][sqlite]") {
  sqlite_write_queue queue;
  sqlite_write_queue::waiter first, second;
  REQUIRE(queue.enter(first, in(1min), never));
  CHECK_FALSE(queue.enter(second, in(5ms), never));
  CHECK(queue.waiting() == 0);
  queue.leave();
  CHECK(queue.enter(second, in(0ms), never));
}

TEST_CASE("sqlite write queue: a cancelled waiter in the middle leaves the others in order", "[unit][sqlite]") {
  sqlite_write_queue queue;
  sqlite_write_queue::waiter mine, cancelled_one;
  std::atomic<bool> cancelled{false};
  std::atomic<int> turns{0};
  std::atomic<bool> refused{false};
  REQUIRE(queue.enter(mine, in(1min), never));
  const auto take_turn = [&] {
    sqlite_write_queue::waiter me;
    if (!queue.enter(me, in(1min), never)) return;
    ++turns;
    queue.leave();
  };
  {
    std::jthread before(take_turn);
    wait_for(queue, 1);
    std::jthread middle([&] { refused = !queue.enter(cancelled_one, in(1min), cancelled); });
    wait_for(queue, 2);
    std::jthread behind(take_turn);
    wait_for(queue, 3);
    cancelled = true;
    queue.nudge(cancelled_one);
    wait_for(queue, 2);
    CHECK(turns == 0);
    queue.leave();
  }
  CHECK(refused);
  CHECK(turns == 2);
}

TEST_CASE("sqlite write queue: renewals announce themselves as long as they wait", "[unit][sqlite]") {
  sqlite_write_queue queue;
  CHECK_FALSE(queue.urgent_waiting());
  {
    const sqlite_write_queue::urgent first(queue), second(queue);
    CHECK(queue.urgent_waiting());
  }
  CHECK_FALSE(queue.urgent_waiting());
}
