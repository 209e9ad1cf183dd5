// SPDX-License-Identifier: BSL-1.0
// Many threads that use different keys, on few connections: beside raw connections of their own, while somebody has one
// of the rows locked, and how long an acquire takes at half the load.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "dlock/dlock.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "harness.hpp"
#include "raw_client.hpp"

namespace {

using namespace std::chrono_literals;
using dlock::bench::figures;
using dlock::bench::median;
using dlock::bench::per_second;
using dlock::bench::promise;
using dlock::bench::raw_client;

constexpr int rounds = 9;
constexpr auto round_time = 400ms;
constexpr unsigned connections = 8;  // where nothing else is said
constexpr int crowd = 64;

struct server {
  const char* name;
  dlock::store_url at;
  const char* socket;  // the variable that names it
  std::string url = dlock::bench::by_socket(at, socket);
};

/// Keys whose rows exist: what is measured is not the growth of the table.
std::vector<dlock::lock_key> used_keys(dlock::lock_service& locks, const std::string& prefix, int count) {
  std::vector<dlock::lock_key> keys;
  for (int i = 0; i < count; ++i) {
    keys.emplace_back(fmt::format("{}:{}", prefix, i));
    const dlock::lease make_row = locks.acquire(keys.back());
  }
  return keys;
}

/// Pairs of many threads on what is their own: ours, and by hand with a connection for each thread.
template <class Ours, class Hands>
void compare(const server& of, dlock::lock_service& locks, unsigned pool, const char* what, int threads,
             const Ours& by_us, const Hands& by_hand, const promise& promised) {
  std::vector<double> raw, our, ratios;
  const auto before = locks.statements();
  for (int round = 0; round < rounds; ++round) {
    raw.push_back(per_second(threads, round_time, by_hand));
    our.push_back(per_second(threads, round_time, by_us));
    ratios.push_back(our.back() / raw.back());
  }
  double pairs = 0;
  for (const auto each : our) pairs += each * std::chrono::duration<double>(round_time).count();
  fmt::print(
      "{}: pairs on distinct {}: {} threads, {} connections {:8.0f}/s   raw, {} connections {:8.0f}/s   x {:.2f}   "
      "{:.2f} "
      "statements a pair\n",
      of.name, what, threads, pool, median(our), threads, median(raw), median(ratios),
      static_cast<double>(locks.statements() - before) / pairs);
  figures::add(fmt::format("{}: pairs of {} threads on {} connections{}, of raw with {}", of.name, threads, pool,
                           what == std::string_view("rows") ? ", of rows in place" : "", threads),
               "ratio", ratios, promised);
}

std::vector<std::unique_ptr<raw_client>> raw_clients(const server& of, int count) {
  std::vector<std::unique_ptr<raw_client>> clients;
  for (int i = 0; i < count; ++i) clients.push_back(std::make_unique<raw_client>(of.at, of.socket));
  return clients;
}

void distinct_keys(const server& of, int threads, unsigned pool, const promise& promised) {
  dlock::lock_service locks{of.url, {.connections = pool}};
  const auto ours = used_keys(locks, "our", threads);
  used_keys(locks, "raw", threads);
  std::vector<std::string> theirs;
  for (int i = 0; i < threads; ++i) theirs.push_back(fmt::format("raw:{}", i));
  const auto clients = raw_clients(of, threads);
  const auto at = [](auto& all, int i) -> auto& { return all[static_cast<std::size_t>(i)]; };
  const auto by_hand = [&](int i) { at(clients, i)->pair(at(theirs, i)); };
  const auto by_us = [&](int i) { const dlock::lease held = locks.acquire(at(ours, i)); };
  compare(of, locks, pool, "keys", threads, by_us, by_hand, promised);
}

/// Likewise rows of one table, locked in place: ours are the first, those by hand the others.
void distinct_rows(const server& of, int threads, const promise& promised) {
  dlock::lock_service locks{of.url, {.connections = connections}};
  raw_client root(of.at, of.socket);
  root.make_rows(10 * threads);
  const auto table =
      std::make_shared<const dlock::row_table>(dlock::row_table{.table = "`" + of.at.path + "`.`bench_row`",
                                                                .label = "bench_row",
                                                                .id = {"`id`"},
                                                                .owner = "`lock_owner`",
                                                                .expires_at = "`lock_expires_at_us`",
                                                                .fence = "`lock_fence`",
                                                                .version = "`version`"});
  std::vector<dlock::lock_key> ours;
  for (int i = 1; i <= threads; ++i) ours.push_back(dlock::lock_key::of_row(table, {std::int64_t{i}}));
  const auto clients = raw_clients(of, threads);
  const auto at = [](auto& all, int i) -> auto& { return all[static_cast<std::size_t>(i)]; };
  const auto by_hand = [&](int i) { at(clients, i)->row_pair(static_cast<std::uint64_t>(threads + 1 + i)); };
  const auto by_us = [&](int i) { const dlock::lease held = locks.acquire(at(ours, i)); };
  compare(of, locks, connections, "rows", threads, by_us, by_hand, promised);
  root.drop_rows();
}

/// Another program's transaction has one of the rows locked: what the other threads do, of what they do otherwise.
void one_blocked(const server& of) {
  dlock::lock_service locks{of.url, {.connections = connections}};
  const auto keys = used_keys(locks, "blocked", crowd);
  raw_client foreign(of.at, of.socket);
  std::vector<double> ratios;
  const auto others = [&] {
    // The first thread is the one that meets the other program.
    std::atomic<long> done{0};
    per_second(crowd, 1s, [&](int i) {
      const dlock::lease held = locks.try_acquire(keys[static_cast<std::size_t>(i)], {.wait = 5s});
      if (i != 0) ++done;
    });
    return static_cast<double>(done);
  };
  for (int round = 0; round < 5; ++round) {
    const double free = others();
    foreign.block("blocked:0");
    std::thread later([&] {
      std::this_thread::sleep_for(1s);
      foreign.unblock();
    });
    ratios.push_back(others() / free);
    later.join();
  }
  fmt::print("{}: one of {} keys is locked by another program's transaction: the others do x {:.2f}\n", of.name, crowd,
             median(ratios));
  figures::add(
      fmt::format("{}: pairs while another program has one of {} rows locked, of those without", of.name, crowd),
      "ratio", ratios, {.at_least = 0.85});
}

/// Threads that each do a pair at fixed times, at half the rate that they can do together.
void latency(const server& of) {
  dlock::lock_service locks{of.url, {.connections = connections}};
  const auto keys = used_keys(locks, "late", crowd);
  const auto key = [&](int i) -> auto& { return keys[static_cast<std::size_t>(i)]; };
  std::vector<double> ratios;
  for (int round = 0; round < 5; ++round) {
    const double most = per_second(crowd, round_time, [&](int i) { const dlock::lease held = locks.acquire(key(i)); });
    const std::chrono::duration<double> pause{crowd / (most / 2)};
    std::vector<double> took;
    std::mutex mutex;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    for (int i = 0; i < crowd; ++i) {
      all.emplace_back([&, i] {
        std::vector<double> mine;
        auto next = begin + std::chrono::duration_cast<std::chrono::nanoseconds>(pause * i / crowd);
        for (; next < begin + 1s; next += std::chrono::duration_cast<std::chrono::nanoseconds>(pause)) {
          std::this_thread::sleep_until(next);
          const auto asked = std::chrono::steady_clock::now();
          const dlock::lease held = locks.acquire(key(i));
          mine.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - asked).count());
        }
        const std::lock_guard lock(mutex);
        took.insert(took.end(), mine.begin(), mine.end());
      });
    }
    for (auto& each : all) each.join();
    std::sort(took.begin(), took.end());
    const auto at = [&](double share) {
      return took[static_cast<std::size_t>(share * static_cast<double>(took.size() - 1))];
    };
    fmt::print("{}: {} acquires at {:.0f}/s of {:.0f}/s: p50 {:.0f} us, p99 {:.0f} us\n", of.name, took.size(),
               most / 2, most, at(0.5), at(0.99));
    ratios.push_back(at(0.99) / at(0.5));
  }
  figures::add(fmt::format("{}: p99 of an acquire at half the load, of p50", of.name), "ratio", ratios, {.at_most = 6});
}

/// What one thread costs the scheduler: a hand-over to another thread would show here.
void switches(const server& of) {
  dlock::lock_service locks{of.url};
  const dlock::lock_key key("switches");
  std::string raw_key("raw:0");
  raw_client raw(of.at, of.socket);
  constexpr int pairs = 2'000;
  const auto counted = [&](const auto& work) {
    work();
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < pairs; ++i) work();
    getrusage(RUSAGE_SELF, &after);
    return static_cast<double>(after.ru_nvcsw - before.ru_nvcsw) / pairs;
  };
  const auto ours = counted([&] { const dlock::lease held = locks.acquire(key); });
  const auto theirs = counted([&] { raw.pair(raw_key); });
  fmt::print("{}: times a pair of one thread lets go of its processor: {:.2f}, by hand {:.2f}\n", of.name, ours,
             theirs);
  figures::add(fmt::format("{}: context switches of a lone pair, beyond those by hand", of.name), "switches",
               {ours - theirs}, {.at_most = 0.1});
}

void on_sqlite() {
  const dlock::bench::sqlite_file file;
  dlock::lock_service locks{"sqlite:" + file.path};
  const auto keys = used_keys(locks, "our", crowd);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const auto work = [&](int i) { const dlock::lease held = locks.acquire(keys[static_cast<std::size_t>(i)]); };
    const double alone = per_second(1, round_time, work);
    ratios.push_back(per_second(crowd, round_time, work) / alone);
  }
  fmt::print("SQLite: pairs of {} threads, of one thread: x {:.2f}\n", crowd, median(ratios));
  figures::add(fmt::format("SQLite: pairs of {} threads, of one thread", crowd), "ratio", ratios, {.at_least = 3});
}

void on(const server& of) {
  {
    dlock::lock_service makes_the_tables{of.url};
    used_keys(makes_the_tables, "raw", 1);
  }
  switches(of);
  for (const unsigned pool : {4U, 8U}) distinct_keys(of, 8, pool, {.at_least = 0.75});
  for (const unsigned pool : {4U, 8U, 16U, 64U}) distinct_keys(of, crowd, pool, {.at_least = 1.5});
  distinct_rows(of, crowd, {.at_least = 1.2});
  one_blocked(of);
  latency(of);
}

}  // namespace

int main() {
  on({"MariaDB", dlock::store_url::parse(dlock::bench::need_env("DLOCK_TEST_MYSQL_OWNER_URL")),
      "DLOCK_TEST_MYSQL_SOCKET"});
  if (const char* const mysql9 = std::getenv("DLOCK_TEST_MYSQL9_OWNER_URL")) {
    on({"MySQL 9", dlock::store_url::parse(mysql9), "DLOCK_TEST_MYSQL9_SOCKET"});
  }
  on_sqlite();
  return figures::exit_code();
}
