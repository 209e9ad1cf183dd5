// SPDX-License-Identifier: GPL-2.0-or-later

/// release, cancel, extend: what a holder may do, and what a stranger may not.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE("store: a release by a stranger changes nothing", "[contract][T01]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k");
  CHECK(answer(b.release("k", fence)) == outcome::no);
  if (b.store->caps().min_hold) CHECK(answer(b.release("k", fence, for_long)) == outcome::no);
  CHECK(answer(b.release("other", fence)) == outcome::no);
  const seen now = b.at("k");
  CHECK(now.holder == a.id);
  CHECK((now.kind == lease_kind::session) == a.keeps);
}

TEST_CASE("store: a release with an old fence changes nothing", "[contract][T12]") {
  const auto place = make_store_place();
  actor a(*place);
  const auto old = a.acquire("k");
  REQUIRE(answer(a.release("k", old)) == outcome::yes);
  const auto fence = a.acquire("k");
  CHECK(answer(a.release("k", old)) == outcome::no);
  CHECK(answer(a.release("k", fence + 1)) == outcome::no);
  CHECK(a.at("k").holder == a.id);
}

TEST_CASE("store: releasing twice is harmless", "[contract][T08]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::yes);
  CHECK(answer(a.release("k", fence)) == outcome::no);
  b.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::no);
  CHECK(b.at("k").holder == b.id);
}

TEST_CASE("store: a late release does not touch who took the key meanwhile", "[contract][T01]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k", for_moments);
  pass_until(*place, [&] { return b.at("k").expired; });
  const auto theirs = b.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::no);
  CHECK(answer(a.extend("k", fence, for_long)) == outcome::no);
  CHECK(answer(a.release("k", theirs)) == outcome::no);
  CHECK(b.at("k").holder == b.id);
}

TEST_CASE("store: cancel frees by nonce, whatever the fence", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k");
  const auto nonce = a.nonce;
  CHECK(answer(a.cancel("k", nonce + 1)) == outcome::no);
  CHECK(answer(a.cancel("other", nonce)) == outcome::no);
  CHECK(answer(b.cancel("k", nonce)) == outcome::no);
  CHECK(a.at("k").holder == a.id);
  CHECK(answer(a.cancel("k", nonce)) == outcome::yes);
  CHECK_FALSE(a.at("k").holder);
  CHECK(answer(a.cancel("k", nonce)) == outcome::no);
}

TEST_CASE("store: cancel of an old attempt leaves the session's new grant alone", "[contract]") {
  const auto place = make_store_place();
  actor a(*place);
  const auto fence = a.acquire("k");
  const auto old = a.nonce;
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  a.acquire("k");
  REQUIRE(a.nonce != old);
  CHECK(answer(a.cancel("k", old)) == outcome::no);
  CHECK(a.at("k").holder == a.id);
}

TEST_CASE("store: extend moves an own expiry forward, never back", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k", for_long);
  REQUIRE(answer(a.extend("k", fence, 2 * for_long)) == outcome::yes);
  CHECK(b.at("k").left > for_long);
  REQUIRE(answer(a.extend("k", fence, 1ms)) == outcome::yes);
  CHECK(b.at("k").left > for_long);
  CHECK(b.at("k").fence == fence);
}

TEST_CASE("store: extend is refused to a stranger, by an old fence and once the expiry has passed", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k", for_moments);
  CHECK(answer(b.extend("k", fence, for_long)) == outcome::no);
  CHECK(answer(a.extend("k", fence + 1, for_long)) == outcome::no);
  CHECK(answer(a.extend("other", fence, for_long)) == outcome::no);
  pass_until(*place, [&] { return b.at("k").expired; });
  CHECK(answer(a.extend("k", fence, for_long)) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::yes);
}

}  // namespace dlock::test
