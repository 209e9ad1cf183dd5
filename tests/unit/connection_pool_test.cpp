// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/connection_pool.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dlock/stores/memory.hpp"
#include "support/eventually.hpp"
#include "support/faulty_store.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using detail::connection_pool;
using test::eventually;
using test::faulty_store;

struct pool_fixture {
  stores::virtual_clock clock;
  std::shared_ptr<faulty_store> where = std::make_shared<faulty_store>(std::make_shared<stores::memory_store>(clock));
  fault why;

  connection_pool::loan get(connection_pool& pool, std::chrono::milliseconds wait = 0ms) {
    return pool.get(clock.now() + wait, 2s, why);
  }
  /// Runs a statement that breaks the connection.
  void break_it(connection& on) {
    where->next(verb::look, {.what = test::fate::vanish});
    const request ask{.action = verb::look, .resource = "k"};
    reply answer;
    where->execute(on, {&ask, 1}, {&answer, 1});
    REQUIRE(answer.result == outcome::unknown);
  }
};

}  // namespace

TEST_CASE_METHOD(pool_fixture, "connection_pool: connects when asked, not before, and keeps warm",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 4);
  CHECK(pool.open() == 0);
  std::uint64_t first = 0;
  {
    const auto on = get(pool);
    REQUIRE(on);
    first = (*on).identity().id;
  }
  CHECK(pool.open() == 1);
  const auto again = get(pool);
  CHECK((*again).identity().id == first);
  CHECK(pool.open() == 1);
}

TEST_CASE_METHOD(pool_fixture, "connection_pool: never more than its size, others wait their turn",
                 "[connection_pool][T68]") {
  connection_pool pool(where, clock, 2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        fault reason;
        const auto on = pool.get(clock.now() + 1h, 1h, reason);
        if (!on) continue;
        const int now = ++inside;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        --inside;
      }
    });
  }
  for (auto& each : threads) each.join();
  CHECK(most <= 2);
  CHECK(where->most_connections() <= 2);
}

TEST_CASE_METHOD(pool_fixture, "connection_pool: says why there is no connection in time", "[connection_pool]") {
  connection_pool pool(where, clock, 1);
  const auto held = get(pool);
  REQUIRE(held);
  CHECK_FALSE(get(pool));
  CHECK(why.transient);
  CHECK(why.text.find("busy") != std::string::npos);

  bool got = true;
  std::thread waiter([&, until = clock.now() + 5s] {
    fault reason;
    got = static_cast<bool>(pool.get(until, 1s, reason));
  });
  clock.advance(5s);
  waiter.join();
  CHECK_FALSE(got);
}

TEST_CASE_METHOD(pool_fixture, "connection_pool: a connection that can't be had frees its place", "[connection_pool]") {
  connection_pool pool(where, clock, 1);
  where->cut();
  CHECK_FALSE(get(pool));
  CHECK(why.connection);
  CHECK(why.text == "cut off");
  where->cut(false);
  CHECK(get(pool));
}

TEST_CASE_METHOD(pool_fixture, "connection_pool: a broken connection is dropped, not lent again",
                 "[connection_pool][T67]") {
  connection_pool pool(where, clock, 1);
  std::uint64_t first = 0;
  {
    const auto on = get(pool);
    first = (*on).identity().id;
    break_it(*on);
  }
  CHECK(pool.open() == 0);
  CHECK(where->connections() == 0);
  const auto on = get(pool);
  REQUIRE(on);
  CHECK((*on).identity().id != first);
}

TEST_CASE_METHOD(pool_fixture, "connection_pool: what hangs is interrupted at its limit, the healthy is not",
                 "[connection_pool][T63]") {
  connection_pool pool(where, clock, 2);
  const auto at = where->hold(verb::look);
  reply answer;
  std::thread hanging([&] {
    fault reason;
    const auto on = pool.get(clock.now(), 2s, reason);
    const request ask{.action = verb::look, .resource = "k"};
    where->execute(*on, {&ask, 1}, {&answer, 1});
  });
  REQUIRE(at->reached());
  const auto begun = clock.now();
  CHECK(pool.interrupt_hung(clock.now()) == begun + 2s);
  clock.advance(2s - 1us);
  pool.interrupt_hung(clock.now());
  {
    const auto healthy = get(pool);
    REQUIRE(healthy);
    clock.advance(1us);
    CHECK(pool.interrupt_hung(clock.now()) <= clock.now() + 2s);
    hanging.join();
    CHECK((*healthy).usable());
  }
  CHECK(answer.result == outcome::unknown);
  CHECK(pool.open() == 1);
  CHECK(pool.interrupt_hung(clock.now()) == instant::max());  // nothing on loan
}

TEST_CASE_METHOD(pool_fixture, "connection_pool: patience counts from the loan, not from the wait before it",
                 "[connection_pool]") {
  connection_pool pool(where, clock, 1);
  std::thread waiter;
  bool got = false;
  instant limit{};
  {
    const auto held = get(pool);
    REQUIRE(held);
    waiter = std::thread([&] {
      fault reason;
      const auto on = pool.get(clock.now() + 1h, 2s, reason);
      got = static_cast<bool>(on);
      limit = pool.interrupt_hung(clock.now());
    });
    clock.advance(30s);
  }
  waiter.join();
  CHECK(got);
  CHECK(limit == clock.now() + 2s);
}

TEST_CASE_METHOD(pool_fixture, "connection_pool: greets each new connection", "[connection_pool][T59]") {
  connection_pool pool(where, clock, 2);
  std::vector<std::string> servers;
  pool.on_connect([&](const connection_identity& to) { servers.push_back(to.server); });
  {
    const auto one = get(pool);
    where->change_server("other");
    const auto two = get(pool);
  }
  get(pool);
  CHECK(servers == std::vector<std::string>{"server", "other"});
}
