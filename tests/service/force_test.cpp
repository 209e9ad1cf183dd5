// SPDX-License-Identifier: BSL-1.0
// What an operator takes away; on each store: contract/service/service_contract.hpp.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>

#include "service/engine_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(engine_fixture, "force: the holder that was seen, and nobody who has the key after him", "[force]") {
  const auto locks = service();
  const auto rival = foreign();
  const auto first = locks->acquire("k", {.ttl = 10s, .renewal = renewal::none});
  lease second;
  store->next(verb::release, {.ahead = [&] {
                clock.advance(10s);
                second = rival->acquire("k", {.ttl = 1min, .renewal = renewal::none});
              }});
  CHECK_FALSE(locks->force_release("k"));
  CHECK(fence_of("k") == 2);
  CHECK(second.loss() == loss_reason::none);
}

TEST_CASE_METHOD(engine_fixture, "force: one statement by session, three by an expiry of its own, two for nobody",
                 "[force][cost]") {
  const auto locks = service();
  const auto rival = foreign();
  const auto kept = rival->acquire("kept");
  const auto own = rival->acquire("own", {.ttl = 1min, .renewal = renewal::manual});
  const auto cost = [&](const char* key, bool forced) {
    const auto before = locks->statements();
    CHECK(locks->force_release(key) == forced);
    return locks->statements() - before;
  };
  CHECK(cost("kept", true) == 1);
  CHECK(fence_of("kept") == kept.fencing_token());  // until its session has ended
  CHECK(cost("own", true) == 3);
  CHECK(fence_of("own") == 0);
  CHECK(cost("own", false) == 2);
  CHECK(cost("never used", false) == 2);
}

TEST_CASE_METHOD(engine_fixture, "force: what is unknown is said, and forced by the next call", "[force]") {
  const auto locks = service();
  const auto own = foreign()->acquire("k", {.ttl = 1min, .renewal = renewal::manual});
  store->next(verb::poll, {.what = fate::drop});
  CHECK(thrown([&] { return locks->force_release("k"); }) == errc::outcome_unknown);
  CHECK(fence_of("k") == 1);
  CHECK(locks->force_release("k"));
  CHECK(fence_of("k") == 0);
}
