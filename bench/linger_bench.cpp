// SPDX-License-Identifier: BSL-1.0
// A key that lingers with its process (lock_options::linger): what a pair of acquire and release costs, how many
// statements many of them send, and how long another process waits that asks for the key, beside one that waits for a
// held key.
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "by_hand.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"
#include "dlock/stores/sqlite.hpp"
#include "hand_over.hpp"
#include "raw_client.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock::bench;

const dlock::lock_options lingers{.ttl = 30s, .wait = 30s, .linger = 30s};

/// The longest time that a key is kept is a second, so each round needs some statements.
void pairs(const std::string& name, const std::string& url, const std::function<void()>& raw_pair) {
  dlock::lock_service locks{url};
  const auto pair = [&] { const auto held = locks.acquire("pair", lingers); };
  std::vector<double> ours, raw, ratios;
  for (int round = 0; round != 9; ++round) {
    raw.push_back(time_us(200, raw_pair));
    for (int i = 0; i != 20; ++i) pair();
    ours.push_back(time_us(50'000, pair));
    ratios.push_back(raw.back() / ours.back());
  }
  fmt::print("{}, 1 thread: a pair of a key that lingers {:.2f} us   raw pair {:.0f} us   x {:.0f}\n", name,
             median(ours), median(raw), median(ratios));
  figures::add(name + ": a pair of a key that lingers, 1 thread", "us", ours, {.at_most = 3});
  figures::add(name + ": a pair of a key that lingers, 1 thread, of the raw pair", "times", ratios, {.at_least = 100});

  std::vector<double> rates;
  std::vector<std::string> keys;
  for (int i = 0; i != 64; ++i) keys.push_back("pair:" + std::to_string(i));
  for (int round = 0; round != 5; ++round) {
    rates.push_back(per_second(
        64, 400ms, [&](int me) { const auto held = locks.acquire(keys[static_cast<std::size_t>(me)], lingers); }));
  }
  fmt::print("{}, 64 threads, a key each: {:.0f} pairs/s\n", name, median(rates));
  figures::add(name + ": pairs of keys that linger, 64 threads with a key each", "1/s", rates, {.at_least = 500'000});
}

void statements(const std::string& name, const std::string& url) {
  std::vector<double> each;
  for (int round = 0; round != 5; ++round) {
    dlock::lock_service locks{url};
    for (int i = 0; i != 10'000; ++i) const auto held = locks.acquire("many:" + std::to_string(round), lingers);
    each.push_back(static_cast<double>(locks.statements()));
  }
  fmt::print("{}: {:.0f} statements for 10,000 pairs\n", name, median(each));
  figures::add(name + ": statements of 10,000 pairs of a key that lingers", "statements", each, {.at_most = 20});
}

/// One process keeps the key without a lease, in turn with another one that asks for it, holds it and releases it.
std::vector<double> from_lingering(const std::string& url, std::chrono::milliseconds time) {
  const shared_board shared;
  in_processes(2, *shared, time, [&](int me) {
    dlock::lock_service locks{url};
    if (me == 0) {  // takes it again each time
      while (!shared->over) {
        { const auto held = locks.acquire("hand-over", lingers); }
        { const auto held = locks.acquire("hand-over", lingers); }
        shared->released_by = 0;
        while (shared->released_by == 0 && !shared->over) std::this_thread::sleep_for(1ms);
      }
    } else {
      while (!shared->over) {
        while (shared->released_by != 0 && !shared->over) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(long_hold);
        if (shared->over) break;
        const auto begun = now_us();
        auto held = locks.acquire("hand-over", {.wait = 30s});
        if (const auto place = shared->count++; place < most) shared->took[place] = now_us() - begun;
        held.release();
        shared->released_by = 1;
      }
    }
  });
  return took(*shared);
}

void hand_over(const std::string& name, const std::string& url) {
  std::vector<double> held, kept, ratios;
  for (int round = 0; round != 5; ++round) {
    const auto one = by_dlock(url, long_hold, 4s), other = from_lingering(url, 4s);
    append(held, one);
    append(kept, other);
    ratios.push_back(percentile(other, 0.5) / percentile(one, 0.5));
  }
  for (const double share : {0.5, 0.99}) {
    fmt::print("{}, p{:g}: another process gets a key that lingers after {:.0f} us, a held one after {:.0f} us\n", name,
               100 * share, percentile(kept, share), percentile(held, share));
  }
  fmt::print("{}: of the hand-over {:.2f}\n", name, median(ratios));
  figures::add(name + ": another process asks for a key that lingers, p50, of a hand-over", "ratio", ratios,
               {.at_most = 1.5});
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  const auto url = by_socket(at);
  std::string raw_key = "raw:1";
  {
    dlock::lock_service locks{url};
    const auto make_row = locks.acquire(raw_key);
  }
  raw_client raw(at);
  statements("MariaDB", url);
  pairs("MariaDB", url, [&] { raw.pair(raw_key); });
  hand_over("MariaDB", url);

  const auto file = std::filesystem::temp_directory_path() / ("dlock-bench-" + std::to_string(::getpid()) + ".db");
  const auto sqlite = "sqlite:" + file.string();
  statements("SQLite", sqlite);
  hand_over("SQLite", sqlite);
  for (const auto* const more : {"", "-wal", "-shm", "-wake"}) std::filesystem::remove(file.string() + more);
  return figures::exit_code();
}
