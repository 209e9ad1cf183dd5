// SPDX-License-Identifier: BSL-1.0

// The recipes of docs/cookbook.md. scripts/check_docs.sh compares the regions with the page; those that need a database
// are in samples and in tests/odb/rows.

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;

/// Two processes over one store, and a clock that the test moves.
struct two_processes {
  dlock::stores::virtual_clock clock;
  std::shared_ptr<dlock::stores::memory_store> store = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service locks{store, {.label = "process 1", .time = &clock}};
  dlock::lock_service others{store, {.label = "process 2", .time = &clock}};
};

struct journal {
  std::vector<std::string> lines{};
  void write(std::string line) { lines.push_back(std::move(line)); }
};

// [scheduled_job]
/// Each host calls this when its timer rings. One of them sends the report.
bool send_daily_report(dlock::lock_service& locks, journal& mail) {
  const auto held = locks.try_acquire("job:daily-report", {.min_hold = 10min});
  if (!held) return false;  // another host is sending it, or sent it less than ten minutes ago
  mail.write("the daily report");
  return true;
}
// [/scheduled_job]

TEST_CASE_METHOD(two_processes, "cookbook: of several hosts one runs a scheduled job, also where timers differ") {
  journal mail;
  CHECK(send_daily_report(locks, mail));
  CHECK_FALSE(send_daily_report(others, mail));  // the job is done, and its key is still taken
  clock.advance(9min);
  CHECK_FALSE(send_daily_report(others, mail));
  clock.advance(2min);
  CHECK(send_daily_report(others, mail));
  CHECK(mail.lines.size() == 2);
}

// [rate_limit]
/// At most one message a minute to each customer, from whatever process.
bool may_write_to(dlock::lock_service& locks, int customer) {
  const auto held = locks.try_acquire(dlock::key<"message:{customer}">(customer),
                                      {.reentry = dlock::reentry::busy, .min_hold = 1min});
  return static_cast<bool>(held);
}
// [/rate_limit]

TEST_CASE_METHOD(two_processes, "cookbook: a rate limit for each customer") {
  CHECK(may_write_to(locks, 7));
  CHECK_FALSE(may_write_to(locks, 7));
  CHECK_FALSE(may_write_to(others, 7));
  CHECK(may_write_to(others, 8));
  clock.advance(61s);
  CHECK(may_write_to(others, 7));
}

struct request {
  std::string id;
  int amount;
};

// [idempotent]
/// A client that got no answer sends its request again, perhaps to another process. It is charged once.
int charge(dlock::lock_service& locks, std::map<std::string, int>& receipts, int& charged, const request& r) {
  return locks.with_lock(dlock::key<"request:{r.id}">(r), {.wait = 10s}, [&] {
    const auto known = receipts.find(r.id);
    if (known != receipts.end()) return known->second;  // the answer of the first time
    charged += r.amount;
    return receipts[r.id] = charged;
  });
}
// [/idempotent]

TEST_CASE_METHOD(two_processes, "cookbook: a request that comes twice is executed once") {
  std::map<std::string, int> receipts;
  int charged = 0;
  const request first{"7f3a", 20};
  CHECK(charge(locks, receipts, charged, first) == 20);
  CHECK(charge(others, receipts, charged, first) == 20);
  CHECK(charge(others, receipts, charged, {"9c1b", 5}) == 25);
  CHECK(charged == 25);
}

// [cache]
/// When a page is missing in the cache, one process builds it, and the others wait for that.
std::string page(dlock::lock_service& locks, std::map<std::string, std::string>& cache, const std::string& name,
                 int& builds) {
  if (const auto hit = cache.find(name); hit != cache.end()) return hit->second;
  return locks.with_lock(dlock::key<"page:{name}">(name), {.ttl = 10s, .wait = 5s}, [&] {
    if (const auto hit = cache.find(name); hit != cache.end()) return hit->second;  // built while we waited
    ++builds;
    return cache[name] = "<h1>" + name + "</h1>";
  });
}
// [/cache]

TEST_CASE("cookbook: a page that many want is built once") {
  const auto store = std::make_shared<dlock::stores::memory_store>();
  dlock::lock_service locks{store};
  dlock::lock_service others{store};
  std::map<std::string, std::string> cache;
  int builds = 0;
  auto building = locks.acquire("page:home");
  std::string seen;
  std::jthread second([&] { seen = page(others, cache, "home", builds); });
  while (others.waiting() == 0) std::this_thread::yield();
  cache["home"] = "<h1>by the first</h1>";
  building.release();
  second.join();
  CHECK(seen == "<h1>by the first</h1>");
  CHECK(builds == 0);
  CHECK(page(locks, cache, "help", builds) == "<h1>help</h1>");
  CHECK(builds == 1);
}

// [migration]
/// All processes call this when they start. The first one migrates, and the others find nothing left to do.
int migrate(dlock::lock_service& locks, int& version, const std::vector<std::string>& steps, journal& database) {
  return locks.with_lock("migrations:shop", {.ttl = 1min, .wait = 10min}, [&](const dlock::lease& held) {
    int applied = 0;
    for (auto next = static_cast<std::size_t>(version); next < steps.size(); ++next) {
      held.ensure_held();  // throws lock_lost before the next step if another process may be migrating by now
      database.write(steps[next]);
      ++version;
      ++applied;
    }
    return applied;
  });
}
// [/migration]

TEST_CASE_METHOD(two_processes, "cookbook: one process migrates the tables") {
  const std::vector<std::string> steps{"CREATE TABLE a", "ALTER TABLE a"};
  journal database;
  int version = 0;
  CHECK(migrate(locks, version, steps, database) == 2);
  CHECK(migrate(others, version, steps, database) == 0);
  CHECK(database.lines == steps);
}

// [consumer]
/// Each partition of a stream has one consumer. A process takes those that are free, up to its share.
std::vector<dlock::lease> take_partitions(dlock::lock_service& locks, int partitions, std::size_t share) {
  std::vector<dlock::lease> taken;
  for (int number = 0; number != partitions && taken.size() != share; ++number) {
    auto one = locks.try_acquire(dlock::key<"partition:{number}">(number), {.ttl = 10s});
    if (one) taken.push_back(std::move(one));
  }
  return taken;
}
// [/consumer]

TEST_CASE_METHOD(two_processes, "cookbook: each partition has one consumer") {
  const auto first = take_partitions(locks, 4, 2);
  const auto second = take_partitions(others, 4, 3);
  REQUIRE(first.size() == 2);
  REQUIRE(second.size() == 2);
  CHECK(first[1].key() == "partition:1");
  CHECK(second[0].key() == "partition:2");
  CHECK(take_partitions(others, 4, 1).empty());
}

// [take_up]
/// After a loss: takes the key again. True: no other process has had it in between, so a job that was begun may go on.
bool take_up(dlock::lock_service& locks, dlock::lease& lost) {
  const auto key = std::string(lost.key());
  const auto token = lost.fencing_token();
  lost = {};
  lost = locks.acquire(key, {.wait = 1min});
  return lost.fencing_token() == token + 1;
}
// [/take_up]

TEST_CASE_METHOD(two_processes,
                 "cookbook: a lapsed lease is taken up again, and its token shows whether nobody had the key") {
  auto held = locks.acquire("import:7");
  clock.advance(1h);  // the process was stopped for so long, and its lease has lapsed
  CHECK_THROWS_AS(held.ensure_held(), dlock::lock_lost);
  CHECK(take_up(locks, held));
  held.ensure_held();

  clock.advance(1h);
  { const auto other = others.acquire("import:7"); }
  CHECK_FALSE(take_up(locks, held));
  held.ensure_held();
}

}  // namespace
