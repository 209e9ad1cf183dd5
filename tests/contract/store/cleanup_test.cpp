// SPDX-License-Identifier: BSL-1.0

/// Clean-up, and how operators see what it is about. Of stores with capabilities::session_leases, whose dead sessions
/// leave keys behind.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(any_store, "store: inspect and list call a holder dead whose session has expired, and nobody else") {
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

namespace {

/// How many rows went.
std::uint64_t sweep(actor& actor, microseconds idle, std::size_t limit = 100) {
  REQUIRE(actor.store->admin() != nullptr);
  const reply r = actor.store->admin()->cleanup(*actor.connection, idle, limit);
  CHECK(answer(r) == outcome::yes);
  return r.fence;
}

}  // namespace

TEST_CASE_METHOD(two_actors, "store: a key that was swept starts above its last fence", "[T50][T58]") {
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    last = a.acquire("k");
    REQUIRE(answer(a.release("k", last)) == outcome::yes);
  }
  fixture->pass(5ms);
  CHECK(sweep(b, 1ms) == 1);
  CHECK(answer(b.poll("k")) == outcome::absent);
  CHECK(answer(b.take("k")) == outcome::no);
  const reply again = b.insert("k");
  REQUIRE(answer(again) == outcome::yes);
  CHECK(again.fence == last + 1);
  CHECK(answer(a.release("k", last)) == outcome::no);
  CHECK(b.at("k").holder == b.id);
}

TEST_CASE_METHOD(one_actor, "store: the highest fence that was swept is the floor for every new key", "[T58]") {
  for (int i = 0; i < 4; ++i) REQUIRE(answer(a.release("often", a.acquire("often"))) == outcome::yes);
  REQUIRE(answer(a.release("once", a.acquire("once"))) == outcome::yes);
  fixture->pass(5ms);
  CHECK(sweep(a, 1ms) == 2);
  CHECK(a.acquire("once") == 5);
}

TEST_CASE_METHOD(two_actors, "store: sweeping leaves held keys, recent ones and live sessions") {
  const auto kept = a.acquire("kept");
  a.acquire("own", for_long);
  a.acquire("held on", 0us);
  REQUIRE(answer(a.release("held on", 1, for_long)) == outcome::yes);
  REQUIRE(answer(a.release("recent", a.acquire("recent"))) == outcome::yes);
  CHECK(sweep(b, for_long) == 0);
  fixture->pass(5ms);
  CHECK(sweep(b, 1ms) == 1);  // "recent" is not recent any more
  CHECK(answer(b.poll("recent")) == outcome::absent);
  CHECK(b.at("kept").holder == a.id);
  CHECK(b.at("own").holder == a.id);
  CHECK(b.at("held on").holder == a.id);
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(b.renew(for_long) == outcome::yes);
  CHECK(answer(a.release("kept", kept)) == outcome::yes);
}

TEST_CASE_METHOD(one_actor, "store: sweeping with idle zero leaves all keys") {
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  fixture->pass(5ms);
  CHECK(sweep(a, 0us) == 0);
  CHECK(a.at("k").fence == 1);
}

TEST_CASE_METHOD(any_store, "store: sweeping deletes dead sessions that hold nothing, and no others") {
  actor idle(*fixture, for_moments), holding(*fixture, for_moments), b(*fixture);
  holding.acquire("k");
  pass_until(*fixture, [&] { return b.at("k").expired; });
  fixture->pass(2 * for_moments);
  CHECK(sweep(b, for_long) == 1);
  CHECK(b.kill(idle.id) == outcome::no);  // not there any more
  const seen now = b.at("k");
  CHECK(now.holder == holding.id);
  CHECK_FALSE(now.gone);
  CHECK(b.kill(holding.id) == outcome::yes);
}

TEST_CASE_METHOD(any_store, "store: sweeping deletes keys of the dead that nobody asks for any more", "[T58]") {
  actor dead(*fixture, for_moments), b(*fixture);
  const auto last = dead.acquire("forsaken");
  dead.acquire("expired", for_moments);
  pass_until(*fixture, [&] { return b.at("forsaken").expired && b.at("expired").expired; });
  fixture->pass(2 * for_moments);
  CHECK(sweep(b, for_long) == 0);  // not idle for so long
  CHECK(sweep(b, 1ms) >= 2);
  sweep(b, 1ms);
  CHECK(answer(b.poll("forsaken")) == outcome::absent);
  CHECK(answer(b.poll("expired")) == outcome::absent);
  CHECK(b.kill(dead.id) == outcome::no);  // and their session with them
  CHECK(b.acquire("forsaken") > last);
}

TEST_CASE_METHOD(one_actor, "store: sweeping deletes at most as many rows as it was answered") {
  for (const char* key : {"1", "2", "3", "4", "5"}) REQUIRE(answer(a.release(key, a.acquire(key))) == outcome::yes);
  fixture->pass(5ms);
  CHECK(sweep(a, 1ms, 2) == 2);
  CHECK(sweep(a, 1ms, 2) == 2);
  CHECK(sweep(a, 1ms, 2) == 1);
  CHECK(sweep(a, 1ms, 2) == 0);
}

TEST_CASE_METHOD(any_store, "store: clean-up step by step comes to an end, leaves no idle key, and begins anew") {
  actor a(*fixture), dead(*fixture, for_moments);
  std::vector<std::string> names;
  for (int i = 0; i != 7; ++i) {
    names.push_back("idle " + std::to_string(i));
    REQUIRE(answer(a.release(names.back(), a.acquire(names.back()))) == outcome::yes);
  }
  dead.acquire("of the dead");
  a.acquire("held");
  pass_until(*fixture, [&] { return a.at("of the dead").expired; });
  fixture->pass(3 * for_moments);
  std::uint64_t gone = 0;
  for (int steps = 0;; ++steps) {
    REQUIRE(steps < 100);
    const reply r = a.store->admin()->cleanup(*a.connection, 1ms, 2);
    REQUIRE(answer(r) == outcome::yes);
    gone += r.fence;
    if (!r.more && r.fence < 2) break;
  }
  CHECK(gone >= names.size());
  for (const auto& each : names) CHECK(answer(a.poll(each)) == outcome::absent);
  CHECK(a.at("held").holder == a.id);
  REQUIRE(answer(a.release("again", a.acquire("again"))) == outcome::yes);
  pass_until(*fixture, [&] {
    sweep(a, 1ms, 2);
    return answer(a.poll("again")) == outcome::absent;
  });
}

TEST_CASE_METHOD(any_store, "store: an overview counts dead sessions, and the keys that they left behind") {
  actor a(*fixture), dead(*fixture, for_moments);
  a.acquire("of the living");
  dead.acquire("of the dead");
  pass_until(*fixture, [&] { return a.at("of the dead").expired; });
  store_overview all;
  CHECK(answer(a.store->admin()->overview(*a.connection, 10, all)) == outcome::yes);
  CHECK(all.held == 2);
  CHECK(all.held_dead == 1);
  CHECK(all.sessions_alive == 1);
  CHECK(all.sessions_dead == 1);
  for (const auto& each : all.sessions) CHECK(each.dead == (each.id == dead.id));
  for (const auto& each : all.longest) CHECK(each.dead == (each.key == "of the dead"));
}

}  // namespace dlock::test
