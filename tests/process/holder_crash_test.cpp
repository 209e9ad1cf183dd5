// SPDX-License-Identifier: BSL-1.0

// What becomes of a key whose holder, or one of its waiters, is killed or stopped.

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

constexpr std::int64_t skew = 20'000;  // between the clocks; and on ZooKeeper since the last heartbeat

/// A place for locks, and a service in it.
struct crash_scene {
  /// Whether it is the fence of the next grant.
  bool follows(std::uint64_t fence, std::uint64_t last) const {
    return locks.caps().consecutive_fences ? fence == last + 1 : fence > last;
  }

  const std::unique_ptr<store_fixture> fixture = make_store_fixture();
  lock_service locks{fixture->url()};
  /// So long after its holder's death a key is granted at the latest. Servers that keep sessions by themselves end one
  /// after one and a half ttl from when they last heard of it, at their next tick but one.
  const std::int64_t freed_after =
      fixture->keeps_by_itself() ? taker::ttl * 3 / 2 + 200'000 : taker::ttl + taker::longest_pause;
};

/// Whoever was granted it holds it still.
void must_hold(lock_service& locks, const char* key, const taker::grant& granted) {
  const auto now = locks.holder(key);
  REQUIRE(now);
  CHECK(now->fence == granted.fence);
  CHECK(now->session.hex() == granted.session);
}

/// A process that holds another key all the while, and must not notice anything.
class bystander {
 public:
  explicit bystander(const std::string& url) : process_(url, {"--key", "other"}), mine_(process_.take()) {}

  void must_be_unharmed(lock_service& locks) {
    CHECK(process_.ask("check", "trusted").size() == 2);
    must_hold(locks, "other", mine_);
    CHECK(process_.ask("release", "released").size() == 1);
  }

 private:
  taker process_;
  taker::grant mine_;
};

}  // namespace

TEST_CASE(
    "crash: a killed holder's key is granted within ttl and one pause, not before its expiry, with the next fence",
    "[T91][T30]") {
  // Each time within a slow machine's limit, and in the best moment of three soon: a waiter that misses the expiry
  // comes seconds late.
  auto least = sluggish;
  for (int times = 0; times < 3 && least > sluggish / 4; ++times) {
    crash_scene s;
    bystander other(s.fixture->url());
    taker holder(s.fixture->url(), taker::expiring());
    taker next(s.fixture->url());
    const auto first = holder.take();
    REQUIRE_FALSE(first.session == "?");

    next.say("take 20000");
    next.expect("waiting");
    const auto before = boot_time();
    const auto seen = s.locks.holder("key");
    REQUIRE(seen);
    const auto expiry = before + seen->remaining.count();  // at the earliest; a renewal may follow
    const auto asked = boot_time();
    const auto trusted = std::stoll(holder.ask("check", "trusted").at(1));
    holder.kill();
    const auto killed = boot_time();

    const auto second = next.expect_held();
    CHECK(s.follows(second.fence, first.fence));
    CHECK(second.session != first.session);
    CHECK(second.at >= expiry - skew);
    CHECK(second.at >= asked + trusted);  // while it could trust its lease, nobody else got the key
    const auto late = second.at - (killed + s.freed_after);
    CHECK(late <= sluggish);
    least = std::min(least, late);
    CHECK(next.ask("check", "trusted").size() == 2);
    other.must_be_unharmed(s.locks);
  }
  CHECK(least <= sluggish / 4);
}

TEST_CASE_METHOD(crash_scene,
                 "crash: a holder stopped past its ttl finds its lease lost at its first poll and harms nobody",
                 "[T24]") {
  bystander other(fixture->url());
  taker next(fixture->url());
  const auto wakes_up = GENERATE(as<std::string>{}, "check", "release", "drop");
  CAPTURE(wakes_up);
  taker holder(fixture->url(), taker::expiring());
  const auto first = holder.take();
  holder.stop();
  const auto stopped = boot_time();

  auto second = next.take(20s);
  CHECK(follows(second.fence, first.fence));
  CHECK(second.at <= stopped + freed_after + sluggish);

  // Its command waits for it, so it is the first thing that its main thread does.
  holder.say(wakes_up);
  holder.go_on();
  if (wakes_up == "check") {
    const auto end = holder.expect_one_of({"lost", "trusted"});
    REQUIRE(end.at(0) == "lost");
    const auto notice = holder.expect("told");
    for (const auto& reason : {end.at(1), notice.at(1)}) CHECK((reason == "unreachable" || fixture->keeps_by_itself()));
    CHECK(holder.ask("release", "error").at(1) == "lost");
  } else if (wakes_up == "release") {
    CHECK(holder.expect_one_of({"released", "error"}).at(1) == "lost");
  } else {
    holder.expect("dropped");
  }
  // It is as good as new, but the key is not its own.
  CHECK(holder.ask("take 0", "busy").size() == 2);

  must_hold(locks, "key", second);
  CHECK(next.ask("check", "trusted").size() == 2);
  CHECK(next.ask("release", "released").size() == 1);
  CHECK(follows(holder.take(20s).fence, second.fence));
  other.must_be_unharmed(locks);
}

TEST_CASE_METHOD(crash_scene, "crash: waiters that are killed leave no ghost behind and keep nobody waiting", "[T39]") {
  taker holder(fixture->url());
  const auto first = holder.take();
  std::vector<taker> killed;
  for (int i = 0; i != 3; ++i) {
    killed.emplace_back(fixture->url(), taker::expiring());
    killed.back().say("take 60000");
  }
  taker patient(fixture->url());
  patient.say("take 20000");
  patient.expect("waiting");
  for (auto& each : killed) each.expect("waiting");
  for (auto& each : killed) each.kill();
  const auto dead = boot_time();

  CHECK(holder.ask("check", "trusted").size() == 2);
  const auto released = boot_time();
  CHECK(holder.ask("release", "released").size() == 1);
  const auto second = patient.expect_held();
  CHECK(follows(second.fence, first.fence));  // none of the killed had got it
  CHECK(second.at <= (fixture->keeps_by_itself() ? dead + freed_after : released + taker::longest_pause) + sluggish);
  CHECK(patient.ask("release", "released").size() == 1);
  CHECK_FALSE(locks.holder("key"));
  CHECK(locks.held_keys().empty());
}

TEST_CASE_METHOD(crash_scene, "crash: every key of a killed process with many can be taken after one expiry", "[T91]") {
  taker holder(fixture->url(), {"--key", "key-0", "--ttl", "5000"});
  constexpr int keys = 50;
  holder.take();
  holder.ask(std::string("more ") + std::to_string(keys), "more");
  REQUIRE(locks.held_keys().size() == keys + 1);
  holder.kill();
  const auto killed = boot_time();
  for (int i = 0; i <= keys; ++i) {
    const auto mine = locks.acquire("key-" + std::to_string(i), {.ttl = 1s, .wait = 20s});
    CHECK(follows(mine.fencing_token(), 1));
    if (i == 0) CHECK(boot_time() <= killed + freed_after + sluggish);
  }
}

// Processes that end in an orderly way while they hold or wait, and processes that fork.

namespace {

/// Of a service whose close_limit is 300 ms, on a machine that has much else to do.
constexpr auto end_limit = 15s;
}  // namespace

TEST_CASE("process: two of one label and host have different sessions", "[T04]") {
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

TEST_CASE_METHOD(crash_scene, "process: a forked child's end leaves its parent's lease alone", "[T47]") {
  taker parent(fixture->url());
  const auto mine = parent.take();
  const auto way = GENERATE(as<std::string>{}, "_exit", "exit", "destroy");
  CAPTURE(way);
  const auto end = parent.ask("fork " + way, "child");
  CHECK(end == std::vector<std::string>{"child", "0"});
  CHECK(parent.ask("check", "trusted").size() == 2);
  must_hold(locks, "key", mine);
  // Its connections work, too: the child has not closed them under it.
  CHECK(parent.ask("release", "released").size() == 1);
  CHECK_FALSE(locks.holder("key"));
  CHECK(follows(parent.take().fence, mine.fence));
}

TEST_CASE("process: in a forked child every call on what the parent made is refused", "[T47]") {
  const auto fixture = make_store_fixture();
  taker parent(fixture->url());
  parent.take();
  CHECK(parent.ask("fork refused", "child") == std::vector<std::string>{"child", "0"});
  for (int i = 0; i != 3; ++i) CHECK(parent.expect("child-refused").at(1) == "forked");
  CHECK(parent.ask("check", "trusted").size() == 2);
}

TEST_CASE_METHOD(crash_scene, "process: a service made in a forked child is another owner than the parent's",
                 "[T04][T47]") {
  taker parent(fixture->url(), {"--child-url", fixture->url_after_fork()});
  const auto mine = parent.take();
  CHECK(parent.ask("fork own", "child") == std::vector<std::string>{"child", "0"});
  CHECK(parent.expect("child-parents-key").at(1) == (fixture->url() == fixture->url_after_fork() ? "busy" : "granted"));
  const auto childs = parent.expect("child-held");
  CHECK(follows(std::stoull(childs.at(1)), 0));
  CHECK(childs.at(2).size() == 32);
  CHECK(childs.at(2) != mine.session);
  CHECK(parent.ask("check", "trusted").size() == 2);
  CHECK(parent.ask("release", "released").size() == 1);
  CHECK(locks.held_keys().empty());
}

TEST_CASE_METHOD(crash_scene, "process: a lease in a global is released when main returns or calls exit()") {
  const auto end = GENERATE(as<std::string>{}, "quit", "exit");
  const bool after_the_service = GENERATE(false, true);
  CAPTURE(end, after_the_service);
  taker process(fixture->url());
  const auto mine = process.take();
  if (after_the_service) process.ask("outlive", "outliving");
  process.say(end);
  CHECK(process.end(end_limit) == 0);
  CHECK_FALSE(locks.holder("key"));
  CHECK(follows(locks.try_acquire("key").fencing_token(), mine.fence));
}

TEST_CASE_METHOD(crash_scene, "process: exit() while threads wait for a key ends the process and disturbs nobody",
                 "[T17]") {
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
  CHECK(follows(holder.take().fence, mine.fence));
}

TEST_CASE_METHOD(crash_scene, "process: exit() in the middle of what holds a key frees it, and waits for nothing",
                 "[T90]") {
  // By a lease, by leases on several keys, by a mutex; in the thread's own name and in that of a task.
  const auto holder = GENERATE(as<std::string>{}, "lease", "leases", "mutex", "task", "nested");
  CAPTURE(holder);
  taker process(fixture->url(), {"--close-limit", "3600000", "--ttl", "3600000"});
  process.ask("exit-inside " + holder, "inside");
  CHECK(process.end(end_limit) == 0);
  CHECK(locks.held_keys().empty());
  CHECK(follows(locks.try_acquire("key").fencing_token(), 1));
}

TEST_CASE_METHOD(crash_scene, "process: exit() while a thread holds a key frees it within its ttl", "[T90]") {
  taker process(fixture->url(), taker::expiring());
  process.say("hold-in-thread");
  const auto mine = process.expect_held();
  process.say("exit");
  CHECK(process.end(end_limit) == 0);
  const auto ended = boot_time();
  const auto next = locks.acquire("key", {.ttl = 1s, .wait = 20s});
  CHECK(boot_time() <= ended + freed_after + sluggish);
  CHECK(follows(next.fencing_token(), mine.fence));
}

// Processes that want one key all the time.

TEST_CASE_METHOD(crash_scene, "process: of several that loop over one key none is left out", "[T33]") {
  locks.acquire("key").release();
  std::vector<taker> all;
  for (int i = 0; i != 4; ++i) all.emplace_back(fixture->url());
  for (auto& each : all) each.ask("loop", "looping");
  std::vector<unsigned long> loops;
  // Each gets a tenth of what the luckiest gets. It is no matter of seconds, but of how often the key changed hands.
  const auto fair = [&] {
    std::this_thread::sleep_for(100ms);  // asking must not be all that they do
    loops.clear();
    for (auto& each : all) {
      const auto words = each.ask("looped", "looped");
      REQUIRE(words.at(2) == "0");  // nobody gave up
      loops.push_back(std::stoul(words.at(1)));
    }
    const auto [least, most] = std::minmax_element(loops.begin(), loops.end());
    return *least > 0 && *least * 10 >= *most && *most >= 400;
  };
  const bool was_fair = eventually(fair, 60s);
  for (const auto each : loops) UNSCOPED_INFO(each);
  CHECK(was_fair);
}

}  // namespace dlock::test
