// SPDX-License-Identifier: GPL-2.0-or-later

/// Sessions: what keeps the grants of a process.

#include <memory>
#include <utility>
#include <vector>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE("store: a session is opened once", "[contract]") {
  const auto place = make_store_place();
  actor a(*place);
  CHECK(a.session(session_verb::open, a.id, for_moments) == outcome::no);
  a.acquire("k");
  CHECK(a.at("k").left > for_moments);
}

TEST_CASE("store: renewal moves a session's expiry forward, never back", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k");
  REQUIRE(a.renew(2 * for_long) == outcome::yes);
  CHECK(b.at("k").left > for_long);
  REQUIRE(a.renew(1ms) == outcome::yes);
  CHECK(b.at("k").left > for_long);
  CHECK(b.at("k").fence == fence);
}

TEST_CASE("store: renewal prolongs its own session and nobody else's", "[contract][T16]") {
  const auto place = make_store_place();
  actor dying(*place, for_moments), renewed(*place), other(*place);
  dying.acquire("k");
  REQUIRE(renewed.renew(2 * for_long) == outcome::yes);
  pass_until(*place, [&] { return other.at("k").expired; });
  REQUIRE(renewed.renew(2 * for_long) == outcome::yes);
  CHECK(other.at("k").expired);
  CHECK(other.kill(dying.id) == outcome::yes);
  CHECK(other.kill(renewed.id) == outcome::no);
}

TEST_CASE("store: a grant belongs to its session, each verb about it may go over another connection",
          "[contract][T95]") {
  const auto place = make_store_place();
  actor holder(*place), other(*place);
  std::vector<std::unique_ptr<connection>> before;  // they stay open
  const auto connect_anew = [&] {
    fault why;
    before.push_back(std::exchange(holder.connection, holder.store->connect(10s, why)));
    INFO(why.text);
    REQUIRE(holder.connection != nullptr);
  };
  const auto fence = holder.acquire("k");
  connect_anew();
  CHECK(holder.at("k").holder == holder.id);
  CHECK(holder.renew(2 * for_long) == outcome::yes);
  connect_anew();
  CHECK(answer(other.take("k")) == outcome::no);
  CHECK(answer(holder.release("k", fence)) == outcome::yes);
  CHECK(holder.acquire("k") == fence + 1);
  connect_anew();
  CHECK(answer(holder.cancel("k", holder.nonce)) == outcome::yes);
  connect_anew();
  CHECK(other.acquire("k") == fence + 2);
  CHECK(holder.close() == outcome::yes);
}

TEST_CASE("store: an expired session is not renewed although it still exists", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, for_moments), b(*place);
  a.acquire("k");
  pass_until(*place, [&] { return b.at("k").expired; });
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(b.at("k").expired);
  CHECK_FALSE(b.at("k").gone);
}

TEST_CASE("store: a session that is killed, closed or unknown is not renewed", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, for_moments), b(*place);
  pass_until(*place, [&] { return b.kill(a.id) == outcome::yes; });
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(b.close() == outcome::yes);
  CHECK(b.renew(for_long) == outcome::no);
  CHECK(b.session(session_verb::renew, id128::random(), for_long) == outcome::no);
  CHECK(b.session(session_verb::close, id128::random(), 0us) == outcome::no);
}

TEST_CASE("store: kill does not touch a live session", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  CHECK(b.kill(a.id) == outcome::no);
  CHECK(a.kill(a.id) == outcome::no);
  CHECK(a.renew(for_long) == outcome::yes);
}

TEST_CASE("store: renewal does not change the locks that a session keeps", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto first = a.acquire("k1");
  const auto second = a.acquire("k2");
  for (int i = 0; i < 3; ++i) REQUIRE(a.renew(for_long) == outcome::yes);
  CHECK(b.at("k1").fence == first);
  CHECK(b.at("k2").fence == second);
  CHECK(answer(a.release("k1", first)) == outcome::yes);
  CHECK(b.at("k2").holder == a.id);
}

TEST_CASE("store: a revoked session keeps its locks until it expires and is not renewed", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, 500ms), b(*place);
  const auto fence = a.acquire("k");
  REQUIRE(a.renew(500ms) == outcome::yes);
  REQUIRE(answer(b.store->admin()->revoke(*b.connection, {.resource = "k"})) == outcome::yes);
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::no);
  pass_until(*place, [&] { return b.kill(a.id) == outcome::yes; });
  const reply taken = b.take_over("k", b.at("k"));
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
}

TEST_CASE("store: revoking needs a key that a session keeps", "[contract]") {
  const auto place = make_store_place();
  actor a(*place);
  const auto revoke = [&](std::string_view key) {
    return answer(a.store->admin()->revoke(*a.connection, {.resource = key}));
  };
  CHECK(revoke("nothing") == outcome::no);
  a.acquire("own", for_long);
  CHECK(revoke("own") == outcome::no);
  const auto fence = a.acquire("free");
  REQUIRE(answer(a.release("free", fence)) == outcome::yes);
  CHECK(revoke("free") == outcome::no);
  CHECK(a.renew(for_long) == outcome::yes);
  actor b(*place);
  b.acquire("left");
  b.close();
  CHECK(revoke("left") == outcome::no);
}

}  // namespace dlock::test
