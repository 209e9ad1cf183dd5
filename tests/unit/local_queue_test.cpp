// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/local_queue.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "dlock/stores/memory.hpp"
#include "engine/grant.hpp"
#include "support/eventually.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using detail::local_queue;
using detail::owner_state;
using test::eventually;
using turn = local_queue::turn;

struct queue_fixture {
  stores::virtual_clock clock;
  local_queue queue{clock, 100};
  owner_state me;

  turn enter(const lock_key& key, const owner_state* who, std::chrono::milliseconds wait,
             const std::stop_token& cancel = {}) {
    return queue.enter(key, who, clock.now() + wait, cancel, [] { return false; });
  }
  bool in_line(std::size_t count) {
    return eventually([&] { return queue.waiting() == count; });
  }
};

}  // namespace

TEST_CASE_METHOD(queue_fixture, "local_queue: one at a time, other keys are not concerned", "[local_queue][T05]") {
  CHECK(queue.try_enter("a"));
  CHECK_FALSE(queue.try_enter("a"));
  CHECK(queue.try_enter("b"));
  queue.leave("a");
  CHECK(queue.try_enter("a"));
}

TEST_CASE_METHOD(queue_fixture, "local_queue: thousands of keys never share a place", "[local_queue][T05]") {
  constexpr int keys = 20'000;
  int refused = 0;
  for (int i = 0; i < keys; ++i) refused += queue.try_enter(std::to_string(i)) ? 0 : 1;
  CHECK(refused == 0);
  for (int i = 0; i < keys; ++i) queue.leave(std::to_string(i));
  for (int i = 0; i < keys; ++i) refused += queue.try_enter(std::to_string(i)) ? 0 : 1;
  CHECK(refused == 0);
}

TEST_CASE_METHOD(queue_fixture, "local_queue: first come, first served", "[local_queue][T33]") {
  REQUIRE(queue.try_enter("k"));
  std::vector<int> order;  // guarded by the turn
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i, &order] {
      if (enter("k", nullptr, 1h) != turn::mine) return;
      order.push_back(i);
      queue.leave("k");
    });
    REQUIRE(in_line(static_cast<std::size_t>(i) + 1));
  }
  queue.leave("k");
  for (auto& each : threads) each.join();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE_METHOD(queue_fixture, "local_queue: nobody overtakes those in line", "[local_queue]") {
  REQUIRE(queue.try_enter("k"));
  turn end = turn::too_many;
  std::thread first([&] { end = enter("k", nullptr, 1h); });
  REQUIRE(in_line(1));
  queue.leave("k");
  CHECK_FALSE(queue.try_enter("k"));  // it is the waiter's, though it may not run yet
  first.join();
  CHECK(end == turn::mine);
  queue.leave("k");
  CHECK(queue.try_enter("k"));
}

TEST_CASE_METHOD(queue_fixture, "local_queue: the wait ends at the deadline and leaves no trace", "[local_queue]") {
  REQUIRE(queue.try_enter("k"));
  turn end = turn::too_many;
  std::thread waiter([&] { end = enter("k", nullptr, 5s); });
  REQUIRE(in_line(1));
  clock.advance(5s - 1us);
  CHECK(queue.waiting() == 1);
  clock.advance(1us);
  waiter.join();
  CHECK(end == turn::timed_out);
  CHECK(queue.waiting() == 0);
  queue.leave("k");
  CHECK(queue.try_enter("k"));
}

TEST_CASE_METHOD(queue_fixture, "local_queue: a cancellation ends the wait, also one from before",
                 "[local_queue][T35]") {
  REQUIRE(queue.try_enter("k"));
  std::stop_source stop;
  turn end = turn::too_many;
  std::thread waiter([&] { end = enter("k", nullptr, 1h, stop.get_token()); });
  REQUIRE(in_line(1));
  stop.request_stop();
  waiter.join();
  CHECK(end == turn::cancelled);
  CHECK(enter("k", nullptr, 1h, stop.get_token()) == turn::cancelled);
  CHECK(queue.waiting() == 0);
  queue.leave("k");
  CHECK(queue.try_enter("k"));
}

TEST_CASE_METHOD(queue_fixture, "local_queue: waiters are bounded", "[local_queue][T36]") {
  local_queue two(clock, 2);
  const auto enter_two = [&](const char* key) {
    return two.enter(key, nullptr, clock.now() + 1h, {}, [] { return false; });
  };
  REQUIRE(two.try_enter("a"));
  REQUIRE(two.try_enter("b"));
  turn ends[2]{turn::cancelled, turn::cancelled};
  std::thread first([&] { ends[0] = enter_two("a"); });
  std::thread second([&] { ends[1] = enter_two("b"); });
  REQUIRE(eventually([&] { return two.waiting() == 2; }));
  CHECK(enter_two("a") == turn::too_many);
  CHECK(two.waiting() == 2);
  two.leave("a");
  two.leave("b");
  first.join();
  second.join();
  CHECK(ends[0] == turn::mine);
  CHECK(ends[1] == turn::mine);
  CHECK(enter_two("c") == turn::mine);
}

TEST_CASE_METHOD(queue_fixture, "local_queue: a grant lets waiters of the same owner in, and no others",
                 "[local_queue][T44]") {
  owner_state stranger;
  REQUIRE(queue.try_enter("k"));
  turn mine = turn::cancelled, other = turn::cancelled;
  std::thread waits_as_me([&] { mine = enter("k", &me, 1h); });
  REQUIRE(in_line(1));
  std::thread waits_as_stranger([&] { other = enter("k", &stranger, 1h); });
  REQUIRE(in_line(2));
  queue.granted("k", &me);
  waits_as_me.join();
  CHECK(mine == turn::reenter);
  CHECK(queue.waiting() == 1);
  queue.leave("k");
  waits_as_stranger.join();
  CHECK(other == turn::mine);
}

TEST_CASE_METHOD(queue_fixture, "local_queue: a grant just before the waiter stood in line is not missed",
                 "[local_queue][T33]") {
  REQUIRE(queue.try_enter("k"));
  queue.granted("k", &me);
  CHECK(queue.enter("k", &me, clock.now() + 1h, {}, [] { return true; }) == turn::reenter);
  CHECK(queue.waiting() == 0);
}

TEST_CASE_METHOD(queue_fixture, "local_queue: a turn that comes together with a cancellation is not lost",
                 "[local_queue][T14][T33]") {
  for (int round = 0; round < 200; ++round) {
    REQUIRE(queue.try_enter("k"));
    std::stop_source stop;
    std::thread waiter([&] {
      if (enter("k", nullptr, 1h, stop.get_token()) == turn::mine) queue.leave("k");
    });
    REQUIRE(in_line(1));
    std::thread canceller([&] { stop.request_stop(); });
    queue.leave("k");
    canceller.join();
    waiter.join();
    REQUIRE(queue.try_enter("k"));
    queue.leave("k");
  }
}
