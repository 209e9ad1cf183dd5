// SPDX-License-Identifier: BSL-1.0

/// Sessions whose expiry stands in the store: when they end, and who ends them.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: renewal moves a session's expiry forward, never back") {
  const auto fence = a.acquire("k");
  REQUIRE(a.renew(2 * for_long) == outcome::yes);
  CHECK(b.at("k").remaining > for_long);
  REQUIRE(a.renew(1ms) == outcome::yes);
  CHECK(b.at("k").remaining > for_long);
  CHECK(b.at("k").fence == fence);
}

TEST_CASE_METHOD(any_store, "store: renewal prolongs its own session and nobody else's", "[T16]") {
  actor dying(*fixture, for_moments), renewed(*fixture), other(*fixture);
  dying.acquire("k");
  REQUIRE(renewed.renew(2 * for_long) == outcome::yes);
  pass_until(*fixture, [&] { return other.at("k").expired; });
  REQUIRE(renewed.renew(2 * for_long) == outcome::yes);
  CHECK(other.at("k").expired);
  CHECK(other.kill(dying.id) == outcome::yes);
  CHECK(other.kill(renewed.id) == outcome::no);
}

TEST_CASE_METHOD(any_store, "store: an expired session is not renewed although it still exists") {
  actor a(*fixture, for_moments), b(*fixture);
  a.acquire("k");
  pass_until(*fixture, [&] { return b.at("k").expired; });
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(b.at("k").expired);
  CHECK_FALSE(b.at("k").gone);
}

TEST_CASE_METHOD(any_store, "store: a session that is killed is not renewed") {
  actor a(*fixture, for_moments), b(*fixture);
  pass_until(*fixture, [&] { return b.kill(a.id) == outcome::yes; });
  CHECK(a.renew(for_long) == outcome::no);
}

TEST_CASE_METHOD(any_store, "store: a revoked session keeps its locks until it expires and is not renewed") {
  actor b(*fixture), a(*fixture, 5s);  // in this order: its ttl runs from now on
  const auto fence = a.acquire("k");
  REQUIRE(a.renew(5s) == outcome::yes);
  REQUIRE(b.store->admin() != nullptr);
  REQUIRE(b.revoke("k") == outcome::yes);
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::no);
  pass_until(*fixture, [&] { return b.kill(a.id) == outcome::yes; });
  const reply taken = b.take_over("k", b.at("k"));
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
}

// Grants that a session keeps: how they are shown, and what becomes of them when it ends. Of stores with
// capabilities::session_leases.

TEST_CASE_METHOD(two_actors, "store: extend is refused to a kept grant, which has no expiry") {
  const auto fence = a.acquire("k");
  CHECK(answer(a.extend("k", fence, 1ms)) == outcome::no);
  CHECK(b.at("k").kind == lease_kind::session);
}

TEST_CASE_METHOD(two_actors, "store: a kept grant writes no expiry over the one from before") {
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

TEST_CASE_METHOD(two_actors, "store: a kept grant outlives any time as long as its session does") {
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

TEST_CASE_METHOD(any_store, "store: a kept grant frees only when its session is gone") {
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
  const auto shown = b.inspected("k");
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].dead);
  CHECK(shown[0].host == "host-a");

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

TEST_CASE_METHOD(any_store, "store: a take-over by stale sight is refused", "[T57]") {
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

TEST_CASE_METHOD(two_actors, "store: inspect shows a holder whose session is gone, with nothing left") {
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

// Many at once that end one session.

TEST_CASE("store: of many that steal from one dead session exactly one wins, and the fence grows by one", "[T57]") {
  const auto fixture = make_store_fixture();
  auto who = crowd(*fixture, 100);
  actor dead(*fixture, for_moments);
  const auto fence = dead.acquire("k");
  pass_until(*fixture, [&] { return who[0]->at("k").expired; });
  const seen holder = who[0]->at("k");
  const auto replies = all_at_once(who, [&](actor& a) {
    a.store->session(*a.connection, session_verb::remove_expired, {.id = holder.holder});
    return a.take_over("k", holder);
  });
  REQUIRE(count_yes(replies) == 1);
  CHECK(who[0]->at("k").fence == fence + 1);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    INFO(replies[i].why.text);
    if (replies[i].result == outcome::yes) {
      CHECK(replies[i].fence == fence + 1);
      CHECK(who[0]->at("k").holder == who[i]->id);
    } else {
      CHECK((replies[i].result == outcome::no || contended(*fixture, replies[i])));
    }
  }
}

TEST_CASE("store: a session that is renewed and killed at the same time is lost or alive, never both") {
  const auto fixture = make_store_fixture();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<actor>> who;
    who.push_back(std::make_unique<actor>(*fixture, for_moments));
    who.push_back(std::make_unique<actor>(*fixture));
    actor& owner = *who[0];
    const std::string key = "round:" + std::to_string(round);
    owner.acquire(key);
    // Either may win: close to the expiry.
    pass_until(*fixture, [&] { return who[1]->at(key).remaining < for_moments / 3; });
    const auto replies = all_at_once(who, [&](actor& a) {
      const bool renews = &a == &owner;
      reply r;
      for (int i = 0; i < 10 && (renews ? i == 0 : r.result != outcome::yes); ++i) {
        r = a.store->session(*a.connection, renews ? session_verb::renew : session_verb::remove_expired,
                             {.id = owner.id, .ttl = for_long});
      }
      return r;
    });
    INFO("renewed " << replies[0].result << ", killed " << replies[1].result);
    CHECK_FALSE((replies[0].result == outcome::yes && replies[1].result == outcome::yes));
    CHECK(who[1]->at(key).gone == (replies[1].result == outcome::yes));
  }
}

}  // namespace dlock::test
