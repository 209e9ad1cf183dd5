// SPDX-License-Identifier: GPL-2.0-or-later

/// Verbs where a lock is bound to a connection of its holder's: it ends with that, and nobody else learns more than that it is
/// held. Of stores without expiring leases.

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "contract/store/crowd.hpp"
#include "contract/store/store_contract.hpp"
#include "support/eventually.hpp"

namespace dlock::test {

namespace {

constexpr auto yes = outcome::yes, no = outcome::no;

/// take, and insert where a free key has no row.
outcome acquired(actor& by, std::string_view key) {
  const auto taken = answer(by.take(key));
  return taken == no && !by.at(key).holder ? answer(by.insert(key)) : taken;
}

bool held(actor& by, std::string_view key) { return static_cast<bool>(by.at(key).holder); }

}  // namespace

TEST_CASE("bound: one owner at a time, and no re-entry at the store", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  CHECK_FALSE(held(a, "k"));
  const auto fence = a.acquire("k");
  CHECK(answer(a.take("k")) == no);
  CHECK(answer(a.insert("k")) == no);
  CHECK(answer(b.take("k")) == no);
  CHECK(answer(b.insert("k")) == no);
  CHECK(held(a, "k"));
  CHECK(held(b, "k"));
  CHECK(a.at("k").holder == a.id);
  CHECK(b.at("k").kind == lease_kind::connection);
  CHECK_FALSE(b.at("k").expired);
  REQUIRE(answer(a.release("k", fence)) == yes);
  CHECK_FALSE(held(b, "k"));
  CHECK(acquired(b, "k") == yes);
  CHECK(answer(a.take("k")) == no);
}

TEST_CASE("bound: who does not hold a key, or held it before, frees nothing", "[contract][T01][T02][T08]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto old = a.acquire("k");
  const auto old_nonce = a.nonce;
  REQUIRE(answer(a.release("k", old)) == yes);
  CHECK(answer(a.release("k", old)) == no);
  const auto fence = a.acquire("k");
  const auto nonce = a.nonce;
  CHECK(answer(b.release("k", fence)) == no);
  CHECK(answer(b.cancel("k", nonce)) == no);
  CHECK(answer(a.release("k", old)) == no);
  CHECK(answer(a.cancel("k", old_nonce)) == no);
  CHECK(answer(a.release("other", fence)) == no);
  CHECK(answer(b.take_over("k", b.at("k"))) == no);
  CHECK(answer(b.take("k")) == no);
  CHECK(answer(a.cancel("k", nonce)) == yes);
  CHECK(answer(a.cancel("k", nonce)) == no);
  CHECK(acquired(b, "k") == yes);
}

TEST_CASE("bound: a batch answers for each key", "[contract][T76]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const std::array<std::string_view, 4> keys = {"b:1", "b:2", "b:3", "b:4"};
  for (const auto key : keys) REQUIRE(answer(a.release(key, a.acquire(key))) == yes);
  a.acquire(keys[1]);
  const auto theirs = a.nonce;
  b.acquire(keys[2]);
  const auto mine = b.nonce;
  const auto run = [&](actor& who, verb action, std::array<std::uint64_t, 4> numbers) {
    std::array<request, 4> requests;
    std::array<reply, 4> replies;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      requests[i] = {.action = action,
                     .resource = keys[i],
                     .session = who.id,
                     .nonce = numbers[i],
                     .fence = numbers[i],
                     .kind = kind_for(who.lasting(0us)),
                     .ttl = who.lasting(0us)};
    }
    who.store->execute(*who.connection, requests, replies);
    std::vector<outcome> outcomes;
    unsigned statements = 0;
    for (const reply& each : replies) {
      outcomes.push_back(answer(each));
      statements += each.statements;
    }
    if (who.store->caps().batch) CHECK(statements == 1);
    return outcomes;
  };
  using outcomes = std::vector<outcome>;
  CHECK(run(b, verb::take, {100, 101, 102, 103}) == outcomes{yes, no, no, yes});
  CHECK(answer(b.cancel(keys[2], 102)) == no);  // the first grant goes by its own nonce still
  for (const auto key : keys) CHECK(held(a, key));
  run(a, verb::look, {});
  CHECK(run(b, verb::release, {100, theirs, mine, 999}) == outcomes{yes, no, yes, no});
  CHECK(run(b, verb::cancel, {100, theirs, mine, 103}) == outcomes{no, no, no, yes});
  CHECK(held(b, keys[1]));
  CHECK_FALSE(held(b, keys[0]));
  CHECK_FALSE(held(b, keys[3]));
}

TEST_CASE("bound: of many that take a free key at once one gets it, and none an error", "[contract][T48]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 12);
  REQUIRE(answer(who[0]->release("k", who[0]->acquire("k"))) == yes);
  for (int round = 0; round < 5; ++round) {
    const auto replies = all_at_once(who, [](actor& a) { return a.take("k"); });
    for (const reply& each : replies) answer(each);
    REQUIRE(count_yes(replies) == 1);
    for (std::size_t i = 0; i != replies.size(); ++i) {
      if (replies[i].result == yes) CHECK(answer(who[i]->release("k", replies[i].fence)) == yes);
    }
  }
}

TEST_CASE("bound: holders of one key never overlap", "[contract]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 6);
  REQUIRE(answer(who[0]->release("k", who[0]->acquire("k"))) == yes);
  std::atomic<int> inside{0}, overlaps{0};
  const auto replies = all_at_once(who, [&](actor& a) -> reply {
    for (int done = 0; done < 20;) {
      const reply taken = a.take("k");
      if (taken.result == no) {
        std::this_thread::yield();
        continue;
      }
      if (taken.result != yes) return taken;
      if (inside.fetch_add(1) != 0) ++overlaps;
      inside.fetch_sub(1);
      const reply freed = a.release("k", taken.fence);
      if (freed.result != yes) return freed;
      ++done;
    }
    return {.result = yes};
  });
  for (const reply& each : replies) CHECK(answer(each) == yes);
  CHECK(overlaps == 0);
}

TEST_CASE("bound: what a process held is free as soon as its connections end, long before its ttl", "[contract][T91]") {
  const auto place = make_store_place();
  actor b(*place);
  {
    actor a(*place);
    for (const char* key : {"one", "two"}) a.acquire(key);
    CHECK(answer(b.take("one")) == no);
    a.connection.reset();
    a.store.reset();
    CHECK(eventually([&] { return !held(b, "one") && !held(b, "two"); }));
  }
  CHECK(acquired(b, "one") == yes);
}

TEST_CASE("bound: a holder that is silent for its ttl holds nothing any more, and is told", "[contract][T24][T30]") {
  const auto place = make_store_place();
  actor a(*place, 1s), b(*place);
  const auto fence = a.acquire("k", a.keeps ? 0us : 1s);
  CHECK(answer(b.take("k")) == no);
  CHECK(eventually([&] { return acquired(b, "k") == yes; }));
  if (a.keeps) CHECK(a.renew(1s) == no);
  if (!a.keeps) CHECK(answer(a.extend("k", fence, 1s)) == no);
  CHECK(answer(a.release("k", fence)) == no);
  CHECK(held(b, "k"));
}

}  // namespace dlock::test
