// SPDX-License-Identifier: GPL-2.0-or-later

/// Many at once: threads with connections of their own.

#include <atomic>
#include <thread>

#include "contract/store/crowd.hpp"
#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

/// At most one of them got it. Where nobody did, because their votes were split, nothing of them is left.
void check_one_got(store_place& place, const std::vector<reply>& replies, actor& another, std::string_view key) {
  if (place.votes_may_split() && count_yes(replies) == 0) {
    CHECK(answer(another.insert(key)) == outcome::yes);
    return;
  }
  REQUIRE(count_yes(replies) == 1);
}

}  // namespace

TEST_CASE("store: of many that make a key's row at once exactly one gets it and none an error", "[contract][T48]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 24);
  for (int round = 0; round < 10; ++round) {
    const std::string key = "new:" + std::to_string(round);
    const auto replies = all_at_once(who, [&](actor& a) { return a.insert(key); });
    for (const reply& r : replies) answer(r);
    check_one_got(*place, replies, *who[0], key);
    CHECK(who[0]->follows(who[0]->at(key).fence, 0));
  }
}

TEST_CASE("store: of many that take a key when its own expiry passes exactly one wins", "[contract][T57]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 24);
  actor dead(*place);
  const auto fence = dead.acquire("k", for_moments);
  pass_until(*place, [&] { return dead.at("k").expired; });
  const auto replies = all_at_once(who, [](actor& a) { return a.take("k"); });
  check_one_got(*place, replies, *who[0], "k");
  CHECK(dead.follows(dead.at("k").fence, fence));
}

TEST_CASE("store: holders of one key never overlap, and none sees the fence of the one before", "[contract]") {
  constexpr int rounds = 20;
  const auto place = make_store_place();
  auto who = crowd(*place, 8);
  const auto first = who[0]->acquire("k");
  REQUIRE(answer(who[0]->release("k", first)) == outcome::yes);

  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::uint64_t last = first;  // guarded by the lock under test
  std::atomic<int> gaps{0};
  const auto replies = all_at_once(who, [&](actor& a) -> reply {
    for (int done = 0; done < rounds;) {
      const reply taken = a.take("k");
      if (taken.result == outcome::no || contended(taken)) {
        std::this_thread::yield();
        continue;
      }
      if (taken.result != outcome::yes) return taken;
      if (inside.fetch_add(1) != 0) ++overlaps;
      if (!a.follows(taken.fence, last)) ++gaps;
      last = taken.fence;
      inside.fetch_sub(1);
      reply freed = a.release("k", taken.fence);
      while (contended(freed)) freed = a.release("k", taken.fence);
      if (freed.result != outcome::yes) return freed;
      ++done;
    }
    return {.result = outcome::yes};
  });
  for (const reply& r : replies) CHECK(answer(r) == outcome::yes);
  CHECK(overlaps == 0);
  CHECK(gaps == 0);
  CHECK(who[0]->follows(last, first, rounds * who.size()));
}

}  // namespace dlock::test
