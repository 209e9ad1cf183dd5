// SPDX-License-Identifier: BSL-1.0

/// Keys that stay taken for a while after their release. Of stores with capabilities::min_hold.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: min_hold keeps holder and fence until its time is over") {
  const auto fence = a.acquire("k");
  REQUIRE(answer(a.release("k", fence, for_long)) == outcome::yes);
  const seen held = b.at("k");
  CHECK(held.holder == a.id);
  CHECK(held.fence == fence);
  CHECK(held.kind == lease_kind::expiring);
  CHECK_FALSE(held.expired);
  CHECK(held.remaining <= for_long);
  CHECK(held.remaining > for_long - 1min);
  a.close();  // released is released: the session's end changes nothing
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);
}

TEST_CASE_METHOD(two_actors, "store: after min_hold the key is free") {
  const auto fence = a.acquire("k");
  REQUIRE(answer(a.release("k", fence, for_moments)) == outcome::yes);
  pass_until(*fixture, [&] { return !b.at("k").holder || b.at("k").expired; });
  const reply taken = b.take("k");
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
}

TEST_CASE_METHOD(two_actors, "store: min_hold counts from the grant, so a release after it frees at once") {
  const auto fence = a.acquire("k", for_long);
  fixture->pass(5ms);
  REQUIRE(answer(a.release("k", fence, 1ms)) == outcome::yes);
  CHECK_FALSE(b.at("k").holder);
  CHECK(answer(b.take("k")) == outcome::yes);
}

}  // namespace dlock::test
