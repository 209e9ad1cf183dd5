// SPDX-License-Identifier: GPL-2.0-or-later

/// Expiry, kill and take-over: how a key leaves a holder that does not release it.

#include "contract/store_contract.hpp"

namespace dlock::test {

TEST_CASE("store: a grant with an expiry of its own is free when that has passed", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k", for_moments);
  pass_until(*place, [&] { return b.at("k").expired; });
  CHECK(b.at("k").holder == a.id);
  CHECK(b.at("k").fence == fence);  // expiry changes no fence
  const reply taken = b.take("k");
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
}

TEST_CASE("store: a kept grant writes no expiry over the one from before", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k", for_moments);
  pass_until(*place, [&] { return b.at("k").expired; });
  REQUIRE(answer(b.take("k")) == outcome::yes);
  CHECK(b.at("k").kept);
  place->pass(for_moments);
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(a.at("k").holder == b.id);

  const auto fence = b.at("k").fence;
  REQUIRE(answer(b.release("k", fence)) == outcome::yes);
  a.acquire("k", for_moments);
  pass_until(*place, [&] { return b.at("k").expired; });
  REQUIRE(answer(b.take_over("k", b.at("k"))) == outcome::yes);
  CHECK(b.at("k").kept);
}

TEST_CASE("store: a kept grant outlives any time as long as its session does", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k");
  place->pass(for_moments);
  const seen now = b.at("k");
  CHECK_FALSE(now.expired);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(b.kill(a.id) == outcome::no);
  CHECK(answer(b.take_over("k", now)) == outcome::no);
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(a.at("k").holder == a.id);
}

TEST_CASE("store: a kept grant frees only when its session is gone", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, for_moments), b(*place);
  const auto fence = a.acquire("k");
  pass_until(*place, [&] { return b.at("k").expired; });
  const seen expired = b.at("k");
  CHECK(expired.holder == a.id);
  CHECK(expired.kept);
  CHECK_FALSE(expired.gone);
  CHECK(expired.left == 0us);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(b.take_over("k", expired)) == outcome::no);  // expired, but not killed

  CHECK(b.kill(a.id) == outcome::yes);
  CHECK(b.kill(a.id) == outcome::no);
  const seen gone = b.at("k");
  CHECK(gone.gone);
  CHECK(gone.holder == a.id);
  CHECK(answer(b.take("k")) == outcome::no);  // a take never decides by another's session

  const reply taken = b.take_over("k", gone);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
  CHECK(b.at("k").holder == b.id);
}

TEST_CASE("store: closing a session gives its kept grants away", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k");
  CHECK(a.close() == outcome::yes);
  CHECK(a.close() == outcome::no);
  const seen now = b.at("k");
  CHECK(now.gone);
  CHECK(answer(b.take_over("k", now)) == outcome::yes);
}

TEST_CASE("store: a take-over by stale sight is refused", "[contract][T57]") {
  const auto place = make_store_place();
  actor a(*place), b(*place), c(*place);
  a.acquire("k");
  const seen first = b.at("k");
  a.close();
  REQUIRE(answer(c.take_over("k", first)) == outcome::yes);

  CHECK(answer(b.take_over("k", first)) == outcome::no);  // another holder
  seen mixed = first;
  mixed.fence = c.at("k").fence;
  CHECK(answer(b.take_over("k", mixed)) == outcome::no);  // the holder from before, the new fence
  mixed = c.at("k");
  mixed.fence = first.fence;
  c.close();
  CHECK(answer(b.take_over("k", mixed)) == outcome::no);  // the holder, a fence from before
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::yes);
}

TEST_CASE("store: a take-over of an own expiry by stale sight is refused", "[contract][T57]") {
  const auto place = make_store_place();
  actor a(*place), b(*place), c(*place);
  a.acquire("k", for_moments);
  pass_until(*place, [&] { return b.at("k").expired; });
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
  CHECK(taken.fence == old.fence + 3);
}

TEST_CASE("store: a live own expiry is not taken over", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k", for_long);
  a.close();  // means nothing to a grant with an expiry of its own
  seen now = b.at("k");
  CHECK_FALSE(now.kept);
  CHECK(answer(b.take_over("k", now)) == outcome::no);
  now.kept = true;  // a lie, or what it was before
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
