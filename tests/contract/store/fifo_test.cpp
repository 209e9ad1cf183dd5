// SPDX-License-Identifier: BSL-1.0

/// fairness::fifo: the order in which processes began to wait. A waiter that never takes the key shows who overtakes
/// whom. Of stores with waiting::woken and keeps_order.

#include "contract/store/waiting_store.hpp"

namespace dlock::test {

namespace {

struct place {
  std::unique_ptr<store_fixture> fixture = make_store_fixture();
};
struct fifo_fixture : place, ordered_key {
  fifo_fixture() : ordered_key(*fixture) {}
};

service_options in_order() {
  return {
      .defaults = {.ttl = 60s, .wait = 60s, .fairness = fairness::fifo}, .close_limit = 0ms, .cleanup_interval = 0ms};
}

}  // namespace

TEST_CASE_METHOD(fifo_fixture, "fifo: a free key is taken in order only if nobody else waits for it") {
  std::optional<waiting_store> waiter(*fixture);
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

TEST_CASE_METHOD(fifo_fixture, "fifo: whoever keeps no order overtakes") {
  waiting_store waiter(*fixture);
  REQUIRE(waiter.works());
  let_go();
  CHECK(answer(other.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: of processes that are registered the first gets it") {
  actor first(*fixture), second(*fixture);
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

TEST_CASE_METHOD(fifo_fixture, "fifo: a process that waits again after a grant stands behind the others") {
  actor again(*fixture), behind(*fixture);
  counting_listener hears, hears_too;
  again.store->watch("k", again.id, hears);
  REQUIRE(eventually([&] { return hears.yes > hears.no; }));
  behind.store->watch("k", behind.id, hears_too);
  REQUIRE(eventually([&] { return hears_too.yes > hears_too.no; }));
  let_go();
  const auto taken = take(again, true);
  REQUIRE(answer(taken) == outcome::yes);
  // At once: what is left of its wait before is there still, as a rule.
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

TEST_CASE_METHOD(fifo_fixture, "fifo: what a dead holder leaves is taken over in order") {
  std::optional<waiting_store> waiter(*fixture);
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

TEST_CASE_METHOD(fifo_fixture, "fifo: services get the key in the order in which they began to wait") {
  lock_service watcher(fixture->url(), in_order());
  std::vector<std::unique_ptr<lock_service>> services;
  std::vector<std::future<void>> waits;
  std::mutex guard;
  std::vector<int> order;
  for (int i = 0; i != 4; ++i) {
    services.push_back(std::make_unique<lock_service>(fixture->url(), in_order()));
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

TEST_CASE_METHOD(fifo_fixture, "fifo: a process that does not take the key in its turn is passed over") {
  waiting_store stopped(*fixture);
  REQUIRE(stopped.works());
  lock_service locks(fixture->url(), in_order());
  let_go();
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK_FALSE(granted(locks.try_acquire("k", {.wait = 100ms})));
  CHECK(granted(locks.try_acquire("k", {.fairness = fairness::none})));
  const auto begun = std::chrono::steady_clock::now();
  CHECK(granted(locks.acquire("k")));
  CHECK(std::chrono::steady_clock::now() - begun >= 290ms);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: as in docs/waiting.md") {
  const auto url = fixture->url();
  // [order]
  dlock::lock_service locks(url, {.defaults = {.fairness = dlock::fairness::fifo}});
  auto held = locks.acquire("job");                                             // after all that wait already
  auto now = locks.try_acquire("report", {.fairness = dlock::fairness::none});  // as soon as the key is free
  // [/order]
  CHECK(held);
  CHECK(now);
}

}  // namespace dlock::test
