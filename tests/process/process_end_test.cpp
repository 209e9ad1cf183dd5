// SPDX-License-Identifier: BSL-1.0
// Processes that end in an orderly way while they hold or wait, and processes that fork.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"

using namespace std::chrono_literals;

namespace dlock::test {

namespace {
/// Of a service whose close_limit is 300 ms, on a machine that has much else to do.
constexpr auto end_limit = 15s;
}  // namespace

TEST_CASE("process: two of one label and host have different sessions", "[crash][T04]") {
  const auto fixture = make_store_fixture();
  taker first(fixture->url(), {"--label", "twin", "--key", "a"});
  taker second(fixture->url(), {"--label", "twin", "--key", "b"});
  const auto mine = first.take();
  const auto other = second.take();
  CHECK(mine.session.size() == 32);
  CHECK(mine.session != other.session);

  lock_service locks(fixture->url());
  const auto held = locks.held_keys();
  REQUIRE(held.size() == 2);
  CHECK(held[0].label == "twin");
  CHECK(held[0].label == held[1].label);
  CHECK(held[0].host == held[1].host);
  CHECK(held[0].pid == first.pid());
  CHECK(held[1].pid == second.pid());
  // One of them does not mistake the other's lease for its own.
  CHECK(first.ask("release", "released").size() == 1);
  CHECK(second.ask("check", "trusted").size() == 2);
}

TEST_CASE("process: a forked child's end leaves its parent's lease alone", "[crash][T47]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker parent(fixture->url());
  const auto mine = parent.take();
  const auto way = GENERATE(as<std::string>{}, "_exit", "exit", "destroy");
  CAPTURE(way);
  const auto end = parent.ask("fork " + way, "child");
  CHECK(end == std::vector<std::string>{"child", "0"});
  CHECK(parent.ask("check", "trusted").size() == 2);
  const auto now = locks.holder("key");
  REQUIRE(now);
  CHECK(now->fence == mine.fence);
  CHECK(now->session.hex() == mine.session);
  // Its connections work, too: the child has not closed them under it.
  CHECK(parent.ask("release", "released").size() == 1);
  CHECK_FALSE(locks.holder("key"));
  CHECK(parent.take().fence == mine.fence + 1);
}

TEST_CASE("process: in a forked child every call on what the parent made is refused", "[crash][T47]") {
  const auto fixture = make_store_fixture();
  taker parent(fixture->url());
  parent.take();
  CHECK(parent.ask("fork refused", "child") == std::vector<std::string>{"child", "0"});
  for (int i = 0; i != 3; ++i) CHECK(parent.expect("child-refused").at(1) == "forked");
  CHECK(parent.ask("check", "trusted").size() == 2);
}

TEST_CASE("process: a service made in a forked child is another owner than the parent's", "[crash][T04][T47]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker parent(fixture->url(), {"--child-url", fixture->url_after_fork()});
  const auto mine = parent.take();
  CHECK(parent.ask("fork own", "child") == std::vector<std::string>{"child", "0"});
  CHECK(parent.expect("child-parents-key").at(1) == (fixture->url() == fixture->url_after_fork() ? "busy" : "granted"));
  const auto childs = parent.expect("child-held");
  CHECK(childs.at(1) == "1");
  CHECK(childs.at(2).size() == 32);
  CHECK(childs.at(2) != mine.session);
  CHECK(parent.ask("check", "trusted").size() == 2);
  CHECK(parent.ask("release", "released").size() == 1);
  CHECK(locks.held_keys().empty());
}

TEST_CASE("process: a lease in a global is released when main returns or calls exit()", "[crash]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  const auto end = GENERATE(as<std::string>{}, "quit", "exit");
  const bool after_the_service = GENERATE(false, true);
  CAPTURE(end, after_the_service);
  taker process(fixture->url());
  const auto mine = process.take();
  if (after_the_service) process.ask("outlive", "outliving");
  process.say(end);
  CHECK(process.end(end_limit) == 0);
  CHECK_FALSE(locks.holder("key"));
  CHECK(locks.try_acquire("key").fencing_token() == mine.fence + 1);
}

TEST_CASE("process: exit() while threads wait for a key ends the process and disturbs nobody", "[crash][T17]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker holder(fixture->url());
  const auto mine = holder.take();
  taker process(fixture->url());
  process.say("crowd 3");
  for (int i = 0; i != 3; ++i) process.expect("crowded");
  process.ask("take 300", "busy");  // by now they have all looked
  process.say("exit");
  CHECK(process.end(end_limit) == 0);

  CHECK(holder.ask("check", "trusted").size() == 2);
  CHECK(holder.ask("release", "released").size() == 1);
  CHECK_FALSE(locks.holder("key"));
  CHECK(holder.take().fence == mine.fence + 1);
}

TEST_CASE("process: exit() in the middle of what holds a key frees it, and waits for nothing", "[crash][T90]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  // By a lease, by leases on several keys, by a mutex; in the thread's own name and in that of a task.
  const auto holder = GENERATE(as<std::string>{}, "lease", "leases", "mutex", "task", "nested");
  CAPTURE(holder);
  taker process(fixture->url(), {"--close-limit", "3600000", "--ttl", "3600000"});
  process.ask("exit-inside " + holder, "inside");
  CHECK(process.end(end_limit) == 0);
  CHECK(locks.held_keys().empty());
  CHECK(locks.try_acquire("key").fencing_token() == 2);
}

TEST_CASE("process: exit() while a thread holds a key frees it within its ttl", "[crash][T90]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  taker process(fixture->url(), taker::expiring());
  process.say("hold-in-thread");
  const auto mine = process.expect_held();
  process.say("exit");
  CHECK(process.end(end_limit) == 0);
  const auto ended = boot_time();
  const auto next = locks.acquire("key", {.ttl = 1s, .wait = 20s});
  CHECK(boot_time() <= ended + taker::ttl + taker::longest_pause + sluggish);
  CHECK(next.fencing_token() == mine.fence + 1);
}

}  // namespace dlock::test
