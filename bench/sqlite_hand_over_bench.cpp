// SPDX-License-Identifier: BSL-1.0
// A lock in an SQLite file that goes from one process to another that waits for it, beside one durable write; and what
// those send who wait.
#include <sqlite3.h>

#include <stdexcept>

#include "hand_over.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock::bench;

std::vector<double> durable_writes(const std::string& path, int times) {
  sqlite3* db = nullptr;
  const auto run = [&](const char* sql) {
    if (::sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw std::runtime_error(::sqlite3_errmsg(db));
  };
  if (::sqlite3_open(path.c_str(), &db) != SQLITE_OK) throw std::runtime_error("no database");
  run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=5000");
  run("CREATE TABLE IF NOT EXISTS bench_update (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)");
  run("REPLACE INTO bench_update VALUES (1, 0)");
  std::vector<double> each;
  for (int i = 0; i != times; ++i) {
    each.push_back(time_us(1, [&] { run("UPDATE bench_update SET n = n + 1 WHERE id = 1"); }));
  }
  ::sqlite3_close(db);
  return each;
}

void hand_over(const std::string& path) {
  const auto url = "sqlite:" + path;
  std::vector<double> ours, off, write;
  for (int round = 0; round != 3; ++round) {
    append(ours, by_dlock(url, long_hold, 8s));
    append(write, durable_writes(path, 200));
    append(off, by_dlock(url + "?wake=off", long_hold, 4s));
  }
  for (const double share : {0.5, 0.99}) {
    const auto name = fmt::format("p{:g}", 100 * share);
    fmt::print(
        "hand-over on SQLite {}: dlock {:7.0f} us ({} times)   wake=off {:7.0f} us   durable write {:5.0f} us   "
        "of that {:.2f}\n",
        name, percentile(ours, share), ours.size(), percentile(off, share), percentile(write, share),
        percentile(ours, share) / percentile(write, share));
    figures::add("hand-over between two processes on SQLite, " + name + ", of one durable write", "ratio",
                 {percentile(ours, share) / percentile(write, share)});
  }
}

/// 8 processes with 32 waiters each, on one key that is held all the time.
void waiting(const std::string& url, const std::string& more) {
  const shared_board shared;
  double rate = 0;
  // The holder is a process of its own: SQLite's locks do not survive a fork.
  in_processes(1, *shared, 0ms, [&](int) {
    dlock::lock_service locks{url};
    const auto held = locks.acquire("held", {.ttl = 1h, .renewal = dlock::renewal::none});
    ::_exit(0);  // it stays held until its expiry
  });
  shared->over = false;
  in_waiting_processes(8, *shared, url + more, [&] {
    std::this_thread::sleep_for(5s);
    const std::size_t before = shared->sent;
    std::this_thread::sleep_for(20s);
    rate = static_cast<double>(shared->sent - before) / 20;
  });
  fmt::print("256 waiters in 8 processes on one held key of SQLite{}: {:.1f} statements/s\n", more, rate);
  figures::add("statements per second of 256 waiters in 8 processes on one held key of SQLite" + more, "1/s", {rate});
}

}  // namespace

int main() {
  for (const std::string more : {"", "?wake=off"}) {
    const sqlite_file file;
    if (more.empty()) hand_over(file.path);
    const auto url = "sqlite:" + file.path;
    waiting(url, more);
  }
  return figures::exit_code();
}
