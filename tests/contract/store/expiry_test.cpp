// SPDX-License-Identifier: BSL-1.0

/// Grants with an expiry of their own: how they are extended, shown, and given to the next. Of stores with
/// capabilities::expiring_leases.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: a grant with an expiry of its own is free when that has passed") {
  const auto fence = a.acquire("k", fixture->moments());
  pass_until(*fixture, [&] { return b.at("k").expired; });
  if (!b.forgets) {
    CHECK(b.at("k").holder == a.id);
    CHECK(b.at("k").fence == fence);  // expiry changes no fence
  }
  const reply taken = b.take("k");
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(b.follows(taken.fence, fence));
}

TEST_CASE_METHOD(two_actors, "store: a late release does not touch who took the key meanwhile", "[T01]") {
  const auto fence = a.acquire("k", fixture->moments());
  pass_until(*fixture, [&] { return b.at("k").expired; });
  const auto theirs = b.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::no);
  CHECK(answer(a.extend("k", fence, for_long)) == outcome::no);
  CHECK(answer(a.release("k", theirs)) == outcome::no);
  CHECK(b.at("k").holder == b.id);
}

TEST_CASE_METHOD(two_actors, "store: extend moves an own expiry forward, never back") {
  const auto fence = a.acquire("k", for_long);
  REQUIRE(answer(a.extend("k", fence, 2 * for_long)) == outcome::yes);
  CHECK(b.at("k").remaining > for_long);
  REQUIRE(answer(a.extend("k", fence, 10s)) == outcome::yes);
  CHECK(b.at("k").remaining > for_long);
  CHECK(b.at("k").fence == fence);
}

TEST_CASE_METHOD(two_actors,
                 "store: extend is refused to another owner, by an old fence and once the expiry has passed") {
  const auto fence = a.acquire("k", fixture->moments());
  CHECK(answer(b.extend("k", fence, for_long)) == outcome::no);
  CHECK(answer(a.extend("k", fence + 1, for_long)) == outcome::no);
  CHECK(answer(a.extend("other", fence, for_long)) == outcome::no);
  pass_until(*fixture, [&] { return b.at("k").expired; });
  CHECK(answer(a.extend("k", fence, for_long)) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(one_actor, "store: an older fence of the same session frees, extends and delays nothing", "[T02]") {
  const auto older = a.acquire("k", 20s);
  REQUIRE(answer(a.release("k", older)) == outcome::yes);
  const auto present = a.acquire("k", 20s);
  REQUIRE(a.follows(present, older));
  for (const std::uint64_t other : {older, present + 1}) {
    CHECK(answer(a.release("k", other)) == outcome::no);
    if (a.store->caps().min_hold) CHECK(answer(a.release("k", other, 1h)) == outcome::no);
    CHECK(answer(a.extend("k", other, 1h)) == outcome::no);
    CHECK(a.at("k").holder == a.id);
    CHECK(a.at("k").remaining <= 20s + a.rounding);
  }
  CHECK(answer(a.release("k", present)) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: a batch of extensions is for the grants that it names, by fence, and no others",
                 "[T02]") {
  const auto older = a.acquire("again", 1h);
  REQUIRE(answer(a.release("again", older)) == outcome::yes);
  a.acquire("again", 1h);
  const auto mine = a.acquire("mine", 1h), theirs = b.acquire("theirs", 1h);
  std::vector<request> batch;
  for (const auto& [key, fence] : {std::pair{"again", older}, {"mine", mine}, {"theirs", theirs}}) {
    batch.push_back({.action = verb::extend,
                     .resource = key,
                     .session = a.id,
                     .nonce = ++a.nonce,
                     .fence = fence,
                     .kind = kind_for(5h),
                     .ttl = 5h});
  }
  const auto replies = a.run(batch);
  CHECK(answer(replies[0]) == outcome::no);
  CHECK(answer(replies[1]) == outcome::yes);
  CHECK(answer(replies[2]) == outcome::no);
  CHECK(a.at("again").remaining < 2h);
  CHECK(a.at("mine").remaining > 4h);
  CHECK(b.at("theirs").remaining < 2h);
}

TEST_CASE_METHOD(any_store, "store: a take-over of an own expiry by stale sight is refused", "[T57]") {
  actor a(*fixture), b(*fixture), c(*fixture);
  a.acquire("k", fixture->moments());
  const seen alive = b.at("k");
  pass_until(*fixture, [&] { return b.at("k").expired; });
  if (b.forgets) {  // there is nothing to be taken over
    CHECK(answer(b.take_over("k", alive)) == outcome::no);
    return;
  }
  const seen old = b.at("k");
  REQUIRE(answer(c.take_over("k", old, fixture->moments())) == outcome::yes);
  pass_until(*fixture, [&] { return c.at("k").expired; });
  CHECK(answer(b.take_over("k", old)) == outcome::no);  // another holder
  CHECK(c.at("k").holder == c.id);
  REQUIRE(answer(a.take("k", fixture->moments())) == outcome::yes);
  pass_until(*fixture, [&] { return c.at("k").expired; });
  CHECK(answer(b.take_over("k", old)) == outcome::no);  // the same holder, another grant of it
  const reply taken = b.take_over("k", b.at("k"), for_long);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(b.follows(taken.fence, old.fence, 3));
}

TEST_CASE_METHOD(two_actors, "store: a live own expiry is not taken over") {
  a.acquire("k", for_long);
  a.close();  // means nothing to a grant with an expiry of its own
  seen now = b.at("k");
  CHECK(now.kind == lease_kind::expiring);
  CHECK(answer(b.take_over("k", now)) == outcome::no);
  now.kind = lease_kind::session;  // a lie, or what it was before
  CHECK(answer(b.take_over("k", now)) == outcome::no);
  CHECK(b.at("k").holder == a.id);
}

TEST_CASE_METHOD(any_store, "store: of many that take a key when its own expiry passes exactly one wins", "[T57]") {
  auto who = crowd(*fixture, 24);
  actor dead(*fixture);
  const auto fence = dead.acquire("k", fixture->moments());
  pass_until(*fixture, [&] { return dead.at("k").expired; });
  const auto replies = all_at_once(who, [](actor& a) { return a.take("k"); });
  check_one_got(*fixture, replies, *who[0], "k");
  CHECK(dead.follows(dead.at("k").fence, fence));
}

TEST_CASE_METHOD(two_actors, "store: inspect shows an own expiry until it has passed") {
  a.acquire("long", 20min);
  const auto own = b.inspected("long");
  REQUIRE(own.size() == 1);
  CHECK(own[0].kind == lease_kind::expiring);
  CHECK(own[0].remaining > 15min);
  CHECK(own[0].remaining <= 20min + a.rounding);
  a.acquire("short", fixture->moments());
  pass_until(*fixture, [&] { return b.at("short").expired; });
  CHECK(b.inspected("short").empty());
}

}  // namespace dlock::test
