// SPDX-License-Identifier: BSL-1.0
// What becomes of a key in ZooKeeper whose holder, or one of its waiters, is killed or stopped.

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

/// A session lives for one and a half ttl from when the servers last heard of it, and ends at their next tick but one.
constexpr std::int64_t session = taker::ttl * 3 / 2;
constexpr std::int64_t ticks = 200'000;

}  // namespace

TEST_CASE("crash zookeeper: a killed holder's key is granted when its session has ended, and not before its ttl",
          "[T91][T30]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker holder(fixture->url(), taker::expiring()), next(fixture->url()), bystander(fixture->url(), {"--key", "other"});
  const auto first = holder.take();
  bystander.take();
  next.say("take 20000");
  next.expect("waiting");
  const auto asked = boot_time();
  const auto left = std::stoll(holder.ask("check", "trusted").at(1));
  holder.kill();
  const auto killed = boot_time();
  const auto second = next.expect_held();
  CHECK(second.fence > first.fence);
  CHECK(second.at >= asked + left);  // while it could trust its lease, nobody else got the key
  CHECK(second.at <= killed + session + ticks + sluggish);
  CHECK(next.ask("check", "trusted").size() == 2);
  CHECK(bystander.ask("check", "trusted").size() == 2);
}

TEST_CASE("crash zookeeper: a holder stopped for longer than its session finds its lease lost and harms nobody",
          "[T24]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  const auto wakes_up = GENERATE(as<std::string>{}, "check", "release");
  CAPTURE(wakes_up);
  taker holder(fixture->url(), taker::expiring()), next(fixture->url());
  const auto first = holder.take();
  holder.stop();
  const auto second = next.take(20s);
  CHECK(second.fence > first.fence);
  holder.say(wakes_up);
  holder.go_on();
  if (wakes_up == "check") {
    CHECK(holder.expect_one_of({"lost", "trusted"}).at(0) == "lost");
  } else {
    CHECK(holder.expect_one_of({"released", "error"}).at(1) == "lost");
  }
  CHECK(holder.ask("take 0", "busy").size() == 2);
  CHECK(next.ask("check", "trusted").size() == 2);
  CHECK(next.ask("release", "released").size() == 1);
  CHECK(holder.take(20s).fence > second.fence);
}

TEST_CASE("crash zookeeper: waiters that are killed are passed over when their sessions have ended", "[T39]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker holder(fixture->url());
  const auto first = holder.take();
  std::vector<taker> killed;
  for (int i = 0; i != 3; ++i) {
    killed.emplace_back(fixture->url(), taker::expiring());
    killed.back().ask("take 60000", "waiting");
  }
  taker patient(fixture->url());
  patient.ask("take 20000", "waiting");
  for (auto& each : killed) each.kill();
  const auto ended = boot_time() + session + ticks;
  CHECK(holder.ask("release", "released").size() == 1);
  const auto second = patient.expect_held();
  CHECK(second.fence > first.fence);
  CHECK(second.at <= ended + sluggish);
  CHECK(patient.ask("release", "released").size() == 1);
  CHECK_FALSE(locks.holder("key"));
  CHECK(locks.held_keys().empty());
}

}  // namespace dlock::test
