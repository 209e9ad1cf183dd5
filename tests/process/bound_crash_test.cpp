// SPDX-License-Identifier: BSL-1.0
// What becomes of a key whose lock is bound to a connection, when its holder is killed or stopped.

#include "contract/backends/mysql/schemes.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "support/test.hpp"

namespace dlock::test {

TEST_CASE("crash: a key that a killed process held by its connection is free at once, long before its ttl",
          "[T91][T39]") {
  const auto scheme = GENERATE(as<std::string>{}, "named_lock", "for_update");
  CAPTURE(scheme);
  const auto fixture = make_bound_fixture(scheme);
  taker holder(fixture->url(), {"--ttl", "60000"}), killed(fixture->url()), next(fixture->url());
  holder.take();
  // What it started lives on, and must not keep the connection open.
  for (auto* each : {&holder, &killed}) CHECK(each->ask("spawn", "spawned").size() == 1);
  for (auto* each : {&killed, &next}) {
    each->say("take 20000");
    each->expect("waiting");
  }
  killed.kill();  // a waiter leaves nothing behind
  holder.kill();
  const auto at = boot_time();
  CHECK(next.expect_held().at <= at + taker::longest_pause + sluggish);
  CHECK(next.ask("check", "trusted").size() == 2);
}

TEST_CASE("crash: a stopped holder loses its connection and its key after its ttl, and learns it when it goes on",
          "[T24]") {
  const auto scheme = GENERATE(as<std::string>{}, "named_lock", "for_update");
  CAPTURE(scheme);
  const auto fixture = make_bound_fixture(scheme);
  taker holder(fixture->url(), taker::expiring()), next(fixture->url());
  holder.take();
  holder.stop();
  next.take(20s);
  holder.say("check");
  holder.go_on();
  const auto end = holder.expect_one_of({"lost", "trusted"});
  REQUIRE(end.at(0) == "lost");
  CHECK(end.at(1) != "in-contradiction");
  holder.expect("told");
  CHECK(holder.ask("release", "error").at(1) == "lost");
  CHECK(holder.ask("take 0", "busy").size() == 2);
  CHECK(next.ask("check", "trusted").size() == 2);
  CHECK(next.ask("release", "released").size() == 1);
}

}  // namespace dlock::test
