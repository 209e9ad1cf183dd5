// SPDX-License-Identifier: BSL-1.0
// What becomes of a key whose holder, or one of its waiters, is killed or stopped.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <vector>

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"

using namespace std::chrono_literals;

namespace dlock::test {

namespace {

constexpr std::int64_t skew = 5'000;  // between the server's clock and ours while a test runs

/// A process that holds another key all the while, and must not notice anything.
class bystander {
 public:
  explicit bystander(const std::string& url) : process_(url, {"--key", "other"}), mine_(process_.take()) {}

  void must_be_unharmed(lock_service& locks) {
    CHECK(process_.ask("check", "trusted").size() == 2);
    const auto now = locks.holder("other");
    REQUIRE(now);
    CHECK(now->fence == mine_.fence);
    CHECK(now->session.hex() == mine_.session);
    CHECK(process_.ask("release", "released").size() == 1);
  }

 private:
  taker process_;
  taker::grant mine_;
};

}  // namespace

TEST_CASE(
    "crash: a killed holder's key is granted within ttl and one pause, not before its expiry, with the next fence",
    "[crash][T91][T30]") {
  // Each time within a slow machine's limit, and in the best moment of three soon: a waiter that misses the expiry
  // comes seconds late.
  auto least = sluggish;
  for (int times = 0; times < 3 && least > sluggish / 4; ++times) {
    const auto fixture = make_store_fixture();
    lock_service locks(fixture->url());
    bystander other(fixture->url());
    taker holder(fixture->url(), taker::expiring());
    taker next(fixture->url());
    const auto first = holder.take();
    REQUIRE_FALSE(first.session == "?");

    next.say("take 20000");
    next.expect("waiting");
    const auto before = boot_time();
    const auto seen = locks.holder("key");
    REQUIRE(seen);
    const auto expiry = before + seen->remaining.count();  // at the earliest; a renewal may follow
    holder.kill();
    const auto killed = boot_time();

    const auto second = next.expect_held();
    CHECK(second.fence == first.fence + 1);
    CHECK(second.session != first.session);
    CHECK(second.at >= expiry - skew);
    const auto late = second.at - (killed + taker::ttl + taker::longest_pause);
    CHECK(late <= sluggish);
    least = std::min(least, late);
    CHECK(next.ask("check", "trusted").size() == 2);
    other.must_be_unharmed(locks);
  }
  CHECK(least <= sluggish / 4);
}

TEST_CASE("crash: a holder stopped past its ttl finds its lease lost at its first poll and harms nobody",
          "[crash][T24]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  bystander other(fixture->url());
  taker next(fixture->url());
  const auto wakes_up = GENERATE(as<std::string>{}, "check", "release", "drop");
  CAPTURE(wakes_up);
  taker holder(fixture->url(), taker::expiring());
  const auto first = holder.take();
  holder.stop();
  const auto stopped = boot_time();

  auto second = next.take(20s);
  CHECK(second.fence == first.fence + 1);
  CHECK(second.at <= stopped + taker::ttl + taker::longest_pause + sluggish);

  // Its command waits for it, so it is the first thing that its main thread does.
  holder.say(wakes_up);
  holder.go_on();
  if (wakes_up == "check") {
    const auto end = holder.expect_one_of({"lost", "trusted"});
    REQUIRE(end.at(0) == "lost");
    CHECK(end.at(1) == "unreachable");
    const auto notice = holder.expect("told");
    CHECK(notice.at(1) == "unreachable");
    CHECK(holder.ask("release", "error").at(1) == "lost");
  } else if (wakes_up == "release") {
    CHECK(holder.expect_one_of({"released", "error"}).at(1) == "lost");
  } else {
    holder.expect("dropped");
  }
  // It is as good as new, but the key is not its own.
  CHECK(holder.ask("take 0", "busy").size() == 2);

  const auto now = locks.holder("key");
  REQUIRE(now);
  CHECK(now->fence == second.fence);
  CHECK(now->session.hex() == second.session);
  CHECK(next.ask("check", "trusted").size() == 2);
  CHECK(next.ask("release", "released").size() == 1);
  CHECK(holder.take(20s).fence == second.fence + 1);
  other.must_be_unharmed(locks);
}

TEST_CASE("crash: waiters that are killed leave no ghost behind and keep nobody waiting", "[crash][T39]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker holder(fixture->url());
  const auto first = holder.take();
  std::vector<taker> killed;
  for (int i = 0; i != 3; ++i) {
    killed.emplace_back(fixture->url());
    killed.back().say("take 60000");
  }
  taker patient(fixture->url());
  patient.say("take 20000");
  patient.expect("waiting");
  for (auto& each : killed) each.expect("waiting");
  for (auto& each : killed) each.kill();

  CHECK(holder.ask("check", "trusted").size() == 2);
  const auto released = boot_time();
  CHECK(holder.ask("release", "released").size() == 1);
  const auto second = patient.expect_held();
  CHECK(second.fence == first.fence + 1);  // none of the killed had got it
  CHECK(second.at <= released + taker::longest_pause + sluggish);
  CHECK(patient.ask("release", "released").size() == 1);
  CHECK_FALSE(locks.holder("key"));
  CHECK(locks.held_keys().empty());
}

TEST_CASE("crash: every key of a killed process with many can be taken after one expiry", "[crash][T91]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker holder(fixture->url(), {"--key", "key-0", "--ttl", "5000"});
  constexpr int keys = 50;
  holder.take();
  holder.ask(std::string("more ") + std::to_string(keys), "more");
  REQUIRE(locks.held_keys().size() == keys + 1);
  holder.kill();
  const auto killed = boot_time();
  for (int i = 0; i <= keys; ++i) {
    const auto mine = locks.acquire("key-" + std::to_string(i), {.ttl = 1s, .wait = 20s});
    CHECK(mine.fencing_token() == 2);
    if (i == 0) CHECK(boot_time() <= killed + taker::ttl + taker::longest_pause + sluggish);
  }
}

}  // namespace dlock::test
