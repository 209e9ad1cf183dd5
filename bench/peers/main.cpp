// SPDX-License-Identifier: BSL-1.0
// dlock beside other ways to get a lock of the same servers, and beside etcd: a free key's lock and unlock, by one
// thread and by 64 with a key each; and how soon a lock comes from one process to another that waits for it. Nothing is
// promised of these. docs/performance.md has a run.
#include <fmt/format.h>
#include <stdlib.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "contender.hpp"
#include "hand_over.hpp"
#include "harness.hpp"
#include "placement.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock::bench;
using std::chrono::milliseconds;

constexpr int crowd = 64;

struct candidate {
  contender who;
  std::vector<double> one{}, many{};  ///< pairs in a second, of each round
  std::vector<double> hand_over_us{};
};

/// What `work` returns in a process of its own: no client of this program is ever in a process that forks.
template <class Work>
double in_own_process(const Work& work) {
  const shared_board shared;
  in_processes(1, *shared, 0ms, [&](int) { shared->figure = work(); });
  return shared->figure;
}

double pairs(const contender& who, int threads, milliseconds time) {
  return in_own_process([&] {
    std::optional<placed> here;
    if (threads == 1 && who.server_pid != 0) here.emplace(placement::a_processor_each, who.server_pid);
    const auto open = who.start();
    std::vector<std::unique_ptr<key_lock>> locks;
    const auto pair = [&](int i) {
      auto& mine = *locks[static_cast<std::size_t>(i)];
      mine.lock();
      mine.unlock();
    };
    for (int i = 0; i != threads; ++i) {
      locks.push_back(open(fmt::format("pairs-{}", i)));
      pair(i);  // makes the key's row
    }
    return per_second(threads, time, pair);
  });
}

/// Each of two processes holds the key in turn.
std::vector<double> hand_overs(const contender& who, milliseconds time) {
  const shared_board shared;
  in_processes(2, *shared, time, [&](int me) {
    const auto open = who.start();
    const auto lock = open("hand-over");
    // Random, and longer than any pause: a waiter that polls is anywhere in its pause when the key becomes free.
    std::minstd_rand random(static_cast<unsigned>(::getpid()));
    std::uniform_int_distribution<int> hold_ms(100, 200);
    while (!shared->over) {
      lock->lock();
      note_taken(*shared, me);
      std::this_thread::sleep_for(milliseconds{hold_ms(random)});
      const std::size_t before = shared->count;
      note_release(*shared, me);
      lock->unlock();
      // Else a client that retries at once would mostly take it again.
      while (shared->count == before && !shared->over) std::this_thread::sleep_for(1ms);
    }
  });
  return took(*shared);
}

void add(std::vector<candidate>& all, const char* server, const char* peer,
         const std::function<std::vector<contender>()>& of) {
  try {
    for (auto& each : of()) all.push_back({std::move(each)});
  } catch (const std::exception& e) {
    all.push_back({not_built(server, peer, e.what())});
  }
}

std::vector<candidate> candidates(const std::string& sqlite) {
  std::vector<candidate> all;
  add(all, "MariaDB", "all", on_mysql);
  add(all, "SQLite", "dlock",
      [&] { return std::vector{by_dlock("SQLite", "dlock", "1 file", 0, "sqlite:" + sqlite)}; });
  add(all, "Redis, appendfsync always", "all", [] { return on_redis(true); });
  add(all, "Redis, not synced", "all", [] { return on_redis(false); });
#ifdef DLOCK_BENCH_ZOOKEEPER
  add(all, "ZooKeeper", "all", on_zookeeper);
#else
  all.push_back({not_built("ZooKeeper", "all", "built without ZooKeeper's client; ./dev setup installs it")});
#endif
#ifdef DLOCK_BENCH_ETCD
  add(all, "etcd", "all", on_etcd);
#else
  all.push_back({not_built("etcd", "all", "built without gRPC; scripts/setup.sh bench installs it")});
#endif
  return all;
}

/// One round. On a machine that stalls a server may not answer in time: such a round gets a second try.
void measure(candidate& of, milliseconds pair_time, milliseconds hand_over_time) {
  if (!of.who.missing.empty()) return;
  for (const bool last_try : {false, true}) {
    try {
      const auto one = pairs(of.who, 1, pair_time), many = pairs(of.who, crowd, pair_time);
      const auto handed_over = hand_overs(of.who, hand_over_time);
      if (handed_over.empty()) throw std::runtime_error("the lock was not handed over");
      of.one.push_back(one);
      of.many.push_back(many);
      append(of.hand_over_us, handed_over);
      return;
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}, {}: {}\n", of.who.server, of.who.name, e.what());
      if (last_try) of.who.missing = e.what();
    }
  }
}

void print_table(const std::vector<candidate>& all) {
  fmt::print("| {:<25} | {:<23} | {:<13} | {:>8} | {:>10} | {:>11} | {:>7} |\n", "server", "client", "connections",
             "1 thread", "64 threads", "hand-over, ms", "p99, ms");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const auto& [who, one, many, hand_over] : all) {
    if (!who.missing.empty()) {
      fmt::print("| {:<25} | {:<23} | missing: {} |\n", who.server, who.name, who.missing);
      continue;
    }
    fmt::print("| {:<25} | {:<23} | {:<13} | {:>8.0f} | {:>10.0f} | {:>13.1f} | {:>7.1f} |\n", who.server, who.name,
               who.connections, median(one), median(many), percentile(hand_over, 0.5) / 1000,
               percentile(hand_over, 0.99) / 1000);
  }
}

const candidate* beside(const std::vector<candidate>& all, const contender& peer) {
  for (const auto& each : all) {
    if (each.who.server == peer.server && each.who.name == peer.beside && each.who.missing.empty()) return &each;
  }
  return nullptr;
}

/// dlock beside the peers on its server, round by round.
void print_ratios(const std::vector<candidate>& all) {
  for (const auto& peer : all) {
    const auto* const ours = peer.who.missing.empty() ? beside(all, peer.who) : nullptr;
    if (ours == nullptr) continue;
    const auto name = fmt::format("{}: {} of {}", peer.who.server, ours->who.name, peer.who.name);
    const auto ratios = [](const std::vector<double>& of, const std::vector<double>& to) {
      std::vector<double> made;
      for (std::size_t i = 0; i != of.size(); ++i) made.push_back(of[i] / to[i]);
      return made;
    };
    const auto one = ratios(ours->one, peer.one), many = ratios(ours->many, peer.many);
    const auto half = percentile(ours->hand_over_us, 0.5) / percentile(peer.hand_over_us, 0.5);
    fmt::print("{:<66} pairs {:.2f}   with 64 threads {:.2f}   time of a hand-over {:.3f}\n", name, median(one),
               median(many), half);
    figures::add(name + ", pairs of 1 thread", "ratio", one);
    figures::add(fmt::format("{}, pairs of {} threads", name, crowd), "ratio", many);
    figures::add(name + ", hand-over p50", "ratio", {half});
  }
}

nlohmann::json as_json(const std::vector<candidate>& all, int rounds) {
  auto contenders = nlohmann::json::array();
  const auto quartiles = [](const std::vector<double>& values) {
    return nlohmann::json{
        {"low", percentile(values, 0.25)}, {"median", percentile(values, 0.5)}, {"high", percentile(values, 0.75)}};
  };
  for (const auto& [who, one, many, hand_over] : all) {
    nlohmann::json row{{"server", who.server}, {"client", who.name}, {"dlock", who.dlock}};
    if (who.missing.empty()) {
      row["connections"] = who.connections;
      row["pairs_per_s_1_thread"] = quartiles(one);
      row["pairs_per_s_64_threads"] = quartiles(many);
      row["hand_over_ms"] = {{"p50", percentile(hand_over, 0.5) / 1000},
                             {"p99", percentile(hand_over, 0.99) / 1000},
                             {"count", hand_over.size()}};
    } else {
      row["missing"] = who.missing;
    }
    contenders.push_back(std::move(row));
  }
  return {{"processors", std::thread::hardware_concurrency()}, {"rounds", rounds}, {"contenders", contenders}};
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 5;
  std::string json = "peers.json";
  milliseconds pair_time = 500ms, hand_over_time = 6s;
  CLI::App app{"dlock beside other locks of the same servers, and beside etcd"};
  app.add_option("--json", json, "The file that gets the figures")->capture_default_str();
  app.add_option("--rounds", rounds, "How often each is measured")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--pair-time", pair_time, "How long pairs are counted in a round, twice, in ms");
  app.add_option("--hand-over-time", hand_over_time, "How long the lock is handed over in a round, in ms");
  CLI11_PARSE(app, argc, argv);

  // The servers' files must be on a disk, which /tmp may not be.
  ::setenv("TMPDIR", "/var/tmp", 0);
  const sqlite_file sqlite;
  auto all = candidates(sqlite.path);
  for (int round = 0; round != rounds; ++round) {
    fmt::print(stderr, "round {} of {}\n", round + 1, rounds);
    // First in one order, then in the other, so that nobody is always behind the same one.
    for (std::size_t i = 0; i != all.size(); ++i) {
      measure(all[round % 2 == 0 ? i : all.size() - 1 - i], pair_time, hand_over_time);
    }
  }
  print_table(all);
  print_ratios(all);
  std::ofstream file(json);
  file << as_json(all, rounds).dump(1) << '\n';
  if (!file.flush()) {
    fmt::print(stderr, "{} can't be written\n", json);
    return 1;
  }
  return figures::exit_code();
}
