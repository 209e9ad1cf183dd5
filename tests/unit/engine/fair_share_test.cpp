// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/fair_share.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using engine::missed_turns;
using engine::reigns;
using std::chrono::microseconds;

struct reign_fixture {
  reigns had{};
  instant now{1'000s};
  std::uint64_t fence = 0;

  /// Takes it after `pause`, has it for `held`; others had it `between` times before.
  void hold(const lock_key& key, microseconds pause, microseconds held, std::uint64_t between = 0) {
    now += pause;
    fence += 1 + between;
    had.granted(key, fence, false, now);
    now += held;
    had.released(key, fence, now);
  }
  /// Holds it again and again until it is to be left alone. How long that took.
  microseconds until_moment(const lock_key& key) {
    const auto begun = now;
    while (had.leave_alone(key, now + 100us) == 0us) hold(key, 100us, 2ms);
    return now - begun;
  }
};

seen holder(const id128& who, std::uint64_t fence) {
  return {.holder = who, .fence = fence, .kind = lease_kind::session};
}

}  // namespace

TEST_CASE_METHOD(reign_fixture, "fair share: what was had again and again for a while is left alone for a moment",
                 "[fair]") {
  CHECK(had.leave_alone("k", now) == 0us);
  hold("k", 0us, 2ms);
  CHECK(had.leave_alone("k", now) == 0us);
  const auto first = until_moment("k");
  CHECK(first >= 90ms);
  CHECK(first <= 110ms);
  CHECK(had.leave_alone("k", now) == reigns::moment);
  CHECK(had.leave_alone("other", now) == 0us);
}

TEST_CASE_METHOD(reign_fixture, "fair share: when nobody comes, the next moment is later, up to a bound", "[fair]") {
  hold("k", 0us, 2ms);
  static_cast<void>(until_moment("k"));
  for (const auto expected : {200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
    hold("k", reigns::moment, 2ms);  // it was free all the time, and the fence is the next
    const auto took = until_moment("k");
    CHECK(took >= expected - 10ms);
    CHECK(took <= expected + 10ms);
  }
}

TEST_CASE_METHOD(reign_fixture, "fair share: who had to let others in begins anew, and leaves it alone as soon",
                 "[fair]") {
  hold("k", 0us, 2ms);
  static_cast<void>(until_moment("k"));
  hold("k", reigns::moment, 2ms);
  static_cast<void>(until_moment("k"));
  hold("k", 300ms, 2ms, 5);
  const auto took = until_moment("k");
  CHECK(took >= 90ms);
  CHECK(took <= 110ms);
}

TEST_CASE_METHOD(reign_fixture, "fair share: a long hold counts as much as many short ones", "[fair]") {
  hold("k", 0us, 1s);
  CHECK(had.leave_alone("k", now + 1ms) == reigns::moment);
}

TEST_CASE_METHOD(reign_fixture, "fair share: who leaves it alone by himself need not do more", "[fair]") {
  hold("k", 0us, 1s);
  CHECK(had.leave_alone("k", now + reigns::enough) == 0us);
  for (int i = 0; i < 200; ++i) {
    hold("k", reigns::enough, 2ms);
    CHECK(had.leave_alone("k", now + 1ms) == 0us);
  }
}

TEST_CASE_METHOD(reign_fixture, "fair share: a key that another thread of the process holds is not left alone",
                 "[fair]") {
  hold("k", 0us, 1s);
  had.granted("k", ++fence, false, now);
  CHECK(had.leave_alone("k", now + 1ms) == 0us);
  had.released("k", fence - 1, now);  // of another grant
  CHECK(had.leave_alone("k", now + 1ms) == 0us);
}

TEST_CASE_METHOD(reign_fixture, "fair share: a key that is used is remembered beside thousands of others", "[fair]") {
  int others = 0;
  const auto use_others = [&] {
    for (int i = 0; i < 100; ++i) {
      const lock_key key("other" + std::to_string(++others));
      had.granted(key, 1, false, now);
      had.released(key, 1, now);
      CHECK(had.leave_alone(key, now) == 0us);
    }
  };
  hold("k", 0us, 2ms);
  const auto begun = now;
  while (had.leave_alone("k", now + 100us) == 0us) {
    use_others();
    hold("k", 100us, 2ms);
  }
  CHECK(now - begun <= 110ms);
}

TEST_CASE_METHOD(reign_fixture, "fair share: a key that is released to waiters is left to them", "[fair]") {
  had.granted("k", ++fence, false, now);
  had.notified("k", fence, 1, now);
  had.released("k", fence, now);
  CHECK(had.leave_alone("k", now + 1ms) == reigns::enough - 1ms);
  CHECK(had.leave_alone("k", now + reigns::enough) == 0us);
  CHECK(had.rivals("k", now) == 0);  // the other one has had it when this one asks again

  had.granted("k", fence += 1'000'000, false, now);  // tokens may follow a clock
  had.notified("k", fence, 15, now);
  had.released("k", fence, now);
  CHECK(had.leave_alone("k", now) == 15 * reigns::precedence);
  CHECK(had.rivals("k", now) == 14);
  CHECK(had.rivals("k", now + reigns::longest) == 0);

  had.granted("k", ++fence, false, now);
  had.released("k", fence, now);
  CHECK(had.leave_alone("k", now) == 0us);  // nobody waits any more
  CHECK(had.rivals("k", now) == 0);
}

TEST_CASE_METHOD(reign_fixture, "fair share: a process is none of the waiters that it releases a key to", "[fair]") {
  had.granted("k", ++fence, true, now);
  had.notified("k", fence, 1, now + 1ms);
  had.released("k", fence, now + 1ms);
  CHECK(had.leave_alone("k", now + 1ms) == 0us);
  had.granted("k", ++fence, true, now);
  had.notified("k", fence, 1, now + reigns::enough);  // the server has seen by then that it waits no longer
  had.released("k", fence, now + reigns::enough);
  CHECK(had.leave_alone("k", now + reigns::enough) == reigns::enough);
}

TEST_CASE("fair share: a waiter counts how often the key changes hands", "[fair]") {
  const instant start{1'000s};
  const auto first = id128::random();
  missed_turns turns;
  turns.looked(holder(first, 1), start);
  turns.looked(holder(first, 1), start + 1ms);
  CHECK(turns.passed_over() == 0);
  turns.looked(holder(first, 2), start + 2ms);
  turns.looked(holder(id128::random(), 3), start + 3ms);
  turns.looked({.fence = 3}, start + 4ms);  // free
  CHECK(turns.passed_over() == 2);
}

TEST_CASE("fair share: a waiter hurries when one process takes the key again and again", "[fair]") {
  const instant start{1'000s};
  const auto first = id128::random();
  missed_turns turns;
  turns.looked(holder(first, 1), start);
  turns.looked(holder(first, 9), start + 100ms);
  CHECK_FALSE(turns.hurry());
  turns.looked(holder(first, 30), start + 250ms);
  CHECK(turns.hurry());
  turns.looked(holder(id128::random(), 31), start + 260ms);
  CHECK(turns.hurry());  // until its turn
}

TEST_CASE("fair share: a waiter does not hurry for one long hold, nor where the key changes hands", "[fair]") {
  const instant start{1'000s};
  const auto first = id128::random();
  missed_turns long_hold;
  for (int i = 0; i < 20; ++i) long_hold.looked(holder(first, 7), start + i * 250ms);
  CHECK_FALSE(long_hold.hurry());
  missed_turns busy_key;
  for (unsigned i = 0; i < 20; ++i) busy_key.looked(holder(id128::random(), i), start + i * 250ms);
  CHECK_FALSE(busy_key.hurry());
}
