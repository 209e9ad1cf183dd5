// SPDX-License-Identifier: BSL-1.0

/// Many at once: threads with connections of their own.

#include <atomic>
#include <thread>

#include "contract/store/crowd.hpp"
#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE("store: of many that make a key's row at once exactly one gets it and none an error", "[contract][T48]") {
  const auto fixture = make_store_fixture();
  auto who = crowd(*fixture, 24);
  for (int round = 0; round < 10; ++round) {
    const std::string key = "new:" + std::to_string(round);
    if (who[0]->makes_rows) CHECK(answer(who[0]->take(key)) == outcome::no);
    const auto replies = all_at_once(who, [&](actor& a) { return a.insert(key); });
    for (const reply& r : replies) {
      if (!contended(*fixture, r)) answer(r);
    }
    check_one_got(*fixture, replies, *who[0], key);
    if (!who[0]->hides) CHECK(who[0]->follows(who[0]->at(key).fence, 0));
  }
}

TEST_CASE("store: of many that take a free key at once exactly one gets it and none an error", "[contract][T48]") {
  const auto fixture = make_store_fixture();
  auto who = crowd(*fixture, 12);
  for (int round = 0; round < 5; ++round) {
    const std::string key = "free:" + std::to_string(round);
    const auto first = who[0]->acquire(key);
    REQUIRE(answer(who[0]->release(key, first)) == outcome::yes);
    const auto replies = all_at_once(who, [&](actor& a) { return a.take(key); });
    for (const reply& r : replies) {
      if (!contended(*fixture, r)) answer(r);
    }
    check_one_got(*fixture, replies, *who[0], key);
    if (!who[0]->hides) CHECK(who[0]->follows(who[0]->at(key).fence, first));
  }
}

TEST_CASE("store: holders of one key never overlap, and none sees the fence of the one before", "[contract]") {
  constexpr int rounds = 20;
  const auto fixture = make_store_fixture();
  auto who = crowd(*fixture, 8);
  const auto first = who[0]->acquire("k");
  REQUIRE(answer(who[0]->release("k", first)) == outcome::yes);

  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::uint64_t last = first;  // guarded by the lock under test
  std::atomic<int> gaps{0};
  const auto replies = all_at_once(who, [&](actor& a) -> reply {
    for (int done = 0; done < rounds;) {
      const reply taken = a.take("k");
      if (taken.result == outcome::no || contended(*fixture, taken)) {
        std::this_thread::yield();
        continue;
      }
      if (taken.result != outcome::yes) return taken;
      if (inside.fetch_add(1) != 0) ++overlaps;
      if (!a.follows(taken.fence, last)) ++gaps;
      last = taken.fence;
      inside.fetch_sub(1);
      reply freed = a.release("k", taken.fence);
      while (contended(*fixture, freed)) freed = a.release("k", taken.fence);
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
