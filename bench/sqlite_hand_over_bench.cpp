// SPDX-License-Identifier: BSL-1.0
// A lock in an SQLite file that goes from one process to another that waits for it, beside the least that it can take
// (two durable writes, and a pipe that wakes) and one durable write; what those send who wait; and processes that wait
// for each other.
#include <sqlite3.h>
#include <unistd.h>

#include <stdexcept>

#include "cycles.hpp"
#include "hand_over.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock::bench;

/// What a hand-over consists of at the least: each of two processes, woken by the other one, makes the row its own by a
/// durable write, and gives it back by another one.
class raw_row {
 public:
  explicit raw_row(const std::string& path) {
    check(::sqlite3_open(path.c_str(), &db_));
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=5000");
  }
  ~raw_row() {
    ::sqlite3_finalize(set_);
    ::sqlite3_close(db_);
  }
  raw_row(const raw_row&) = delete;
  raw_row& operator=(const raw_row&) = delete;

  void make() {
    run("CREATE TABLE IF NOT EXISTS bench_row (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL)");
    run("REPLACE INTO bench_row VALUES (1, 0)");
  }
  /// Microseconds.
  double set_owner(int owner) {
    if (set_ == nullptr)
      check(::sqlite3_prepare_v2(db_, "UPDATE bench_row SET owner = ? WHERE id = 1", -1, &set_, nullptr));
    ::sqlite3_bind_int(set_, 1, owner);
    return time_us(1, [&] {
      if (::sqlite3_step(set_) != SQLITE_DONE) throw std::runtime_error(::sqlite3_errmsg(db_));
      ::sqlite3_reset(set_);
    });
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(::sqlite3_errmsg(db_));
  }
  void run(const char* sql) { check(::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* set_ = nullptr;
};

struct by_hand {
  std::vector<double> hand_overs{};
  std::vector<double> writes{};
};

/// As by_dlock(), with a pipe for each process through which the other one wakes it. The writes have the same pauses
/// before them as dlock's have: a disk that was idle is slower than a busy one.
by_hand by_pipe(const std::string& path, std::chrono::milliseconds hold, std::chrono::milliseconds time) {
  const shared_board shared, writes;
  int pipes[2][2];
  for (auto& each : pipes) {
    if (::pipe(each) != 0) throw std::runtime_error("no pipe");
  }
  const auto tell = [&pipes](int who) {
    if (::write(pipes[who][1], "x", 1) != 1) throw std::runtime_error("can't write to the pipe");
  };
  // By a process of its own: SQLite's locks do not survive a fork.
  writes->over = true;
  in_processes(1, *writes, 0ms, [&](int) { raw_row(path).make(); });
  tell(0);
  in_processes(2, *shared, time, [&](int me) {
    raw_row row(path);
    const auto write = [&](int owner) {
      const auto took = row.set_owner(owner);
      if (const auto place = writes->count++; place < most) writes->took[place] = took;
    };
    for (char turn = 0; ::read(pipes[me][0], &turn, 1) == 1 && !shared->over;) {
      write(me + 1);
      note_taken(*shared, me);
      std::this_thread::sleep_for(hold);
      note_release(*shared, me);
      write(0);
      tell(1 - me);
    }
    tell(1 - me);  // so that it ends as well
  });
  for (auto& each : pipes) {
    for (const int end : each) ::close(end);
  }
  return {took(*shared), took(*writes)};
}

void hand_over(const std::string& path) {
  const auto url = "sqlite:" + path;
  std::vector<double> ours, several, off, hand, write;
  for (int round = 0; round != 6; ++round) {
    append(ours, by_dlock(url, long_hold, 4s));
    append(several, of_several_keys(url, 2s));
    auto raw = by_pipe(path, long_hold, 4s);
    append(hand, raw.hand_overs);
    append(write, raw.writes);
    append(off, by_dlock(url + "?wake=off", long_hold, 2s));
  }
  for (const double share : {0.5, 0.99}) {
    const auto name = fmt::format("p{:g}", 100 * share);
    const auto mine = percentile(ours, share), one = percentile(write, share), raw = percentile(hand, share);
    fmt::print(
        "hand-over on SQLite {}: dlock {:7.0f} us ({} times), of three keys {:7.0f} us   wake=off {:7.0f} us   by hand "
        "{:7.0f} us   durable "
        "write {:5.0f} us   dlock / write {:.2f}   dlock / by hand {:.2f}\n",
        name, mine, ours.size(), percentile(several, share), percentile(off, share), raw, one, mine / one, mine / raw);
    figures::add("hand-over between two processes on SQLite, " + name + ", of one durable write", "ratio",
                 {mine / one});
    figures::add("hand-over between two processes on SQLite, " + name + ", of two durable writes and a pipe", "ratio",
                 {mine / raw});
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
  in_waiting_processes(8, *shared, url + more, "held", [&] {
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
  const sqlite_file file;  // opened here, so no process is forked after this
  cycles("sqlite:" + file.path, " on SQLite");
  no_cycles("sqlite:" + file.path, " on SQLite");
  return figures::exit_code();
}
