// SPDX-License-Identifier: BSL-1.0
// Readers and permits beside the same rows by hand, many readers in several services, and a writer beside them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "by_hand.hpp"
#include "dlock/dlock.hpp"
#include "dlock/stores/mysql.hpp"
#include "hand_over.hpp"
#include "placement.hpp"

namespace {

using namespace std::chrono_literals;
using dlock::bench::by_hand;
using dlock::bench::figures;
using dlock::bench::need_env;
using dlock::bench::placed;
using dlock::bench::placement;
using dlock::bench::raw_database;

constexpr int processes = 8;  // a service stands for one

void pairs(const dlock::store_url& at) {
  for (const auto where : {placement::a_processor_each, placement::one_processor}) {
    const placed here(where, need_env("DLOCK_TEST_MYSQL_SOCKET"));
    by_hand raw(at, "insert into bench_members (resource, owner, since) values (?, 'a session and a nonce', now(6))",
                "delete from bench_members where resource = ? and owner = 'a session and a nonce'");
    dlock::lock_service locks{dlock::bench::by_socket(at)};
    const auto compare = [&](const char* what, const dlock::lock_options& options) {
      const dlock::lock_key key("pair:4711");
      dlock::bench::compare(
          std::string(what) + ", " + text_of(where), 41, 200, [&] { raw.pair(); },
          [&] { const dlock::lease held = locks.acquire(key, options); });
    };
    compare("shared: acquire+release", {.mode = dlock::shared});
    compare("permit: acquire+release", {.mode = dlock::one_of(10)});
    compare("exclusive: acquire+release beside an INSERT and a DELETE", {});
  }
}

std::vector<std::unique_ptr<dlock::lock_service>> services(const dlock::store_url& at) {
  std::vector<std::unique_ptr<dlock::lock_service>> all;
  for (int i = 0; i != processes; ++i)
    all.push_back(std::make_unique<dlock::lock_service>(dlock::bench::by_socket(at)));
  return all;
}

/// A thousand threads read one key, each for 10 ms, again and again.
void readers(const dlock::store_url& at) {
  const auto all = services(at);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> reads{0};
  const auto statements = [&] {
    std::uint64_t sum = 0;
    for (const auto& each : all) sum += each->statements();
    return sum;
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i != 1000; ++i) {
    threads.emplace_back([&, i] {
      auto& locks = *all[static_cast<std::size_t>(i % processes)];
      while (!over) {
        locks.with_lock("catalogue", {.wait = 60s, .mode = dlock::shared}, [] { std::this_thread::sleep_for(10ms); });
        ++reads;
      }
    });
  }
  std::this_thread::sleep_for(1s);
  const auto read = reads.load(), sent = statements();
  std::this_thread::sleep_for(5s);
  const auto done = static_cast<double>(reads - read), asked = static_cast<double>(statements() - sent);
  over = true;
  threads.clear();
  fmt::print("1,000 readers in {} services: {:.0f} reads/s, {:.3f} statements for each\n", processes, done / 5,
             asked / done);
  figures::add("shared: statements for a reader, 1,000 in 8 services", "count", {asked / done}, {.at_most = 0.1});
}

/// A thread of each service reads in a loop, and a writer comes now and then.
void writer(const dlock::store_url& at) {
  const auto all = services(at);
  std::atomic<bool> over{false};
  std::vector<std::jthread> threads;
  for (const auto& each : all) {
    threads.emplace_back([&over, &locks = *each] {
      while (!over) locks.with_lock("catalogue", {.wait = 60s, .mode = dlock::shared}, [] {});
    });
  }
  dlock::lock_service locks{dlock::bench::by_socket(at)};
  std::vector<double> waits;
  for (int i = 0; i != 100; ++i) {
    std::this_thread::sleep_for(20ms);
    waits.push_back(dlock::bench::time_us(1, [&] { locks.acquire("catalogue", {.wait = 60s}).release(); }));
  }
  over = true;
  threads.clear();
  std::sort(waits.begin(), waits.end());
  fmt::print("a writer beside 8 services that read in a loop: {:.0f} us (p50), {:.0f} us (p99)\n",
             dlock::bench::median(waits), waits[98]);
  figures::add("shared: a writer's wait beside 8 services that read", "us", waits);
}

/// From the release in one service to the grant in another one, which has waited for a while.
std::vector<double> hand_overs(dlock::lock_service& one, dlock::lock_service& other,
                               const dlock::lock_options& options) {
  std::vector<double> took;
  for (int i = 0; i != 100; ++i) {
    auto held = one.acquire("hand-over", options);
    std::atomic<double> granted{0};
    std::jthread waiter([&] {
      const auto got = other.acquire("hand-over", options);
      granted = dlock::bench::now_us();
    });
    while (one.waiters("hand-over").count == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(40ms);
    const auto released = dlock::bench::now_us();
    held.release();
    waiter.join();
    took.push_back(granted - released);
  }
  return took;
}

void hand_over(const dlock::store_url& at) {
  dlock::lock_service one{dlock::bench::by_socket(at)}, other{dlock::bench::by_socket(at)};
  const auto lock = hand_overs(one, other, {.wait = 60s});
  const auto permit = hand_overs(one, other, {.wait = 60s, .mode = dlock::one_of(1)});
  fmt::print("a hand-over between two services: {:.0f} us (p50) of a lock, {:.0f} us of a permit\n",
             dlock::bench::median(lock), dlock::bench::median(permit));
  figures::add("shared: a hand-over of a permit", "us", permit);
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  raw_database tables(at);
  tables.run("drop table if exists bench_members");
  tables.run(
      "create table bench_members (resource varchar(64) not null, owner varchar(64) not null, since datetime(6) not "
      "null, primary key (resource, owner)) engine=InnoDB charset=utf8mb4");
  pairs(at);
  hand_over(at);
  readers(at);
  writer(at);
  tables.run("drop table bench_members");
  return figures::exit_code();
}
