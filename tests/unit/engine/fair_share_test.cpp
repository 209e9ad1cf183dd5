// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/fair_share.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using engine::quiet_without_waiters;
using engine::shortest_tenure;
using engine::starvation_detector;
using engine::tenure_gap;
using engine::tenure_tracker;
using engine::tenure_yield;
using engine::waiter_precedence;
using engine::wake_knowledge;
using std::chrono::microseconds;

struct tenure_fixture {
  tenure_tracker had{};
  instant now{1'000s};
  std::uint64_t fence = 0;

  /// Takes it after `pause`, has it for `held`; others had it `between` times before.
  void hold(const lock_key& key, microseconds pause, microseconds held, std::uint64_t between = 0) {
    now += pause;
    fence += 1 + between;
    had.granted(key, {.fence = fence, .asked = now, .now = now});
    now += held;
    had.released(key, fence, now);
  }
  /// Holds it again and again until it is to be left alone. How long that took.
  microseconds until_yield(const lock_key& key) {
    const auto begun = now;
    while (had.time_to_yield(key, now + 100us) == 0us) hold(key, 100us, 2ms);
    return now - begun;
  }
};

seen holder(const id128& who, std::uint64_t fence) {
  return {.holder = who, .fence = fence, .kind = lease_kind::session};
}

}  // namespace

TEST_CASE_METHOD(tenure_fixture, "fair share: what was had again and again for a while is left alone for a moment") {
  CHECK(had.time_to_yield("k", now) == 0us);
  hold("k", 0us, 2ms);
  CHECK(had.time_to_yield("k", now) == 0us);
  const auto first = until_yield("k");
  CHECK(first >= 45ms);
  CHECK(first <= 55ms);
  CHECK(had.time_to_yield("k", now) == tenure_yield);
  CHECK(had.time_to_yield("other", now) == 0us);
}

TEST_CASE_METHOD(tenure_fixture, "fair share: when nobody comes, the next moment is later, up to a bound") {
  hold("k", 0us, 2ms);
  static_cast<void>(until_yield("k"));
  for (const auto expected : {100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
    hold("k", tenure_yield, 2ms);  // it was free all the time, and the fence is the next
    const auto took = until_yield("k");
    CHECK(took >= expected - 10ms);
    CHECK(took <= expected + 10ms);
  }
}

TEST_CASE_METHOD(tenure_fixture, "fair share: who had to let others in begins anew, and leaves it alone as soon") {
  hold("k", 0us, 2ms);
  static_cast<void>(until_yield("k"));
  hold("k", tenure_yield, 2ms);
  static_cast<void>(until_yield("k"));
  hold("k", 300ms, 2ms, 5);
  const auto took = until_yield("k");
  CHECK(took >= 45ms);
  CHECK(took <= 55ms);
}

TEST_CASE_METHOD(tenure_fixture, "fair share: a long hold counts as much as many short ones") {
  hold("k", 0us, 1s);
  CHECK(had.time_to_yield("k", now + 1ms) == tenure_yield);
}

TEST_CASE_METHOD(tenure_fixture, "fair share: who leaves it alone by himself need not do more") {
  hold("k", 0us, 1s);
  CHECK(had.time_to_yield("k", now + tenure_gap) == 0us);
  for (int i = 0; i < 200; ++i) {
    hold("k", tenure_gap, 2ms);
    CHECK(had.time_to_yield("k", now + 1ms) == 0us);
  }
}

TEST_CASE_METHOD(tenure_fixture,
                 "fair share: a process whose statements take long does not leave a key alone by that") {
  const bool counts = GENERATE(true, false);
  const auto begun = now;
  while (now - begun < 1s && had.time_to_yield("k", now + 100us) == 0us) {
    const auto asked = now + 100us;
    now = asked + 2 * tenure_gap;
    had.granted("k", {.fence = ++fence, .counts = counts, .asked = asked, .now = now});
    now += 2ms;
    had.released("k", fence, now);
  }
  CHECK(now - begun >= shortest_tenure);
  CHECK(now - begun <= shortest_tenure + 50ms);
}

TEST_CASE_METHOD(tenure_fixture, "fair share: a key that another thread of the process holds is not left alone") {
  hold("k", 0us, 1s);
  had.granted("k", {.fence = ++fence, .asked = now, .now = now});
  CHECK(had.time_to_yield("k", now + 1ms) == 0us);
  had.released("k", fence - 1, now);  // of another grant
  CHECK(had.time_to_yield("k", now + 1ms) == 0us);
}

TEST_CASE_METHOD(tenure_fixture, "fair share: a key that is used is remembered beside thousands of others") {
  int others = 0;
  const auto use_others = [&] {
    for (int i = 0; i < 100; ++i) {
      const lock_key key("other" + std::to_string(++others));
      had.granted(key, {.fence = 1, .asked = now, .now = now});
      had.released(key, 1, now);
      CHECK(had.time_to_yield(key, now) == 0us);
    }
  };
  hold("k", 0us, 2ms);
  const auto begun = now;
  while (had.time_to_yield("k", now + 100us) == 0us) {
    use_others();
    hold("k", 100us, 2ms);
  }
  CHECK(now - begun <= 60ms);
}

TEST_CASE_METHOD(tenure_fixture, "fair share: without fences the time says whether another process had the key") {
  std::uint64_t nonce = 7;
  const auto hold_it = [&](microseconds pause) {
    now += pause;
    had.granted("k", {.fence = nonce, .counts = false, .asked = now, .now = now});
    now += 2ms;
    had.released("k", nonce, now);
    nonce += 3;
  };
  const auto until_it_is_left_alone = [&] {
    const auto begun = now;
    while (had.time_to_yield("k", now + 100us) == 0us) hold_it(100us);
    return now - begun;
  };
  hold_it(0us);
  const auto first = until_it_is_left_alone();
  CHECK(first >= 45ms);
  CHECK(first <= 55ms);
  SECTION("after a moment in which nobody came the next one is later") {
    hold_it(tenure_yield);
    CHECK(until_it_is_left_alone() >= 95ms);
  }
  SECTION("and who got it later than that was not alone") {
    hold_it(tenure_yield + tenure_gap);
    CHECK(until_it_is_left_alone() <= 110ms);
  }
  SECTION("nor was who found it free after a while") {
    for (auto i = 0; i < 200; ++i) {
      hold_it(tenure_gap);
      REQUIRE(had.time_to_yield("k", now + 100us) == 0us);
    }
  }
}

TEST_CASE_METHOD(tenure_fixture, "fair share: a key that is released to waiters is left to them") {
  had.granted("k", {.fence = ++fence, .asked = now, .now = now});
  had.notified("k", fence, 1, now);
  had.released("k", fence, now);
  CHECK(had.time_to_yield("k", now + 1ms) == tenure_gap - 1ms);
  CHECK(had.time_to_yield("k", now + tenure_gap) == 0us);
  CHECK(had.rivals("k", now) == 0);  // the other one has had it when this one asks again

  had.granted("k", {.fence = fence += 1'000'000, .asked = now, .now = now});  // tokens may follow a clock
  had.notified("k", fence, 15, now);
  had.released("k", fence, now);
  CHECK(had.time_to_yield("k", now) == 15 * waiter_precedence);
  CHECK(had.rivals("k", now) == 14);
  CHECK(had.rivals("k", now + tenure_tracker::longest) == 0);

  had.granted("k", {.fence = ++fence, .asked = now, .now = now});
  had.released("k", fence, now);
  CHECK(had.time_to_yield("k", now) == 0us);  // nobody waits any more
  CHECK(had.rivals("k", now) == 0);
}

TEST_CASE_METHOD(tenure_fixture, "fair share: a process is none of the waiters that it releases a key to") {
  had.granted("k", {.fence = ++fence, .watched = true, .asked = now, .now = now});
  had.notified("k", fence, 1, now + 1ms);
  had.released("k", fence, now + 1ms);
  CHECK(had.time_to_yield("k", now + 1ms) == 0us);
  had.granted("k", {.fence = ++fence, .watched = true, .asked = now, .now = now});
  had.notified("k", fence, 1, now + tenure_gap);  // the server has seen by then that it waits no longer
  had.released("k", fence, now + tenure_gap);
  CHECK(had.time_to_yield("k", now + tenure_gap) == tenure_gap);
}

TEST_CASE("fair share: a waiter counts how often the key changes hands") {
  const instant start{1'000s};
  const auto first = id128::random();
  starvation_detector turns;
  turns.polled(holder(first, 1), start);
  turns.polled(holder(first, 1), start + 1ms);
  CHECK(turns.passed_over() == 0);
  turns.polled(holder(first, 2), start + 2ms);
  turns.polled(holder(id128::random(), 3), start + 3ms);
  turns.polled({.fence = 3}, start + 4ms);  // free
  CHECK(turns.passed_over() == 2);
}

TEST_CASE("fair share: a waiter hurries when one process takes the key again and again") {
  const instant start{1'000s};
  const auto first = id128::random();
  starvation_detector turns;
  turns.polled(holder(first, 1), start);
  turns.polled(holder(first, 9), start + 100ms);
  CHECK_FALSE(turns.hurries());
  turns.polled(holder(first, 30), start + 250ms);
  CHECK(turns.hurries());
  turns.polled(holder(id128::random(), 31), start + 260ms);
  CHECK(turns.hurries());  // until its turn
}

TEST_CASE("fair share: a waiter hurries when a process has its second turn before the waiter had its first") {
  constexpr auto known = starvation_detector::turns_known;
  const auto others = GENERATE_COPY(std::size_t{1}, known - 1, known);
  const instant start{1'000s};
  const auto first = id128::random();
  std::uint64_t fence = 0;
  starvation_detector turns;
  const auto poll = [&](const id128& who) { turns.polled(holder(who, ++fence), start + fence * 1ms); };
  poll(first);
  turns.polled({.fence = fence}, start + fence * 1ms);  // free
  poll(first);                                          // the same turn
  for (std::size_t i = 0; i < others; ++i) poll(id128::random());
  CHECK_FALSE(turns.hurries());
  poll(first);
  CHECK(turns.hurries() == (others < known));
}

TEST_CASE("fair share: a waiter does not hurry for one long hold, nor where the key changes hands") {
  const instant start{1'000s};
  const auto first = id128::random();
  starvation_detector long_hold;
  for (int i = 0; i < 20; ++i) long_hold.polled(holder(first, 7), start + i * 250ms);
  CHECK_FALSE(long_hold.hurries());
  starvation_detector busy_key;
  for (unsigned i = 0; i < 20; ++i) busy_key.polled(holder(id128::random(), i), start + i * 250ms);
  CHECK_FALSE(busy_key.hurries());
}

TEST_CASE_METHOD(tenure_fixture,
                 "fair share: a key that was released to a waiter is handed over until it is taken again") {
  CHECK_FALSE(had.handed_over("k"));
  hold("k", 0us, 2ms);
  CHECK_FALSE(had.handed_over("k"));
  had.notified("k", fence, 1, now);
  CHECK(had.handed_over("k"));
  CHECK_FALSE(had.handed_over("other"));
  hold("k", 10ms, 2ms, 1);
  CHECK_FALSE(had.handed_over("k"));
}

// ---- which releases look for a waiter ------------------------------------------------------------------------------

namespace {

struct known_keys {
  wake_knowledge known{};
  instant now{1'000s};
};

}  // namespace

TEST_CASE_METHOD(known_keys, "wake knowledge: a short lease that was got at once is released without a look") {
  known.granted("k", 1, false, now);
  CHECK_FALSE(known.looks("k", now));
  CHECK_FALSE(known.looks("k", now + quiet_without_waiters - 1us));
  CHECK(known.looks("k", now + quiet_without_waiters));
}

TEST_CASE_METHOD(known_keys,
                 "wake knowledge: what was waited for is released with a look, and so is what is not known") {
  known.granted("k", 1, true, now);
  CHECK(known.looks("k", now));
  CHECK(known.looks("other", now));
}

TEST_CASE_METHOD(known_keys, "wake knowledge: a loop looks once in a while, and at each release while others wait") {
  const auto pair = [&](unsigned waiters) {
    known.granted("k", 1, false, now);
    now += 1ms;
    const bool looks = known.looks("k", now);
    if (looks) {
      known.looked("k", 1, waiters, now);
    } else {
      known.released("k", 1, now);
    }
    return looks;
  };
  int looks = 0;
  for (int i = 0; i != 100; ++i) looks += pair(0) ? 1 : 0;
  CHECK(looks == 10);
  while (!pair(1)) continue;
  for (int i = 0; i != 5; ++i) CHECK(pair(1));
  CHECK(pair(0));
  CHECK_FALSE(pair(0));
}

TEST_CASE_METHOD(known_keys, "wake knowledge: a key is contended for a while after somebody waited for it") {
  CHECK_FALSE(known.contended("k", now));
  known.granted("k", 1, false, now);
  CHECK_FALSE(known.contended("k", now));
  known.looked("k", 1, 1, now + 1ms);
  CHECK(known.contended("k", now + 2ms));
  CHECK(known.contended("k", now + 1s));
  CHECK_FALSE(known.contended("k", now + 2s));
  known.granted("k", 2, true, now + 2s);
  CHECK(known.contended("k", now + 2s));
  known.looked("k", 2, 0, now + 2s);
  CHECK_FALSE(known.contended("k", now + 2s));
}

TEST_CASE_METHOD(known_keys, "wake knowledge: what nobody took while it was left alone is as new") {
  known.granted("k", 1, false, now);
  known.released("k", 1, now + 1ms);
  now += 1h;
  known.granted("k", 1, false, now);
  CHECK_FALSE(known.looks("k", now + 1ms));
  known.looked("k", 1, 1, now + 1ms);  // somebody waits: it is not to be forgotten
  now += 1h;
  known.granted("k", 1, false, now);
  CHECK(known.looks("k", now + 1ms));
}

TEST_CASE_METHOD(known_keys,
                 "wake knowledge: of a key among thousands of others nothing is known, so its release looks") {
  known.granted("k", 1, false, now);
  for (int i = 0; i != 5'000; ++i) known.granted(lock_key("key:" + std::to_string(i)), 1, false, now + 1us);
  CHECK(known.looks("k", now + 2us));
}

TEST_CASE_METHOD(known_keys,
                 "wake knowledge: a look of an earlier release says nothing of a grant that came meanwhile") {
  known.granted("k", 1, false, now);
  known.granted("k", 2, true, now + 1ms);
  known.looked("k", 1, 0, now + 1ms);
  CHECK(known.looks("k", now + 2ms));
  known.looked("k", 2, 0, now + 2ms);
  CHECK_FALSE(known.looks("k", now + 3ms));
}

TEST_CASE_METHOD(known_keys, "wake knowledge: an older look says nothing against a later one that has found a waiter") {
  known.granted("k", 1, false, now);
  known.looked("k", 2, 1, now + 2ms);  // of a claim, which is not known
  known.looked("k", 1, 0, now + 1ms);
  CHECK(known.looks("k", now + 3ms));
}

TEST_CASE_METHOD(known_keys, "wake knowledge: a waiter that the release of an unknown grant has woken is remembered") {
  known.looked("k", 1, 0, now);
  CHECK(known.looks("k", now));
  known.looked("k", 1, 1, now);
  known.granted("k", 2, false, now + 1ms);
  CHECK(known.looks("k", now + 2ms));
}

TEST_CASE("fair share: a waiter knows since when it has seen a grant") {
  starvation_detector seen_by;
  const auto who = id128::random();
  instant now{1'000s};
  seen_by.polled(holder(who, 3), now);
  seen_by.polled(holder(who, 3), now + 5ms);
  CHECK(seen_by.seen_since() == now);
  seen_by.polled(holder(who, 4), now + 7ms);
  CHECK(seen_by.seen_since() == now + 7ms);
  seen_by.polled(holder(id128::random(), 4), now + 9ms);
  CHECK(seen_by.seen_since() == now + 9ms);
}
