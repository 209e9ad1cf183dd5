// SPDX-License-Identifier: BSL-1.0
// Releases that wait for a transaction, and what else may happen meanwhile: losses, close(), faults, all threads at
// once.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "api/access.hpp"
#include "service/transaction_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

}  // namespace

TEST_CASE_METHOD(transaction_fixture,
                 "transaction: a lease lost while its release waits is lost, and forgotten after it", "[transaction]") {
  fake_transaction open(*store);
  hold_in(open, "k");
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(40s);
  REQUIRE(seen->wait_for(event::kind::lost));
  // In this transaction something was done under it: it can't be entered again.
  CHECK(thrown([&] { return locks->acquire("k"); }) == errc::lost);
  CHECK(freed("k"));
  // That of a lost lease goes out in the background.
  CHECK(store->count(verb::release) == 0);
  CHECK(at_rest_after(1500ms));
  CHECK(store->count(verb::release) == 1);
  store->forget_scripts();
  open.end();
  const auto next = locks->acquire("k");
  CHECK_FALSE(next.reentered());
  CHECK(next.remaining() > 0us);
  CHECK(store->count(verb::release) == 1);
  CHECK(seen->count(event::kind::released) == 0);
  CHECK(seen->count(event::kind::lost) == 1);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: an expiry of its own ends a lease whose release waits",
                 "[transaction]") {
  fake_transaction open(*store);
  { const auto held = locks->acquire("k", {.ttl = 2s, .renewal = renewal::none}); }
  CHECK_FALSE(is_free("k"));
  clock.advance(3s);
  CHECK(seen->wait_for(event::kind::lost));
  CHECK(freed("k"));
  open.end();
  CHECK(locks->acquire("k").remaining() > 0us);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: what was lost before is not waited for", "[transaction]") {
  fake_transaction open(*store);
  auto held = locks->acquire("k", {.ttl = 2s, .renewal = renewal::none});
  clock.advance(3s);
  CHECK(thrown([&] { held.release(); }) == errc::lost);
  CHECK(open.waited_for() == 0);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: close() reports a key whose release waits; its end frees it",
                 "[transaction][T70]") {
  fake_transaction open(*store);
  hold_in(open, "k");
  CHECK(locks->close(0ms) == std::vector<std::string>{"k"});
  locks.reset();
  CHECK_FALSE(is_free("k"));
  open.end();
  CHECK(freed("k"));
  CHECK(eventually([&] { return store->connections() == 0; }));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: it may end long after the service and the lease did",
                 "[transaction]") {
  auto behind = core();
  const std::weak_ptr<engine::service_core> watched = behind.core();
  fake_transaction open(*store);
  { const auto held = behind.acquire("k", {.ttl = 2s, .renewal = renewal::none}, true); }
  static_cast<void>(behind.close(0ms));
  behind.finish();
  clock.advance(3s);  // lost: nothing is held
  REQUIRE(eventually([&] { return behind.close(0ms).empty(); }));
  behind.finish();  // waits for its threads
  behind = {};
  CHECK_FALSE(watched.expired());
  open.end();
  CHECK(eventually([&] { return watched.expired(); }));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a key is freed after the last of those that verified it",
                 "[transaction][T70]") {
  auto held = locks->acquire("k");
  const auto grant = detail::access::grant_of(held);
  auto& home = *grant->home;
  engine::outlive_transaction(*grant);
  engine::outlive_transaction(*grant);
  CHECK_FALSE(home.all().table.sole(*grant));
  held.release();
  CHECK_FALSE(held);
  engine::transaction_ended(grant);
  const fake_transaction unrelated(*store);
  CHECK_FALSE(is_free("k"));
  CHECK(store->count(verb::release) == 0);
  engine::transaction_ended(grant);
  CHECK(freed("k"));
  CHECK(store->count(verb::release) == 1);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: one that verified the lease and ended before it holds nothing back",
                 "[transaction]") {
  auto held = locks->acquire("k");
  const auto grant = detail::access::grant_of(held);
  engine::outlive_transaction(*grant);
  engine::transaction_ended(grant);
  CHECK(grant->home->all().table.sole(*grant));
  CHECK_NOTHROW(held.ensure_held());
  held.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture,
                 "transaction: a renewal by hand inside the one that verified the lease is refused at once",
                 "[transaction][T19]") {
  const lock_options by_hand{.ttl = 10s, .renewal = renewal::manual};
  auto held = locks->acquire("k", by_hand);
  const auto grant = detail::access::grant_of(held);
  engine::outlive_transaction(*grant);
  CHECK_THROWS_MATCHES(held.renew(), std::logic_error,
                       MessageMatches(ContainsSubstring("key 'k'") && ContainsSubstring("renew")));
  // A re-entry with a longer ttl, which would be one, keeps the end that there is.
  auto longer = by_hand;
  longer.ttl = 20s;
  {
    const auto inner = locks->acquire("k", longer);
    CHECK(inner.reentered());
    CHECK(inner.remaining() <= 10s);
  }
  CHECK(locks->acquire("k", by_hand).reentered());
  CHECK(store->count(verb::extend) == 0);
  // It is this thread that would wait for itself.
  CHECK(elsewhere([&] { return thrown([&] { return held.renew(), 0; }); }) == std::error_code());
  CHECK(store->count(verb::extend) == 1);
  engine::transaction_ended(grant);
  CHECK(locks->acquire("k", longer).remaining() > 10s);
  CHECK_NOTHROW(held.renew());
  CHECK(store->count(verb::extend) == 3);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a renewal by hand inside one that did not verify the lease goes on",
                 "[transaction]") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  fake_transaction open(*store);
  const auto other = locks->acquire("l");
  const auto verified = detail::access::grant_of(other);
  engine::outlive_transaction(*verified);
  CHECK_NOTHROW(held.renew());
  engine::transaction_ended(verified);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a release that fails after it goes on in the background",
                 "[transaction]") {
  fake_transaction open(*store);
  hold_in(open, "k");
  store->next(verb::release, {.what = fate::fail, .why = denied, .times = 2});
  open.end();
  CHECK(seen->wait_for(event::kind::release_failed));
  CHECK(as_time_passes([&] { return is_free("k"); }, 200ms));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: ends and re-entries on all threads lose and leak nothing",
                 "[transaction][T70]") {
  constexpr int rounds = 1000;
  std::atomic<int> inside{0};
  std::atomic<bool> together{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) try {
          fake_transaction open(*store);
          {
            const auto held = locks->acquire("k", {.wait = 10h});
            if (inside.fetch_add(1) != 0) together = true;
          }
          inside.fetch_sub(1);
          open.end();
          // Back before, while or after the background frees it.
          auto again = locks->acquire("k", {.wait = 10h});
          again.release();
        } catch (const error&) {
          ++failed;
        }
    });
  }
  while_time_passes([&] {
    for (auto& each : threads) each.join();
  });
  CHECK(failed == 0);
  CHECK_FALSE(together);
  CHECK(freed("k"));
  CHECK(seen->count(event::kind::split_brain) == 0);
  CHECK(locks->count(event::kind::released) == locks->count(event::kind::granted));
}
