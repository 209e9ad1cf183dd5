// SPDX-License-Identifier: BSL-1.0

/// Many at once that end one session.

#include <string>

#include "contract/store/crowd.hpp"
#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE("store: of many that steal from one dead session exactly one wins, and the fence grows by one",
          "[contract][T57]") {
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

TEST_CASE("store: a session that is renewed and killed at the same time is lost or alive, never both", "[contract]") {
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
