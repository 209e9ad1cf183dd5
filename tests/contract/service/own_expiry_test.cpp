// SPDX-License-Identifier: GPL-2.0-or-later

/// What a lock_service does beside lease_test.cpp on every store without sessions whose leases end by an expiry of their own.

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "lease: one that nobody renews is lost before its key goes to the next", "[T30]") {
  const auto dead = a.locks.acquire("k", {.ttl = 1s, .renewal = renewal::none});
  CHECK_FALSE(b.locks.try_acquire("k"));
  const auto mine = b.locks.acquire("k", {.wait = 20s});
  CHECK(dead.remaining() == 0us);
  CHECK(thrown([&] { return dead.ensure_held(), 0; }) == errc::lost);
  CHECK_NOTHROW(mine.ensure_held());
}

TEST_CASE_METHOD(service_fixture, "lease: renewed by hand, it lasts as long as it is renewed") {
  auto held = a.locks.acquire("k", {.ttl = 1s, .renewal = renewal::manual});
  for (int i = 0; i < 8; ++i) {
    pass(300ms);
    held.renew();
  }
  CHECK_FALSE(is_free("k"));
  held.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(service_fixture, "lease: a forced holder is told, and its key goes to the next", "[T15]") {
  auto forced = a.locks.acquire("k", {.ttl = 1s});
  CHECK(b.locks.force_release("k"));
  CHECK_FALSE(b.locks.force_release("nobody's"));
  const auto mine = b.locks.acquire("k", {.wait = 20s});
  CHECK(eventually([&] { return forced.lost_token().stop_requested(); }));
  CHECK(forced.loss() == loss_reason::taken_over);
  CHECK_NOTHROW(mine.ensure_held());
}

TEST_CASE_METHOD(service_fixture, "lease: operators see who holds what, until it has ended", "[T22]") {
  auto held = a.locks.acquire("k", {.ttl = 60s});
  const auto brief = b.locks.acquire("brief", {.ttl = 10s, .renewal = renewal::none});
  CHECK_FALSE(a.locks.holder("nobody's"));
  const auto row = b.locks.holder("k");
  REQUIRE(row);
  CHECK(row->key == "k");
  CHECK(row->session);
  CHECK(row->left > 30s);
  CHECK(held.remaining() <= row->left);
  const auto all = a.locks.held_keys();
  REQUIRE(all.size() == 2);
  CHECK(all[0].key == "brief");
  CHECK(all[1].key == "k");
  CHECK(a.locks.held_keys(10, "brief").size() == 1);
  held.release();
  CHECK_FALSE(b.locks.holder("k"));
}

}  // namespace dlock::test
