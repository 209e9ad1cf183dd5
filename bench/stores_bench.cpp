// SPDX-License-Identifier: BSL-1.0
// What each store costs and how it hands over, measured alike: docs/stores.md has figures. Nothing is promised of
// these.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "by_hand.hpp"
#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "harness.hpp"
#include "support/redis_masters.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"
#ifdef DLOCK_HAS_ZOOKEEPER
#include "support/zookeeper_server.hpp"
#endif

namespace {

using namespace dlock;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// A store as the table has it.
struct candidate {
  std::string name{};
  std::string url{};
  int pairs = 300;   ///< in one round
  int many = 1'000;  ///< locks held at one time, for the count of connections
};

double us(clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double part(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// How many sockets this process has open, whatever number of descriptors it has for one.
long sockets() {
  std::set<ino_t> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat about {};
    if (::stat(each.path().c_str(), &about) == 0 && S_ISSOCK(about.st_mode)) found.insert(about.st_ino);
  }
  return static_cast<long>(found.size());
}

double pair(const candidate& at) {
  lock_service locks{at.url};
  const lock_key key("pair:4711");
  std::vector<double> rounds;
  for (int i = 0; i < 21; ++i) {
    rounds.push_back(bench::time_us(at.pairs, [&] { const lease held = locks.acquire(key); }));
  }
  bench::figures::add(at.name + ": acquire+release", "us", rounds);
  return bench::median(rounds);
}

/// From the release in one service to the grant in another, which has waited for a while.
std::vector<double> hand_overs(const candidate& at, int count) {
  lock_service one{at.url}, two{at.url};
  const lock_key key("hand-over:4711");
  std::vector<double> took;
  for (int i = 0; i < count; ++i) {
    auto& from = i % 2 == 0 ? one : two;
    auto& to = i % 2 == 0 ? two : one;
    std::optional<lease> held = from.acquire(key);
    clock::time_point granted{};
    std::thread waiter([&] {
      const lease mine = to.acquire(key, {.wait = 20s});
      granted = clock::now();
    });
    // Long enough for the pauses of who looks to have grown, and never in step with them.
    std::this_thread::sleep_for(300ms + 7ms * (i % 11));
    const auto released = clock::now();
    held->release();
    waiter.join();
    took.push_back(us(granted - released));
  }
  bench::figures::add(at.name + ": hand-over", "us", took);
  return took;
}

/// Statements that one who waits sends in a second.
double while_waiting(const candidate& at) {
  lock_service one{at.url}, two{at.url};
  const lock_key key("wait:4711");
  const lease held = one.acquire(key);
  std::thread waiter([&] { static_cast<void>(two.try_acquire(key, {.wait = 5s})); });
  std::this_thread::sleep_for(1s);
  const auto before = two.statements();
  std::this_thread::sleep_for(3s);
  const auto sent = static_cast<double>(two.statements() - before) / 3;
  waiter.join();
  return sent;
}

/// Connections that the process has while it holds so many locks.
long connections(const candidate& at) {
  const auto before = sockets();
  lock_service locks{at.url};
  std::vector<lease> held;
  for (int i = 0; i < at.many; ++i) held.push_back(locks.acquire(fmt::format("many:{}", i)));
  return sockets() - before;
}

void measure(const candidate& at) {
  const auto one = pair(at);
  const auto hand = hand_overs(at, 40);
  const auto sent = while_waiting(at);
  const auto links = connections(at);
  fmt::print("| {:<30} | {:>8.0f} | {:>10.1f} | {:>10.1f} | {:>8.1f} | {:>5} for {} |\n", at.name, one,
             part(hand, 0.5) / 1000, part(hand, 0.99) / 1000, sent, links, at.many);
  std::fflush(stdout);
}

class database : public bench::raw_database {
 public:
  explicit database(store_url at) : raw_database(at), at_(std::move(at)) {}

  void table(const std::string& columns) {
    run("DROP TABLE IF EXISTS bench_stores");
    run("CREATE TABLE bench_stores (" + columns + ") ENGINE=InnoDB CHARSET=utf8mb4");
  }
  /// Of a scheme on a table of other programs, where dlock's waiters poll, and where its releases wake them.
  void both_ways(const std::string& scheme, const std::string& columns) {
    table(columns);
    run("DROP TABLE IF EXISTS dlock_waiter_bench_stores");
    run("CREATE TABLE dlock_waiter_bench_stores (lock_key VARBINARY(255) NOT NULL, since_us BIGINT NOT NULL, bell "
        "BINARY(16) NOT NULL, session_id BINARY(16) NOT NULL, PRIMARY KEY (lock_key, since_us, bell)) ENGINE=InnoDB");
    measure({scheme, url("&table=bench_stores&" + scheme)});
    measure({scheme + ", wake=on", url("&table=bench_stores&wake=on&" + scheme)});
    run("DROP TABLE dlock_waiter_bench_stores");
  }
  std::string url(const std::string& more = {}) const { return bench::by_socket(at_) + more; }

 private:
  const store_url at_;
};

void on_mysql() {
  database here(store_url::parse(bench::need_env("DLOCK_TEST_MYSQL_OWNER_URL")));
  measure({"mysql:", here.url()});
  here.both_ways(
      "scheme=t_lock",
      "lock_key varchar(32) PRIMARY KEY NOT NULL, request_id varchar(64) NOT NULL DEFAULT '', lock_count INT NOT "
      "NULL DEFAULT 0, timeout BIGINT NOT NULL DEFAULT 0, version INT NOT NULL DEFAULT 0");
  here.both_ways(
      "scheme=unique_insert",
      "id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, resource varchar(50) NOT NULL UNIQUE, lock_owner varchar(50) "
      "NOT NULL DEFAULT '', lock_expire_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP");
  here.both_ways(
      "scheme=state_row",
      "id int NOT NULL AUTO_INCREMENT PRIMARY KEY, lock_name varchar(64) NOT NULL UNIQUE, lock_state int NOT "
      "NULL, lock_info varchar(64) NOT NULL, expiration_time datetime");
  measure({"scheme=named_lock", here.url("&scheme=named_lock")});
  here.table("id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, resource varchar(64) NOT NULL UNIQUE");
  measure({"scheme=for_update", here.url("&table=bench_stores&scheme=for_update&make_rows=1&held=101"), 300, 100});
  here.run("DROP TABLE bench_stores");
}

void on_redis() {
  const test::redis_server server({"--appendonly", "no"});
  measure({"redis:", server.url("&persistence=none"), 2'000});
  measure({"redis: scheme=setnx", server.url("&persistence=none&scheme=setnx"), 2'000});
  const test::redis_masters masters(5);
  measure({"redlock: five masters", masters.url("&restart_delay=0"), 500});
}

void on_zookeeper() {
#ifdef DLOCK_HAS_ZOOKEEPER
  const test::zookeeper_server server;
  measure({"zookeeper: one server", server.url(), 100});
#endif
}

}  // namespace

int main() {
  fmt::print("| {:<30} | {:>8} | {:>10} | {:>10} | {:>8} | connections |\n", "store", "pair, us", "p50, ms", "p99, ms",
             "sent/s");
  {
    const test::scratch_folder folder;
    measure({"sqlite:", "sqlite:" + (folder / "locks.db"), 100});
  }
  on_mysql();
  on_redis();
  on_zookeeper();
  return bench::figures::exit_code();
}
