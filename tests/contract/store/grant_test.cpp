// SPDX-License-Identifier: BSL-1.0

/// take, insert, poll: who gets a key, and with which fence.

#include <array>
#include <vector>

#include "contract/store/two_actors.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: a key that was never used has no row, and is taken only where a free key has none",
                 "[contract]") {
  CHECK(answer(a.poll("k")) == outcome::absent);
  const reply taken = a.take("k");
  REQUIRE(answer(taken) == (a.deletes ? outcome::yes : outcome::no));
  if (a.deletes) {
    CHECK(answer(b.take("k")) == outcome::no);
    CHECK(a.sees(a, "k"));
    REQUIRE(answer(a.release("k", taken.fence)) == outcome::yes);
  }
  if (!a.makes_rows) CHECK(answer(a.poll("k")) == outcome::absent);
  CHECK_FALSE(a.sees_held("k"));
}

TEST_CASE_METHOD(two_actors, "store: the first insert of a key is a grant, the second makes nothing", "[contract]") {
  if (a.makes_rows) CHECK(answer(a.take("k")) == outcome::no);
  const reply first = a.insert("k");
  REQUIRE(answer(first) == outcome::yes);
  CHECK(a.follows(first.fence, 0));
  CHECK(answer(b.insert("k")) == outcome::no);
  CHECK(answer(a.insert("k")) == outcome::no);
  CHECK(b.sees(a, "k"));
  if (!b.hides) CHECK(b.at("k").fence == first.fence);
}

TEST_CASE_METHOD(two_actors, "store: one owner at a time", "[contract]") {
  const auto fence = a.acquire("k");
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(b.take("k", for_long)) == outcome::no);
  CHECK(answer(b.insert("k")) == outcome::no);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);
  CHECK_FALSE(b.at("k").expired);
  CHECK(a.sees(a, "k"));
  CHECK(b.sees(a, "k"));
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  CHECK_FALSE(b.sees_held("k"));
  const reply theirs = b.take("k");
  REQUIRE(answer(theirs) == outcome::yes);
  CHECK(b.follows(theirs.fence, fence));
  CHECK(a.sees(b, "k"));
  CHECK(answer(a.take("k")) == outcome::no);
}

TEST_CASE("store: a store knows no re-entry, so a second take by the holder is refused", "[contract]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture);
  const auto fence = a.acquire("k");
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(answer(a.insert("k")) == outcome::no);
  if (!a.hides) CHECK(a.at("k").fence == fence);
  CHECK(answer(a.release("k", fence)) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: a free key is not taken over", "[contract]") {
  const auto fence = a.acquire("k");
  const seen held = b.at("k");
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  a.close();
  CHECK(answer(b.take_over("k", held)) == outcome::no);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: a batch answers for each key", "[contract]") {
  REQUIRE(answer(a.release("batch:1", a.acquire("batch:1"))) == outcome::yes);
  const auto second = a.acquire("batch:1");
  REQUIRE(answer(a.release("batch:1", second)) == outcome::yes);
  const auto held = a.acquire("batch:2");
  const auto third = b.acquire("batch:3");
  REQUIRE(answer(b.release("batch:3", third)) == outcome::yes);
  // A free key has no row in some stores: then a take would make it.
  const bool inserts = a.deletes;

  const std::array<std::string_view, 4> keys = {"batch:1", "batch:2", "batch:3", "batch:4"};
  const auto run = [&](actor& who, verb action, std::array<std::uint64_t, 4> fences = {}) {
    std::array<request, 4> requests;
    std::array<reply, 4> replies;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      requests[i] = {.action = action,
                     .resource = keys[i],
                     .session = who.id,
                     .nonce = ++who.nonce,
                     .fence = fences[i],
                     .kind = kind_for(who.lasting(0us)),
                     .ttl = who.lasting(0us)};
    }
    who.store->execute(*who.connection, requests, replies);
    unsigned statements = 0;
    for (const reply& r : replies) {
      answer(r);
      statements += r.statements;
    }
    if (who.store->caps().batch && (who.hides || fixture->keeps_by_itself()))
      CHECK(statements == 1);  // others may need more
    return replies;
  };

  const auto taken = run(b, verb::take);
  CHECK(taken[0].result == outcome::yes);
  CHECK(a.follows(taken[0].fence, second));
  CHECK(taken[1].result == outcome::no);
  CHECK(taken[2].result == outcome::yes);
  CHECK(a.follows(taken[2].fence, third));
  CHECK(taken[3].result == (inserts ? outcome::yes : outcome::no));
  if (inserts) REQUIRE(answer(b.release("batch:4", taken[3].fence)) == outcome::yes);

  const auto polled = run(a, verb::poll);
  CHECK(polled[1].holder.holder == a.id);
  CHECK((polled[0].holder.holder == b.id || (a.hides && polled[0].holder.holder)));
  CHECK((polled[2].holder.fence == taken[2].fence || (a.hides && polled[2].holder.holder)));
  CHECK((polled[3].result == outcome::absent || (a.makes_rows && !polled[3].holder.holder)));

  const auto inserted = run(b, verb::insert);
  CHECK(inserted[0].result == outcome::no);
  CHECK(inserted[3].result == outcome::yes);
  CHECK(a.follows(inserted[3].fence, 0));

  const auto freed = run(b, verb::release, {taken[0].fence, held, taken[2].fence, inserted[3].fence});
  CHECK(freed[0].result == outcome::yes);
  CHECK(freed[1].result == outcome::no);
  CHECK(freed[2].result == outcome::yes);
  CHECK(freed[3].result == outcome::yes);
  CHECK(a.sees(a, "batch:2"));
  CHECK_FALSE(a.sees_held("batch:1"));
}

}  // namespace dlock::test
