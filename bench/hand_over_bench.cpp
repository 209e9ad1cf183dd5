// SPDX-License-Identifier: BSL-1.0
// A lock that goes from one process to another that waits for it: how long that takes, beside the least that it can
// take with these means (a hand-over of GET_LOCK, and two durable updates); and what those send who wait.
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "by_hand.hpp"
#include "dlock/dlock.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"

namespace {

using namespace std::chrono_literals;
using dlock::bench::by_hand;
using dlock::bench::figures;
using dlock::bench::median;
using dlock::bench::need_env;
using dlock::bench::raw_database;

constexpr std::size_t most = 4096;

/// What the processes share.
struct board {
  std::atomic<double> released_at{0};  ///< in microseconds, just before the call
  std::atomic<int> released_by{-1};
  std::atomic<std::size_t> count{0};
  std::atomic<bool> over{false};
  double took[most];
};

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class shared_board {
 public:
  shared_board()
      : at_(::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        board_(new (at_) board) {}
  ~shared_board() { ::munmap(at_, sizeof(board)); }
  shared_board(const shared_board&) = delete;
  shared_board& operator=(const shared_board&) = delete;
  board* operator->() const { return board_; }
  board& operator*() const { return *board_; }

 private:
  void* at_;
  board* board_;
};

/// Runs `work(number)` in so many processes until `time` is over.
void in_processes(int count, board& shared, std::chrono::milliseconds time, const std::function<void(int)>& work,
                  const std::function<void()>& meanwhile = {}) {
  std::vector<pid_t> all;
  for (int i = 0; i != count; ++i) {
    const auto child = ::fork();
    if (child == 0) {
      try {
        work(i);
      } catch (const std::exception& e) {
        fmt::print(stderr, "hand-over: {}\n", e.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    all.push_back(child);
  }
  if (meanwhile) {
    meanwhile();
  } else {
    std::this_thread::sleep_for(time);
  }
  shared.over = true;
  for (const auto child : all) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) std::exit(1);
  }
}

void note_taken(board& shared, int me) {
  const auto at = now_us();
  if (const int by = shared.released_by; by < 0 || by == me) return;
  if (const auto place = shared.count++; place < most) shared.took[place] = at - shared.released_at;
}

void note_release(board& shared, int me) {
  shared.released_by = me;
  shared.released_at = now_us();
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

std::vector<double> took(const board& shared) {
  return {shared.took, shared.took + std::min<std::size_t>(shared.count, most)};
}

/// Each of two holds it in turn for `hold`.
std::vector<double> by_dlock(const std::string& url, std::chrono::milliseconds hold, std::chrono::milliseconds time) {
  const shared_board shared;
  in_processes(2, *shared, time, [&](int me) {
    dlock::lock_service locks{url};
    while (!shared->over) {
      auto held = locks.acquire("hand-over", {.wait = 30s});
      note_taken(*shared, me);
      std::this_thread::sleep_for(hold);
      note_release(*shared, me);
      held.release();
    }
  });
  return took(*shared);
}

std::vector<double> by_get_lock(const dlock::store_url& at, std::chrono::milliseconds hold,
                                std::chrono::milliseconds time) {
  const shared_board shared;
  in_processes(2, *shared, time, [&](int me) {
    raw_database raw(at);
    while (!shared->over) {
      raw.one("select get_lock('hand-over', 30)");
      note_taken(*shared, me);
      std::this_thread::sleep_for(hold);
      note_release(*shared, me);
      raw.one("select release_lock('hand-over')");
      std::this_thread::sleep_for(1ms);  // the other one has it now
    }
  });
  return took(*shared);
}

std::vector<double> durable_updates(const dlock::store_url& at, int times) {
  raw_database raw(at);
  raw.run("create table if not exists bench_update (id int primary key, n int not null) engine=InnoDB");
  raw.run("replace into bench_update values (1, 0)");
  std::vector<double> each;
  for (int i = 0; i != times; ++i) {
    each.push_back(dlock::bench::time_us(1, [&] { raw.run("update bench_update set n = n + 1 where id = 1"); }));
  }
  raw.run("drop table bench_update");
  return each;
}

void hand_over(const dlock::store_url& at) {
  const auto url = dlock::bench::by_socket(at);
  std::vector<double> ours, off, get_lock, update;
  const auto add = [](std::vector<double>& to, const std::vector<double>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  // Long enough that whoever waits sleeps at the server, also on a slow disk.
  constexpr auto hold = 300ms;
  for (int round = 0; round != 3; ++round) {
    add(ours, by_dlock(url, hold, 8s));
    add(get_lock, by_get_lock(at, 20ms, 2s));
    add(update, durable_updates(at, 200));
    add(off, by_dlock(url + "&wake=off", hold, 4s));
  }
  const auto floor = [&](double share) { return percentile(get_lock, share) + 2 * percentile(update, share); };
  for (const double share : {0.5, 0.99}) {
    const auto name = fmt::format("p{:g}", 100 * share);
    fmt::print(
        "hand-over {}: dlock {:7.0f} us ({} times)   wake=off {:7.0f} us   GET_LOCK {:5.0f} us + 2 updates of {:5.0f} "
        "us   of that sum {:.2f}\n",
        name, percentile(ours, share), ours.size(), percentile(off, share), percentile(get_lock, share),
        percentile(update, share), percentile(ours, share) / floor(share));
    figures::add("hand-over between two processes, " + name + ", of GET_LOCK and two durable updates", "ratio",
                 {percentile(ours, share) / floor(share)});
  }
}

/// 8 processes with 32 waiters each, on one key that is held all the time.
void waiting(const dlock::store_url& at, const std::string& more) {
  const auto url = dlock::bench::by_socket(at) + more;
  const shared_board shared;
  dlock::lock_service holder{url};
  const auto held = holder.acquire("held");
  double rate = 0;
  raw_database raw(at);
  in_processes(
      8, *shared, 0ms,
      [&](int) {
        dlock::lock_service locks{url};
        std::stop_source stop;
        std::vector<std::thread> all;
        for (int i = 0; i != 32; ++i) {
          all.emplace_back([&] {
            try {
              const auto lease = locks.acquire("held", {.wait = 10min, .cancel = stop.get_token()});
            } catch (const dlock::lock_refused&) {
              // it is over
            }
          });
        }
        while (!shared->over) std::this_thread::sleep_for(10ms);
        stop.request_stop();
        for (auto& each : all) each.join();
      },
      [&] {
        const auto sent = [&] { return std::stod(raw.status("Questions")); };
        std::this_thread::sleep_for(5s);
        const auto before = sent();
        std::this_thread::sleep_for(20s);
        rate = (sent() - before - 1) / 20;
      });
  fmt::print("256 waiters in 8 processes on one held key{}: {:.1f} statements/s\n", more, rate);
  figures::add("statements per second of 256 waiters in 8 processes on one held key" + more, "1/s", {rate});
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  { dlock::lock_service makes_the_tables{dlock::bench::by_socket(at)}; }
  hand_over(at);
  waiting(at, "");
  waiting(at, "&wake=off");
  return figures::exit_code();
}
