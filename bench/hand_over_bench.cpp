// SPDX-License-Identifier: BSL-1.0
// A lock that goes from one process to another that waits for it: how long that takes, beside the least that it can
// take with these means (a hand-over of GET_LOCK, and two durable updates); and what those send who wait.
#include <chrono>
#include <string>
#include <vector>

#include "by_hand.hpp"
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
  for (int round = 0; round != 3; ++round) {
    append(ours, by_dlock(url, long_hold, 8s));
    append(get_lock, by_get_lock(at, 20ms, 2s));
    append(update, durable_updates(at, 200));
    append(off, by_dlock(url + "&wake=off", long_hold, 4s));
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
  in_waiting_processes(8, *shared, url, [&] {
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
