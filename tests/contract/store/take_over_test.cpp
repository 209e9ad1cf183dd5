// SPDX-License-Identifier: GPL-2.0-or-later

/// Expiry, kill and take-over: how a key leaves a holder that does not release it.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE("store: a grant with an expiry of its own is free when that has passed", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k", for_moments);
  pass_until(*place, [&] { return b.at("k").expired; });
  if (!b.forgets) {
    CHECK(b.at("k").holder == a.id);
    CHECK(b.at("k").fence == fence);  // expiry changes no fence
  }
  const reply taken = b.take("k");
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(b.follows(taken.fence, fence));
}

TEST_CASE("store: a take-over of an own expiry by stale sight is refused", "[contract][T57]") {
  const auto place = make_store_place();
  actor a(*place), b(*place), c(*place);
  a.acquire("k", for_moments);
  const seen alive = b.at("k");
  pass_until(*place, [&] { return b.at("k").expired; });
  if (b.forgets) {  // there is nothing to be taken over
    CHECK(answer(b.take_over("k", alive)) == outcome::no);
    return;
  }
  const seen old = b.at("k");
  REQUIRE(answer(c.take_over("k", old, for_moments)) == outcome::yes);
  pass_until(*place, [&] { return c.at("k").expired; });
  CHECK(answer(b.take_over("k", old)) == outcome::no);  // another holder
  CHECK(c.at("k").holder == c.id);
  REQUIRE(answer(a.take("k", for_moments)) == outcome::yes);
  pass_until(*place, [&] { return c.at("k").expired; });
  CHECK(answer(b.take_over("k", old)) == outcome::no);  // the same holder, another grant of it
  const reply taken = b.take_over("k", b.at("k"), for_long);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(b.follows(taken.fence, old.fence, 3));
}

TEST_CASE("store: a live own expiry is not taken over", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k", for_long);
  a.close();  // means nothing to a grant with an expiry of its own
  seen now = b.at("k");
  CHECK(now.kind == lease_kind::expiring);
  CHECK(answer(b.take_over("k", now)) == outcome::no);
  now.kind = lease_kind::session;  // a lie, or what it was before
  CHECK(answer(b.take_over("k", now)) == outcome::no);
  CHECK(b.at("k").holder == a.id);
}

TEST_CASE("store: a free key is not taken over", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k");
  const seen held = b.at("k");
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  a.close();
  CHECK(answer(b.take_over("k", held)) == outcome::no);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::yes);
}

}  // namespace dlock::test
