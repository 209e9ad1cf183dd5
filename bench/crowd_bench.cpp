// SPDX-License-Identifier: BSL-1.0
// Many processes that want the same keys, with default options: how the grants are shared out, how long it takes until
// each of 256 waiters has had its turn, and whether 200 processes get as much done as 8.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "by_hand.hpp"
#include "dlock/dlock.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "every_store.hpp"
#include "hand_over.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock::bench;

/// So many processes that loop over one key, with so much work each time.
void shares(const candidate& at, int processes, std::chrono::milliseconds work) {
  const shared_board shared;
  in_processes(processes, *shared, 15s, [&](int me) {
    dlock::lock_service locks{at.url};
    while (!shared->over) {
      const auto held = locks.try_acquire("share", {.wait = 60s});
      if (!held) {
        ++shared->timeouts;
        return;
      }
      std::this_thread::sleep_for(work);
      ++shared->grants[me];
    }
  });
  const std::vector<int> grants(shared->grants, shared->grants + processes);
  const auto mean = static_cast<double>(std::accumulate(grants.begin(), grants.end(), 0)) / processes;
  const auto least = *std::min_element(grants.begin(), grants.end());
  const auto name = fmt::format("{} {} processes with {} ms of work", at.name, processes, work.count());
  fmt::print("{:<66} {:6.1f} grants each, the least {:4}, x {:.2f}\n", name, mean, least, least / mean);
  figures::add(name + ", the least of the mean", "ratio", {least / mean}, {.at_least = 0.5});
  figures::add(name + ", timeouts", "times", {static_cast<double>(shared->timeouts)}, {.at_most = 0});
}

/// 8 processes with 32 threads each wait for one key; each thread gets it once.
void all_in_turn(const candidate& at) {
  std::vector<double> ratios, took;
  for (int round = 0; round != 3; ++round) {
    const shared_board shared;
    // The holder is a process of its own: SQLite's locks do not survive a fork.
    in_processes(1, *shared, 0ms, [&](int) {
      dlock::lock_service locks{at.url};
      const auto held = locks.acquire("turn", {.ttl = 10s, .renewal = dlock::renewal::none});
      ::_exit(0);  // it stays held until its expiry
    });
    shared->over = false;
    in_waiting_processes(8, *shared, at.url, "turn", [&] {
      const auto until = [&](std::size_t count) {
        const auto last = std::chrono::steady_clock::now() + 2min;
        while (shared->count < count) {
          if (std::chrono::steady_clock::now() > last)
            throw std::runtime_error(at.name + " not all waiters were served");
          std::this_thread::sleep_for(1ms);
        }
        return std::chrono::steady_clock::now();
      };
      const auto first = until(1);
      took.push_back(std::chrono::duration<double>(until(256) - first).count());
    });
    ratios.push_back(255 * median(by_dlock(at.url, long_hold, 8s)) / 1e6 / took.back());
  }
  fmt::print("{} 256 waiters of 8 processes served in {:.2f} s, x {:.2f} of a rate of hand-overs between two\n",
             at.name, median(took), median(ratios));
  figures::add(at.name + " 256 waiters in turn, of the hand-over rate of two processes", "ratio", ratios,
               {.at_least = 0.7});
}

using random_keys = std::minstd_rand;

std::string next_key(random_keys& random) { return fmt::format("few:{}", random() % 5); }

/// `loop(board, random)` in so many processes until the board says that it is over.
template <class Loop>
double grants_per_second(int processes, Loop loop) {
  const shared_board shared;
  double rate = 0;
  in_processes(
      processes, *shared, 0ms,
      [&](int me) {
        random_keys random(static_cast<unsigned>(me) + 1);
        loop(*shared, random);
      },
      [&] {
        constexpr auto time = 20s;
        std::this_thread::sleep_for(15s);  // all have connected, and wait
        const std::size_t before = shared->count;
        std::this_thread::sleep_for(time);
        rate = static_cast<double>(shared->count - before) / std::chrono::duration<double>(time).count();
      });
  return rate;
}

double by_locks(const std::string& url, int processes, std::chrono::milliseconds work) {
  return grants_per_second(processes, [&](board& shared, random_keys& random) {
    dlock::lock_service locks{url};
    while (!shared.over) {
      const auto held = locks.acquire(next_key(random), {.wait = 2min});
      if (work > 0ms) std::this_thread::sleep_for(work);
      ++shared.count;
    }
  });
}

/// GET_LOCK, and a durable UPDATE after it and one before its release.
double by_get_lock(const dlock::store_url& at, int processes, std::chrono::milliseconds work) {
  raw_database table(at);
  table.run("create table if not exists bench_few (id varchar(16) primary key, n int not null) engine=InnoDB");
  table.run("replace into bench_few values ('few:0', 0), ('few:1', 0), ('few:2', 0), ('few:3', 0), ('few:4', 0)");
  const auto rate = grants_per_second(processes, [&](board& shared, random_keys& random) {
    raw_database raw(at);
    while (!shared.over) {
      const auto key = next_key(random);
      const auto update = "update bench_few set n = n + 1 where id = '" + key + "'";
      raw.one("select get_lock('" + key + "', 120)");
      raw.run(update);
      if (work > 0ms) std::this_thread::sleep_for(work);
      raw.run(update);
      raw.one("select release_lock('" + key + "')");
      ++shared.count;
    }
  });
  table.run("drop table bench_few");
  return rate;
}

/// acquire() throws if a wait does not end in time.
void many_processes(const candidate& at, std::chrono::milliseconds work, const promise& promised) {
  const auto few = by_locks(at.url, 8, work), many = by_locks(at.url, 200, work);
  const auto name = fmt::format("{} 5 keys, {} ms of work", at.name, work.count());
  fmt::print("{}: 200 processes {:.0f} grants/s, 8 processes {:.0f} grants/s, x {:.2f}\n", name, many, few, many / few);
  figures::add(name + ", grants of 200 processes, of those of 8", "ratio", {many / few}, promised);
  if (at.name != "mysql:") return;
  const auto by_hand = by_get_lock(dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL")), 200, work);
  fmt::print("{}: 200 processes with GET_LOCK and two updates {:.0f} grants/s, x {:.2f}\n", name, by_hand,
             many / by_hand);
  figures::add(name + ", grants of 200 processes, of those by GET_LOCK and two updates", "ratio", {many / by_hand});
}

}  // namespace

int main(int count, char** names) {  // the stores to measure; none: all
  on_every_store([&](const candidate& at) {
    if (count > 1 && std::find(names + 1, names + count, at.name) == names + count) return;
    shares(at, 4, 100ms);
    shares(at, 16, 10ms);
    if (at.name == "mysql:" || at.name == "sqlite:") {
      all_in_turn(at);
      many_processes(at, 0ms, {});
      many_processes(at, 10ms, {.at_least = 0.8});
    }
  });
  return figures::exit_code();
}
