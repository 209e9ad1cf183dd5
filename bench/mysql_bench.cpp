// SPDX-License-Identifier: BSL-1.0
// Acquire and release on the private MariaDB beside the same two statements by hand: prepared, same tables, same unix
// socket, durable commits. Statements are counted at the server.
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>

#include "dlock/dlock.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "harness.hpp"
#include "placement.hpp"
#include "raw_client.hpp"

namespace {

using dlock::bench::figures;
using dlock::bench::need_env;
using dlock::bench::placed;
using dlock::bench::placement;
using dlock::bench::raw_client;

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void held_locks(dlock::lock_service& locks, raw_client& raw) {
  using namespace std::chrono_literals;
  constexpr int many = 10'000;
  const dlock::lock_options options{.ttl = 5s};
  std::vector<dlock::lease> held;
  for (int i = 0; i < many; ++i) held.push_back(locks.acquire(fmt::format("held:{}", i), options));
  const auto executed = raw.executed();
  const auto cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(10s);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double intervals = wall / (5.0 / 3.0);
  fmt::print("{} held locks, ttl 5 s: {:.2f} statements per renewal interval, {:.2f} % of one CPU for everything\n",
             many, static_cast<double>(raw.executed() - executed) / intervals, 100 * (cpu_seconds() - cpu) / wall);
  for (const auto& one : held) one.ensure_held();
}

void uncontended(const std::string& url, raw_client& raw, placement where) {
  const placed here(where, need_env("DLOCK_TEST_MYSQL_SOCKET"));
  dlock::lock_service locks{url};
  const dlock::lock_options options;
  std::string raw_key = "raw:4711";
  const dlock::lock_key our_key("our:4711");
  { const dlock::lease make_row = locks.acquire(raw_key, options); }
  { const dlock::lease make_row = locks.acquire(our_key, options); }
  dlock::bench::compare(
      std::string("MariaDB: acquire+release, 1 thread, ") + text_of(where), 41, 300, [&] { raw.pair(raw_key); },
      [&] { const dlock::lease held = locks.acquire(our_key, options); }, {.at_least = 0.9});
}

/// One owner that holds very many keys: an acquire takes as long as if there were none.
void many_held(const std::string& url) {
  dlock::lock_service locks{url};
  constexpr int many = 100'000, few = 1'000, at_once = 64;
  std::vector<dlock::lease> held;
  std::vector<dlock::multi_lease> rest;
  const auto key = [](int i) { return fmt::format("many:{:06}", i); };
  // Their rows exist: what is measured is not the growth of the table.
  const auto together = [&](int from, int to) {
    std::vector<dlock::multi_lease> made;
    for (int i = from; i < to; i += at_once) {
      std::vector<dlock::lock_key> keys;
      for (int j = i; j < std::min(i + at_once, to); ++j) keys.emplace_back(key(j));
      made.push_back(locks.acquire_all(dlock::lock_keys(keys)));
    }
    return made;
  };
  static_cast<void>(together(0, many));
  int next = 0;
  const auto take = [&] { held.push_back(locks.acquire(key(next++))); };
  const auto first = dlock::bench::time_us(few, take);
  rest = together(few, many - few);
  next = many - few;
  const auto last = dlock::bench::time_us(few, take);
  fmt::print("{} keys held by one owner: the first {} acquires {:.1f} us each, the last {:.1f} us: x {:.2f}\n", many,
             few, first, last, last / first);
  figures::add("100,000 held: the last 1,000 acquires, of the first", "ratio", {last / first}, {.at_most = 1.5});
  const auto begin = std::chrono::steady_clock::now();
  for (auto& each : rest) each.release();
  held.clear();
  fmt::print("their release: {:.1f} us each\n",
             std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / many);
}

void count_statements(const std::string& url, raw_client& raw) {
  dlock::lock_service locks{url};
  dlock::lock_service others{url};
  const dlock::lock_options options;
  const dlock::lock_key key("our:4711");
  constexpr int counted = 2'000;
  const auto per_call = [&](const char* what, const auto& call) {
    call();  // opens the session
    const auto before = raw.executed();
    for (int i = 0; i < counted; ++i) call();
    fmt::print("statements at the server per {}: {:.3f}\n", what,
               static_cast<double>(raw.executed() - before) / counted);
  };
  per_call("uncontended acquire+release", [&] { const dlock::lease held = locks.acquire(key, options); });
  const auto held = locks.acquire(key, options);
  per_call("try_acquire of a key held elsewhere", [&] {
    if (const auto second = others.try_acquire(key, options)) throw std::runtime_error("two holders");
  });
  per_call("re-entry", [&] { const dlock::lease again = locks.acquire(key, options); });
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  const std::string url = dlock::bench::by_socket(at);
  { dlock::lock_service makes_the_tables{url}; }
  raw_client raw(at);
  for (const auto where : {placement::a_processor_each, placement::one_processor}) uncontended(url, raw, where);
  count_statements(url, raw);
  dlock::lock_service locks{url};  // with one session, of the class that the held locks have
  held_locks(locks, raw);
  many_held(url);
  return figures::exit_code();
}
