// SPDX-License-Identifier: GPL-2.0-or-later

/// Many at once: threads with connections of their own.

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "contract/store_contract.hpp"

namespace dlock::test {

namespace {

/// A lock that could not be had in time is a kind of "no".
bool contended(const reply& r) { return r.what == outcome::failed && r.why.contended; }

std::vector<std::unique_ptr<actor>> crowd(store_place& place, std::size_t size) {
  std::vector<std::unique_ptr<actor>> made;
  for (std::size_t i = 0; i < size; ++i) made.push_back(std::make_unique<actor>(place));
  return made;
}

/// Calls one(actor, index) in a thread for each, all at once; the replies.
template <class One>
std::vector<reply> all_at_once(std::vector<std::unique_ptr<actor>>& who, One one) {
  std::vector<reply> replies(who.size());
  std::latch start(static_cast<std::ptrdiff_t>(who.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < who.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        replies[i] = one(*who[i]);
      });
    }
  }
  return replies;
}

std::ptrdiff_t count_yes(const std::vector<reply>& replies) {
  return std::count_if(replies.begin(), replies.end(), [](const reply& r) { return r.what == outcome::yes; });
}

}  // namespace

TEST_CASE("store: of many that make a key's row at once exactly one gets it and none an error", "[contract][T48]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 24);
  for (int round = 0; round < 10; ++round) {
    const std::string key = "new:" + std::to_string(round);
    const auto replies = all_at_once(who, [&](actor& a) { return a.insert(key); });
    for (const reply& r : replies) answer(r);
    REQUIRE(count_yes(replies) == 1);
    CHECK(who[0]->at(key).fence == 1);
  }
}

TEST_CASE("store: of many that steal from one dead session exactly one wins, and the fence grows by one",
          "[contract][T57]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 100);
  actor dead(*place, for_moments);
  const auto fence = dead.acquire("k");
  pass_until(*place, [&] { return who[0]->at("k").expired; });
  const seen of = who[0]->at("k");
  const auto replies = all_at_once(who, [&](actor& a) {
    a.where->session(*a.on, session_verb::kill, {.id = of.holder});
    return a.take_over("k", of);
  });
  REQUIRE(count_yes(replies) == 1);
  CHECK(who[0]->at("k").fence == fence + 1);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    INFO(replies[i].why.text);
    if (replies[i].what == outcome::yes) {
      CHECK(replies[i].fence == fence + 1);
      CHECK(who[0]->at("k").holder == who[i]->id);
    } else {
      CHECK((replies[i].what == outcome::no || contended(replies[i])));
    }
  }
}

TEST_CASE("store: of many that take a key when its own expiry passes exactly one wins", "[contract][T57]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 24);
  actor dead(*place);
  const auto fence = dead.acquire("k", for_moments);
  pass_until(*place, [&] { return dead.at("k").expired; });
  const auto replies = all_at_once(who, [](actor& a) { return a.take("k"); });
  REQUIRE(count_yes(replies) == 1);
  CHECK(dead.at("k").fence == fence + 1);
}

TEST_CASE("store: holders of one key never overlap and see fences one apart", "[contract]") {
  constexpr int rounds = 20;
  const auto place = make_store_place();
  auto who = crowd(*place, 8);
  who[0]->acquire("k");
  REQUIRE(answer(who[0]->release("k", 1)) == outcome::yes);

  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::uint64_t last = 1;  // guarded by the lock under test
  std::atomic<int> gaps{0};
  const auto replies = all_at_once(who, [&](actor& a) -> reply {
    for (int done = 0; done < rounds;) {
      const reply taken = a.take("k");
      if (taken.what == outcome::no || contended(taken)) {
        std::this_thread::yield();
        continue;
      }
      if (taken.what != outcome::yes) return taken;
      if (inside.fetch_add(1) != 0) ++overlaps;
      if (taken.fence != last + 1) ++gaps;
      last = taken.fence;
      inside.fetch_sub(1);
      reply freed = a.release("k", taken.fence);
      while (contended(freed)) freed = a.release("k", taken.fence);
      if (freed.what != outcome::yes) return freed;
      ++done;
    }
    return {.what = outcome::yes};
  });
  for (const reply& r : replies) CHECK(answer(r) == outcome::yes);
  CHECK(overlaps == 0);
  CHECK(gaps == 0);
  CHECK(last == 1 + rounds * who.size());
}

TEST_CASE("store: a session that is renewed and killed at the same time is lost or alive, never both", "[contract]") {
  const auto place = make_store_place();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<actor>> who;
    who.push_back(std::make_unique<actor>(*place, for_moments));
    who.push_back(std::make_unique<actor>(*place));
    actor& owner = *who[0];
    const std::string key = "round:" + std::to_string(round);
    owner.acquire(key);
    // Either may win: close to the expiry.
    pass_until(*place, [&] { return who[1]->at(key).left < for_moments / 3; });
    const auto replies = all_at_once(who, [&](actor& a) {
      const bool renews = &a == &owner;
      reply r;
      for (int i = 0; i < 10 && (renews ? i == 0 : r.what != outcome::yes); ++i) {
        r = a.where->session(*a.on, renews ? session_verb::renew : session_verb::kill,
                             {.id = owner.id, .ttl = for_long});
      }
      return r;
    });
    INFO("renewed " << replies[0].what << ", killed " << replies[1].what);
    CHECK_FALSE((replies[0].what == outcome::yes && replies[1].what == outcome::yes));
    CHECK(who[1]->at(key).gone == (replies[1].what == outcome::yes));
  }
}

}  // namespace dlock::test
