// SPDX-License-Identifier: BSL-1.0

/// Grants that a session keeps: how they are shown, and what becomes of them when it ends. Of stores with
/// capabilities::session_leases.

#include <vector>

#include "contract/store/two_actors.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: extend is refused to a kept grant, which has no expiry", "[contract]") {
  const auto fence = a.acquire("k");
  CHECK(answer(a.extend("k", fence, 1ms)) == outcome::no);
  CHECK(b.at("k").kind == lease_kind::session);
}

TEST_CASE_METHOD(two_actors, "store: a kept grant writes no expiry over the one from before", "[contract]") {
  a.acquire("k", for_moments);
  pass_until(*fixture, [&] { return b.at("k").expired; });
  REQUIRE(answer(b.take("k")) == outcome::yes);
  CHECK(b.at("k").kind == lease_kind::session);
  fixture->pass(for_moments);
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(a.at("k").holder == b.id);

  const auto fence = b.at("k").fence;
  REQUIRE(answer(b.release("k", fence)) == outcome::yes);
  a.acquire("k", for_moments);
  pass_until(*fixture, [&] { return b.at("k").expired; });
  REQUIRE(answer(b.take_over("k", b.at("k"))) == outcome::yes);
  CHECK(b.at("k").kind == lease_kind::session);
}

TEST_CASE_METHOD(two_actors, "store: a kept grant outlives any time as long as its session does", "[contract]") {
  a.acquire("k");
  fixture->pass(for_moments);
  const seen now = b.at("k");
  CHECK_FALSE(now.expired);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(b.kill(a.id) == outcome::no);
  CHECK(answer(b.take_over("k", now)) == outcome::no);
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(a.at("k").holder == a.id);
}

TEST_CASE("store: a kept grant frees only when its session is gone", "[contract]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture, for_moments), b(*fixture);
  const auto fence = a.acquire("k");
  pass_until(*fixture, [&] { return b.at("k").expired; });
  const seen expired = b.at("k");
  CHECK(expired.holder == a.id);
  CHECK(expired.kind == lease_kind::session);
  CHECK_FALSE(expired.gone);
  CHECK(expired.remaining == 0us);
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

TEST_CASE_METHOD(two_actors, "store: closing a session gives its kept grants away", "[contract]") {
  a.acquire("k");
  CHECK(a.close() == outcome::yes);
  CHECK(a.close() == outcome::no);
  const seen now = b.at("k");
  CHECK(now.gone);
  CHECK(answer(b.take_over("k", now)) == outcome::yes);
}

TEST_CASE("store: a take-over by stale sight is refused", "[contract][T57]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture), b(*fixture), c(*fixture);
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

TEST_CASE_METHOD(two_actors, "store: inspect shows a holder whose session is gone, with nothing left", "[contract]") {
  a.acquire("k");
  a.close();
  const auto gone = b.inspected("k");
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].session == a.id);
  CHECK(gone[0].host.empty());
  CHECK(gone[0].pid == 0);
  CHECK(gone[0].remaining == 0us);
  CHECK(gone[0].dead);
}

TEST_CASE("store: inspect and list call a holder dead whose session has expired, and nobody else", "[contract]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture, for_moments), b(*fixture);
  a.acquire("dead");
  a.acquire("own", 20min);
  b.acquire("alive");
  pass_until(*fixture, [&] { return b.at("dead").expired; });
  std::vector<holder_info> found;
  REQUIRE(b.store->admin() != nullptr);
  REQUIRE(answer(b.store->admin()->list(*b.connection, "", 10, found)) == outcome::yes);
  REQUIRE(found.size() == 3);
  CHECK_FALSE(found[0].dead);  // alive
  CHECK(found[1].dead);        // dead
  CHECK_FALSE(found[2].dead);  // an expiry of its own needs no session
  CHECK(found[1].host == "host-a");
  CHECK(found[1].remaining == 0us);
  CHECK(b.inspected("dead").at(0).dead);
  CHECK_FALSE(b.inspected("own").at(0).dead);
  // The next one who asks gets it.
  REQUIRE(b.kill(a.id) == outcome::yes);
  CHECK(answer(b.take_over("dead", b.at("dead"))) == outcome::yes);
  CHECK_FALSE(b.inspected("dead").at(0).dead);
}

}  // namespace dlock::test
