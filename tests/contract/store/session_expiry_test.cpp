// SPDX-License-Identifier: BSL-1.0

/// Sessions whose expiry stands in the store: when they end, and who ends them.

#include <memory>
#include <utility>
#include <vector>

#include "contract/store/two_actors.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: renewal moves a session's expiry forward, never back", "[contract]") {
  const auto fence = a.acquire("k");
  REQUIRE(a.renew(2 * for_long) == outcome::yes);
  CHECK(b.at("k").remaining > for_long);
  REQUIRE(a.renew(1ms) == outcome::yes);
  CHECK(b.at("k").remaining > for_long);
  CHECK(b.at("k").fence == fence);
}

TEST_CASE("store: renewal prolongs its own session and nobody else's", "[contract][T16]") {
  const auto fixture = make_store_fixture();
  actor dying(*fixture, for_moments), renewed(*fixture), other(*fixture);
  dying.acquire("k");
  REQUIRE(renewed.renew(2 * for_long) == outcome::yes);
  pass_until(*fixture, [&] { return other.at("k").expired; });
  REQUIRE(renewed.renew(2 * for_long) == outcome::yes);
  CHECK(other.at("k").expired);
  CHECK(other.kill(dying.id) == outcome::yes);
  CHECK(other.kill(renewed.id) == outcome::no);
}

TEST_CASE("store: an expired session is not renewed although it still exists", "[contract]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture, for_moments), b(*fixture);
  a.acquire("k");
  pass_until(*fixture, [&] { return b.at("k").expired; });
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(b.at("k").expired);
  CHECK_FALSE(b.at("k").gone);
}

TEST_CASE("store: a session that is killed is not renewed", "[contract]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture, for_moments), b(*fixture);
  pass_until(*fixture, [&] { return b.kill(a.id) == outcome::yes; });
  CHECK(a.renew(for_long) == outcome::no);
}

TEST_CASE("store: a revoked session keeps its locks until it expires and is not renewed", "[contract]") {
  const auto fixture = make_store_fixture();
  actor b(*fixture), a(*fixture, 5s);  // in this order: its ttl runs from now on
  const auto fence = a.acquire("k");
  REQUIRE(a.renew(5s) == outcome::yes);
  REQUIRE(b.store->admin() != nullptr);
  REQUIRE(answer(b.store->admin()->revoke(*b.connection, {.resource = "k"})) == outcome::yes);
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::no);
  pass_until(*fixture, [&] { return b.kill(a.id) == outcome::yes; });
  const reply taken = b.take_over("k", b.at("k"));
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
}

}  // namespace dlock::test
