// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/lock_round.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using dlock::lock_key;
using dlock::detail::lock_round;
using dlock::detail::retry_settings;

using keys = std::vector<lock_key>;

/// What std::lock(a, b) does when b is busy.
void fail(lock_round& round, const lock_key& first, const lock_key& busy, bool here) {
  round.begin(first, 1min);
  round.locked(first);
  round.refused(busy, here);
  round.unlocked(first);
}

/// And when it succeeds.
void succeed(lock_round& round, const keys& all) {
  round.begin(all.front(), 1min);
  round.locked(all.front());
  for (std::size_t i = 1; i < all.size(); ++i) round.got(all[i]);
}

bool begins_in_line(lock_round& round, const lock_key& key) {
  round.begin(key, 1min);
  return round.in_line();
}

}  // namespace

TEST_CASE("lock_round: before one has failed nothing is known and nobody stands in line", "[mutex]") {
  lock_round me;
  succeed(me, {"round.a", "round.b"});
  CHECK(me.together().empty());
  CHECK_FALSE(begins_in_line(me, "round.a"));
  CHECK(me.may_wait("round.b") == 0us);
  CHECK(me.pause({}, 1) == 0us);
}

TEST_CASE("lock_round: one that failed is remembered, and the next ones stand in line until they have all", "[mutex]") {
  lock_round me;
  fail(me, "round.b", "round.a", true);
  CHECK(me.together() == keys{"round.a", "round.b"});
  CHECK_FALSE(me.in_line());
  REQUIRE(begins_in_line(me, "round.a"));
  me.locked("round.a");
  CHECK(me.may_wait("round.b") == lock_round::patience);
  CHECK(me.may_wait("round.c") == 0us);
  me.got("round.b");
  CHECK_FALSE(me.in_line());
  CHECK(me.may_wait("round.b") == 0us);
  me.unlocked("round.a");
  me.unlocked("round.b");
  CHECK(begins_in_line(me, "round.b"));
}

TEST_CASE("lock_round: who fails in line leaves it", "[mutex]") {
  lock_round me;
  fail(me, "round.a", "round.b", true);
  REQUIRE(begins_in_line(me, "round.b"));
  me.locked("round.b");
  me.refused("round.a", true);
  CHECK_FALSE(me.in_line());
  CHECK(me.together() == keys{"round.a", "round.b"});
}

TEST_CASE("lock_round: it learns of more mutexes by failure and by success", "[mutex]") {
  lock_round me;
  fail(me, "round.a", "round.b", true);
  fail(me, "round.b", "round.c", true);
  CHECK(me.together() == keys{"round.a", "round.b", "round.c"});
  succeed(me, {"round.c", "round.d", "round.a", "round.b"});
  CHECK(me.together() == keys{"round.a", "round.b", "round.c", "round.d"});
}

TEST_CASE("lock_round: other mutexes make it forget", "[mutex]") {
  lock_round me;
  fail(me, "round.a", "round.b", true);
  fail(me, "round.x", "round.y", true);
  CHECK(me.together() == keys{"round.x", "round.y"});
  CHECK_FALSE(begins_in_line(me, "round.a"));
  CHECK(me.together().empty());
}

TEST_CASE("lock_round: a mutex that is locked and unlocked alone makes it forget", "[mutex]") {
  lock_round me;
  fail(me, "round.a", "round.b", true);
  REQUIRE(begins_in_line(me, "round.a"));
  me.locked("round.a");
  me.unlocked("round.a");
  CHECK_FALSE(me.in_line());
  CHECK(me.together().empty());
}

TEST_CASE("lock_round: an error makes it forget, and leave the line", "[mutex]") {
  lock_round me;
  fail(me, "round.a", "round.b", true);
  REQUIRE(begins_in_line(me, "round.b"));
  me.other();
  CHECK_FALSE(me.in_line());
  CHECK_FALSE(begins_in_line(me, "round.b"));
}

TEST_CASE("lock_round: a try without a lock before it teaches nothing", "[mutex]") {
  lock_round me;
  me.refused("round.a", true);
  me.got("round.b");
  CHECK(me.together().empty());
}

TEST_CASE("lock_round: threads stand in line for the same mutexes, whatever the order they name them in", "[mutex]") {
  lock_round first, second;
  fail(first, "round.a", "round.b", true);
  fail(second, "round.b", "round.a", true);
  REQUIRE(begins_in_line(first, "round.b"));
  bool in_line = false;
  std::thread other([&] {
    in_line = begins_in_line(second, "round.a");
    second.other();
  });
  first.locked("round.b");
  first.got("round.a");
  other.join();
  CHECK(in_line);
}

TEST_CASE("lock_round: nobody waits in line for long, nor longer than his wait", "[mutex]") {
  lock_round first, second;
  fail(first, "round.a", "round.b", true);
  fail(second, "round.a", "round.b", true);
  REQUIRE(begins_in_line(first, "round.a"));
  CHECK_FALSE(begins_in_line(second, "round.a"));  // ends by itself
  const auto begun = std::chrono::steady_clock::now();
  second.begin("round.b", 0us);
  CHECK_FALSE(second.in_line());
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

TEST_CASE("lock_round: who ends lets those behind him go on", "[mutex]") {
  lock_round second;
  fail(second, "round.a", "round.b", true);
  {
    lock_round first;
    fail(first, "round.a", "round.b", true);
    REQUIRE(begins_in_line(first, "round.a"));
  }
  CHECK(begins_in_line(second, "round.a"));
}

TEST_CASE("lock_round: it pauses after another process was in the way, longer each time, until it has all", "[mutex]") {
  lock_round me;
  const retry_settings retry{.pause = 10ms, .max_pause = 40ms};
  fail(me, "round.a", "round.b", true);
  CHECK(me.pause(retry, 1) == 0us);
  std::chrono::microseconds most{0};
  for (const auto limit : {10ms, 20ms, 40ms, 40ms}) {
    fail(me, "round.a", "round.b", false);
    const auto pause = me.pause(retry, 1);
    CHECK(pause > 0us);
    CHECK(pause <= limit);
    CHECK(me.pause(retry, 1) == 0us);  // once each
    most = std::max(most, pause);
  }
  CHECK(most > 10ms);
  succeed(me, {"round.a", "round.b"});
  fail(me, "round.a", "round.b", false);
  CHECK(me.pause(retry, 1) <= 10ms);
}
