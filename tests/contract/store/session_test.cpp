// SPDX-License-Identifier: BSL-1.0

/// Sessions that outlive their connections: what they keep, who may end them, and how they are shown.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

/// Takes it, or takes it over from a session that has ended, where that leaves a row.
outcome got(actor& by, std::string_view key) {
  const auto taken = answer(by.take(key));
  return taken == outcome::no && !by.deletes ? answer(by.take_over(key, by.at(key))) : taken;
}

}  // namespace

TEST_CASE_METHOD(one_actor, "store: a session is opened once") {
  CHECK(a.session(session_verb::open, a.id, for_moments) == outcome::no);
  a.acquire("k");
  CHECK(a.at("k").remaining > for_moments);
}

TEST_CASE_METHOD(two_actors, "store: renewal does not change the locks that a session keeps") {
  const auto first = a.acquire("k1");
  const auto second = a.acquire("k2");
  for (int i = 0; i < 3; ++i) REQUIRE(a.renew(for_long) == outcome::yes);
  CHECK(b.at("k1").fence == first);
  CHECK(b.at("k2").fence == second);
  CHECK(answer(a.release("k1", first)) == outcome::yes);
  CHECK(b.at("k2").holder == a.id);
}

TEST_CASE_METHOD(two_actors, "store: kill does not touch a live session") {
  CHECK(b.kill(a.id) == outcome::no);
  CHECK(a.kill(a.id) == outcome::no);
  CHECK(a.renew(for_long) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: a session that is closed keeps nothing any more") {
  a.acquire("k1");
  a.acquire("k2");
  CHECK(a.close() == outcome::yes);
  CHECK(a.close() == outcome::no);
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(got(b, "k1") == outcome::yes);
  CHECK(got(b, "k2") == outcome::yes);
}

TEST_CASE_METHOD(any_store, "store: a session that is closed or unknown is not renewed") {
  actor b(*fixture);
  CHECK(b.close() == outcome::yes);
  CHECK(b.renew(for_long) == outcome::no);
  CHECK(b.session(session_verb::renew, id128::random(), for_long) == outcome::no);
  CHECK(b.session(session_verb::close, id128::random(), 0us) == outcome::no);
}

TEST_CASE_METHOD(two_actors, "store: a revoked session is not renewed, and what it keeps is free when it has ended") {
  a.acquire("k");
  CHECK_FALSE(b.inspected("k").at(0).revoked);
  REQUIRE(b.store->admin() != nullptr);
  REQUIRE(b.revoke("k") == outcome::yes);
  CHECK(b.inspected("k").at(0).revoked);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(b.renew(for_long) == outcome::yes);
  CHECK(a.close() == outcome::yes);
  CHECK(got(b, "k") == outcome::yes);
}

TEST_CASE_METHOD(one_actor, "store: revoking needs a key that a session keeps") {
  REQUIRE(a.store->admin() != nullptr);
  const auto revoke = [&](std::string_view key) { return a.revoke(key); };
  CHECK(revoke("nothing") == outcome::no);
  if (a.store->caps().expiring_leases) {
    a.acquire("own", for_long);
    CHECK(revoke("own") == outcome::no);
  }
  const auto fence = a.acquire("free");
  REQUIRE(answer(a.release("free", fence)) == outcome::yes);
  CHECK(revoke("free") == outcome::no);
  CHECK(a.renew(for_long) == outcome::yes);
  actor b(*fixture);
  b.acquire("left");
  b.close();
  CHECK(revoke("left") == outcome::no);
}

TEST_CASE_METHOD(any_store, "store: a poll shows the holder, its fence, how it is kept and who it is") {
  actor a(*fixture, for_long, "billing"), b(*fixture);
  const auto fence = a.acquire("k");
  const seen kept = b.at("k");
  CHECK(kept.holder == a.id);
  CHECK(kept.fence == fence);
  CHECK(kept.kind == lease_kind::session);
  CHECK_FALSE(kept.gone);
  CHECK_FALSE(kept.expired);
  CHECK(kept.remaining > for_long - 1min);
  if (!fixture->keeps_by_itself()) CHECK(kept.remaining <= for_long);
  CHECK(kept.who == "host-a/4242 billing");

  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  CHECK_FALSE(b.at("k").holder);
  if (b.deletes) CHECK(answer(b.poll("k")) == outcome::absent);

  if (!a.store->caps().expiring_leases) return;
  a.acquire("k", 20min);
  const seen own = b.at("k");
  CHECK(own.kind == lease_kind::expiring);
  CHECK_FALSE(own.expired);
  CHECK(own.remaining > 19min);
  CHECK(own.remaining <= 20min);
}

TEST_CASE_METHOD(any_store, "store: inspect shows a holder, and nobody for a free or unknown key") {
  actor a(*fixture, for_long, "billing"), b(*fixture);
  CHECK(b.inspected("k").empty());
  const auto fence = a.acquire("k");
  fixture->pass(2ms);
  const auto kept = b.inspected("k");
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].key == "k");
  CHECK(kept[0].session == a.id);
  CHECK(kept[0].fence == fence);
  CHECK(kept[0].host == "host-a");
  CHECK(kept[0].pid == 4242);
  CHECK(kept[0].label == "billing");
  CHECK(kept[0].kind == lease_kind::session);
  CHECK_FALSE(kept[0].revoked);
  CHECK_FALSE(kept[0].dead);
  if (!fixture->keeps_by_itself() && a.store->caps().min_hold) CHECK(kept[0].since >= 2ms);
  CHECK(kept[0].since < 5min);
  CHECK(kept[0].remaining > for_long - 5min);

  REQUIRE(b.store->admin() != nullptr);
  REQUIRE(b.revoke("k") == outcome::yes);
  CHECK(b.inspected("k").at(0).revoked);
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  CHECK(b.inspected("k").empty());
}

}  // namespace dlock::test
