// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with leases that end by an expiry of their own. Of stores with
/// capabilities::expiring_leases.

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "own expiry: renewed by hand, a lease lasts as long as it is renewed", "[T12]") {
  CHECK(at_some_pace([&](int slower) {
    const lock_key key("k" + std::to_string(slower));
    const auto ttl = slower * (fixture->rounding() > 0us ? 1000ms : 600ms);
    auto renewed = now();
    auto held = a.locks.acquire(key, {.ttl = ttl, .renewal = renewal::manual});
    const auto last = fence_of(held);
    for (const auto end = now() + ttl + fixture->rounding() + 300ms; now() < end;) {
      pass(slower * 250ms);
      const auto asked = now();
      held.renew();
      renewed = asked;
    }
    if (!still_held(held, key, renewed, ttl)) return false;
    return follows(fence_of(b.locks.acquire(key, {.wait = 60s})), last) &&  // once nobody renews it
           held.remaining() == 0us;
  }));

  auto brief = a.locks.acquire("brief", {.ttl = 10s, .renewal = renewal::manual});
  brief.renew();
  brief.release();
  CHECK(is_free("brief"));
}

TEST_CASE_METHOD(service_fixture, "own expiry: what it keeps is forced at once, its holder is told, and no later grant",
                 "[T15]") {
  const bool by_hand = can.session_leases || GENERATE(true, false);  // renewed by itself, a session may keep it
  auto forced =
      by_hand ? a.locks.acquire("own", {.ttl = 60s, .renewal = renewal::manual}) : a.locks.acquire("own", {.ttl = 10s});
  CHECK(b.locks.force_release("own"));
  CHECK_FALSE(b.locks.force_release("nobody's"));
  const auto next = b.locks.acquire("own", {.wait = 20s});
  CHECK(follows(fence_of(next), fence_of(forced)));
  if (by_hand) {
    CHECK_THROWS_AS(forced.renew(), lock_lost);
  } else {
    CHECK(eventually([&] { return forced.lost_token().stop_requested(); }));
  }
  CHECK(forced.loss() == loss_reason::taken_over);
  CHECK(next.loss() == loss_reason::none);
  CHECK_NOTHROW(next.ensure_held());
  CHECK(b.locks.holder("own")->fence == fence_of(next));
}

TEST_CASE_METHOD(service_fixture, "own expiry: forced, a key is free at once", "[T15]") {
  const auto forced = a.locks.acquire("own", {.ttl = 60s, .renewal = renewal::manual});
  CHECK(b.locks.force_release("own"));
  CHECK_FALSE(b.locks.holder("own"));
  CHECK(granted(b.locks.try_acquire("own")));
}

TEST_CASE_METHOD(service_fixture, "own expiry: several keys have one of their own", "[T12]") {
  for (const auto* key : {"a", "b", "c"}) b.locks.acquire(key).release();
  const auto held = a.locks.acquire_all({"a", "b", "c"}, {.ttl = 10s, .renewal = renewal::none});
  const auto row = b.locks.holder("a");
  REQUIRE(row);
  CHECK(row->kind == lease_kind::expiring);
  CHECK(row->remaining <= 10s + fixture->rounding());
  CHECK(held.remaining() <= row->remaining);
  CHECK(held.remaining() > 5s);
}

}  // namespace dlock::test
