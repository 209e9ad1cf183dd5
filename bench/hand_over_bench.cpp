// SPDX-License-Identifier: BSL-1.0
// A lock that goes from one process, or thread, to another that waits for it: how long that takes, beside the least
// that it can take with these means (a hand-over of GET_LOCK, and two durable updates); what those send who wait; and
// processes that wait for each other.
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "by_hand.hpp"
#include "cycles.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"
#include "hand_over.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock::bench;

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

/// A row whose update is durable when it returns.
class durable_row {
 public:
  explicit durable_row(const dlock::store_url& at) : raw_(at) {
    raw_.run("create table if not exists bench_update (id int primary key, n int not null) engine=InnoDB");
    raw_.run("replace into bench_update values (1, 0)");
  }
  ~durable_row() {
    try {
      raw_.run("drop table bench_update");
    } catch (const std::exception&) {
      // the next one uses it
    }
  }
  durable_row(const durable_row&) = delete;
  durable_row& operator=(const durable_row&) = delete;
  void update() { raw_.run("update bench_update set n = n + 1 where id = 1"); }

 private:
  raw_database raw_;
};

/// Each after a pause, as those of a hand-over are: a disk that was idle is slower than a busy one.
std::vector<double> durable_updates(const dlock::store_url& at, std::chrono::milliseconds pause, int times) {
  durable_row row(at);
  std::vector<double> each;
  for (int i = 0; i != times; ++i) {
    std::this_thread::sleep_for(pause);
    each.push_back(dlock::bench::time_us(1, [&] { row.update(); }));
  }
  return each;
}

void hand_over(const dlock::store_url& at) {
  const auto url = dlock::bench::by_socket(at);
  std::vector<double> ours, several, off, get_lock, update;
  for (int round = 0; round != 3; ++round) {
    append(ours, by_dlock(url, long_hold, 8s));
    append(several, of_several_keys(url, 4s));
    append(get_lock, by_get_lock(at, 20ms, 2s));
    append(update, durable_updates(at, long_hold, 40));
    append(off, by_dlock(url + "&wake=off", long_hold, 4s));
  }
  const auto floor = [&](double share) { return percentile(get_lock, share) + 2 * percentile(update, share); };
  for (const double share : {0.5, 0.99}) {
    const auto name = fmt::format("p{:g}", 100 * share);
    fmt::print(
        "hand-over {}: dlock {:7.0f} us ({} times), of three keys {:7.0f} us   wake=off {:7.0f} us   GET_LOCK {:5.0f} "
        "us + 2 updates of {:5.0f} "
        "us   of that sum {:.2f}\n",
        name, percentile(ours, share), ours.size(), percentile(several, share), percentile(off, share),
        percentile(get_lock, share), percentile(update, share), percentile(ours, share) / floor(share));
    figures::add("hand-over between two processes, " + name + ", of GET_LOCK and two durable updates", "ratio",
                 {percentile(ours, share) / floor(share)});
  }
}

/// Threads of one process that want the same key all the time, beside one connection that only writes.
void hand_over_in_a_process(const dlock::store_url& at, int threads) {
  dlock::lock_service locks{dlock::bench::by_socket(at)};
  durable_row row(at);
  std::vector<double> ours, updates, ratios;
  for (int round = 0; round != 9; ++round) {
    updates.push_back(per_second(1, 400ms, [&](int) { row.update(); }));
    ours.push_back(
        per_second(threads, 400ms, [&](int) { const auto held = locks.acquire("hand-over", {.wait = 1min}); }));
    ratios.push_back(ours.back() / updates.back());
  }
  fmt::print("hand-over between {} threads: {:7.0f}/s   one connection's durable updates {:7.0f}/s   x {:.2f}\n",
             threads, median(ours), median(updates), median(ratios));
  figures::add(fmt::format("hand-over between {} threads of a process, of one connection's durable updates", threads),
               "ratio", ratios, {.at_least = 0.6});
}

/// 8 processes with 32 waiters each, on one key that is held all the time.
void waiting(const dlock::store_url& at, const std::string& more) {
  const auto url = dlock::bench::by_socket(at) + more;
  const shared_board shared;
  dlock::lock_service holder{url};
  const auto held = holder.acquire("held");
  double rate = 0;
  raw_database raw(at);
  in_waiting_processes(8, *shared, url, "held", [&] {
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
  for (const int threads : {2, 8, 64}) hand_over_in_a_process(at, threads);
  waiting(at, "");
  waiting(at, "&wake=off");
  cycles(dlock::bench::by_socket(at), "");
  no_cycles(dlock::bench::by_socket(at), "");
  return figures::exit_code();
}
