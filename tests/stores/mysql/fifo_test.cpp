// SPDX-License-Identifier: BSL-1.0

/// fairness::fifo: the order of the waiter table. A waiter that never takes the key shows who overtakes whom.

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/store/store_contract.hpp"
#include "contract/store/waiting_store.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"

namespace dlock::test {

namespace {

struct fifo_fixture {
  mysql_store_fixture fixture{};
  actor one{fixture}, other{fixture};
  std::uint64_t fence = one.acquire("k");

  void let_go() { REQUIRE(answer(one.release("k", fence)) == outcome::yes); }
  /// Asks for the key in order, as a process that is registered, or not.
  reply take(actor& by, bool registered = false) {
    return by.run({.action = verb::take,
                   .resource = "k",
                   .session = by.id,
                   .nonce = ++by.nonce,
                   .in_order = true,
                   .registered = registered});
  }
  reply poll(actor& by, bool registered = false) {
    return by.run(
        {.action = verb::poll, .resource = "k", .session = by.id, .in_order = true, .registered = registered});
  }
};

service_options in_order() {
  return {
      .defaults = {.ttl = 60s, .wait = 60s, .fairness = fairness::fifo}, .close_limit = 0ms, .cleanup_interval = 0ms};
}

}  // namespace

TEST_CASE_METHOD(fifo_fixture, "fifo: a free key is taken in order only if nobody else waits for it", "[fifo]") {
  std::optional<waiting_store> waiter(fixture);
  REQUIRE(waiter->works());
  let_go();
  CHECK(answer(take(other)) == outcome::no);
  const auto seen = poll(other);
  REQUIRE(answer(seen) == outcome::yes);
  CHECK_FALSE(seen.holder.holder);
  CHECK(seen.holder.others_first);
  CHECK_FALSE(other.poll("k").holder.others_first);  // whoever keeps no order sees none

  waiter->unwatch();
  REQUIRE(eventually([&] { return !poll(other).holder.others_first; }));
  const auto taken = take(other);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
  CHECK_FALSE(poll(one).holder.others_first);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: whoever keeps no order overtakes", "[fifo]") {
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  let_go();
  CHECK(answer(other.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: of processes that are registered the first gets it", "[fifo]") {
  actor first(fixture), second(fixture);
  counting_listener hears, hears_too;
  first.store->watch("k", first.id, hears);
  REQUIRE(eventually([&] { return hears.yes > hears.no; }));
  second.store->watch("k", second.id, hears_too);
  REQUIRE(eventually([&] { return hears_too.yes > hears_too.no; }));
  let_go();
  CHECK(poll(second, true).holder.others_first);
  CHECK(answer(take(second, true)) == outcome::no);
  CHECK_FALSE(poll(first, true).holder.others_first);
  CHECK(answer(take(first)) == outcome::no);  // as a new caller of that process
  CHECK(answer(take(first, true)) == outcome::yes);
  first.store->unwatch("k", first.id, hears);
  second.store->unwatch("k", second.id, hears_too);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: a process that waits again after a grant stands behind the others", "[fifo]") {
  actor again(fixture), behind(fixture);
  counting_listener hears, hears_too;
  again.store->watch("k", again.id, hears);
  REQUIRE(eventually([&] { return hears.yes > hears.no; }));
  behind.store->watch("k", behind.id, hears_too);
  REQUIRE(eventually([&] { return hears_too.yes > hears_too.no; }));
  let_go();
  const auto taken = take(again, true);
  REQUIRE(answer(taken) == outcome::yes);
  // At once: its row of before is there still, as a rule.
  again.store->unwatch("k", again.id, hears);
  const int told = hears.yes;
  again.store->watch("k", again.id, hears);
  REQUIRE(eventually([&] { return hears.yes > told; }));
  REQUIRE(answer(again.release("k", taken.fence)) == outcome::yes);
  CHECK(answer(take(again, true)) == outcome::no);
  CHECK(answer(take(behind, true)) == outcome::yes);
  again.store->unwatch("k", again.id, hears);
  behind.store->unwatch("k", behind.id, hears_too);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: the row of a dead waiter keeps nobody from the key", "[fifo]") {
  raw_mysql root = raw_mysql::root();
  root.run("INSERT INTO " + fixture.tables.table("waiter") + " SELECT 'k', acquired_at_us - 1, X'" +
           id128::random().hex() + "', X'" + id128::random().hex() + "', NULL FROM " + fixture.tables.table("lock") +
           " WHERE lock_key = 'k'");
  let_go();
  CHECK_FALSE(poll(other).holder.others_first);
  CHECK(answer(take(other)) == outcome::yes);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: what a dead holder leaves is taken over in order", "[fifo]") {
  std::optional<waiting_store> waiter(fixture);
  REQUIRE(waiter->works());
  REQUIRE(one.close() == outcome::yes);
  const auto left = poll(other);
  REQUIRE(left.holder.gone);
  CHECK(left.holder.others_first);
  request over{.action = verb::take_over,
               .resource = "k",
               .session = other.id,
               .nonce = ++other.nonce,
               .expected = &left.holder,
               .in_order = true};
  CHECK(answer(other.run(over)) == outcome::no);
  waiter->unwatch();
  REQUIRE(eventually([&] { return !poll(other).holder.others_first; }));
  const auto taken = other.run(over);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: without the waiter table keys are taken as ever, and it is said once", "[fifo]") {
  const auto store = fixture.open();
  heard news;
  store->listen(news);
  const auto on = connect(*store);
  raw_mysql::root().run("DROP TABLE " + fixture.tables.table("waiter"));
  let_go();
  for (const auto action : {verb::poll, verb::take}) {
    const request asked{
        .action = action, .resource = "k", .session = other.id, .nonce = ++other.nonce, .in_order = true};
    CHECK(answer(executed(*store, *on, asked)) == outcome::yes);
  }
  CHECK(news.reasons == 1);
  store->unlisten(news);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: services get the key in the order in which they began to wait", "[fifo]") {
  lock_service watcher(fixture.url(), in_order());
  std::vector<std::unique_ptr<lock_service>> services;
  std::vector<std::future<void>> waits;
  std::mutex guard;
  std::vector<int> order;
  for (int i = 0; i != 4; ++i) {
    services.push_back(std::make_unique<lock_service>(fixture.url(), in_order()));
    waits.push_back(std::async(std::launch::async, [&, i] {
      const auto held = services[static_cast<std::size_t>(i)]->acquire("k");
      const std::lock_guard lock(guard);
      order.push_back(i);
    }));
    REQUIRE(eventually([&] { return watcher.waiters("k").count == static_cast<std::size_t>(i) + 1; }));
  }
  let_go();
  for (auto& each : waits) each.get();
  CHECK(order == std::vector{0, 1, 2, 3});
}

TEST_CASE_METHOD(fifo_fixture, "fifo: a process that does not take the key within a second is passed over", "[fifo]") {
  waiting_store stopped(fixture);
  REQUIRE(stopped.works());
  lock_service locks(fixture.url(), in_order());
  let_go();
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK_FALSE(granted(locks.try_acquire("k", {.wait = 100ms})));
  CHECK(granted(locks.try_acquire("k", {.fairness = fairness::none})));
  const auto begun = std::chrono::steady_clock::now();
  CHECK(granted(locks.acquire("k")));
  CHECK(std::chrono::steady_clock::now() - begun >= 990ms);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: as in docs/waiting.md", "[fifo]") {
  const auto url = fixture.url();
  // [order]
  dlock::lock_service locks(url, {.defaults = {.fairness = dlock::fairness::fifo}});
  auto held = locks.acquire("job");                                             // after all that wait already
  auto now = locks.try_acquire("report", {.fairness = dlock::fairness::none});  // as soon as the key is free
  // [/order]
  CHECK(held);
  CHECK(now);
}

}  // namespace dlock::test
