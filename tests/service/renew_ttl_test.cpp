// SPDX-License-Identifier: BSL-1.0
// renew() to another duration than that of the options.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "service/row_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(engine_fixture, "renew(ttl): the expiry is then now + that, this once, and never earlier", "[hold]") {
  const auto locks = service();
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  clock.advance(5s);
  held.renew(60s);
  CHECK(locks->holder("k")->remaining == 60s);
  CHECK(held.remaining() == 57s);  // less the margin
  held.renew();
  CHECK(locks->holder("k")->remaining == 60s);
  clock.advance(56s);
  CHECK(held.loss() == loss_reason::none);
  held.renew();
  CHECK(locks->holder("k")->remaining == 10s);
  CHECK(held.remaining() == 9500ms);
  CHECK(store->count(verb::extend) == 3);
}

TEST_CASE_METHOD(engine_fixture, "renew(ttl): a bad one is refused before anything is sent", "[hold]") {
  const auto locks = service();
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  for (const auto ttl : {-1ms, 0ms, 9ms, std::chrono::milliseconds{24h * 30} + 1ms}) {
    CHECK_THROWS_AS(held.renew(ttl), std::invalid_argument);
  }
  const auto careful = service([](auto& settings) { settings.margin = 2s; });
  auto other = careful->acquire("l", {.ttl = 10s, .renewal = renewal::manual});
  CHECK_THROWS_AS(other.renew(7s), std::invalid_argument);  // the margin is more than a quarter
  CHECK(store->count(verb::extend) == 0);
  auto kept = locks->acquire("kept");
  CHECK_THROWS_AS(kept.renew(10s), std::logic_error);
  lease none;
  CHECK_THROWS_AS(none.renew(10s), std::logic_error);
  multi_lease no_keys;
  CHECK_THROWS_AS(no_keys.renew(10s), std::logic_error);
}

TEST_CASE_METHOD(engine_fixture, "renew(ttl): all leases of a multi_lease", "[hold][multi]") {
  const auto locks = service();
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 10s, .renewal = renewal::manual});
  held.renew(1h);
  CHECK(locks->holder("a")->remaining == 1h);
  CHECK(locks->holder("b")->remaining == 1h);
  CHECK(held.remaining() == 57min);
}

TEST_CASE_METHOD(row_fixture, "renew(ttl): a row's own expiry has at least the ttl that such rows have",
                 "[hold][row]") {
  const auto locks = service();
  const auto key = existing(lock_key::of_row(table_named("t", row_renewal::column), {1}));
  auto held = locks->acquire(key, {.ttl = 10s, .renewal = renewal::manual});
  CHECK_THROWS_AS(held.renew(4999ms), std::invalid_argument);
  held.renew(20s);
  CHECK(locks->holder(key)->remaining == 20s);
}
