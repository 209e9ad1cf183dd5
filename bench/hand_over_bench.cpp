// SPDX-License-Identifier: BSL-1.0
// A lock that goes from one process, or thread, to another that waits for it: how long that takes, beside the least
// that it can take with these means (a hand-over of GET_LOCK, and two durable updates); what those send who wait; and
// processes that wait for each other.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "by_hand.hpp"
#include "cycles.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"
#include "hand_over.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock::bench;

struct database {
  std::string name;  ///< in figures; empty: the first one's
  dlock::store_url at;
  const char* socket = "DLOCK_TEST_MYSQL_SOCKET";

  std::string url(const std::string& more = {}) const { return dlock::bench::by_socket(at, socket) + more; }
  raw_database raw() const { return raw_database(at, socket); }
};

/// Two statements, of which the first waits.
class waiting_statements : raw_database {
 public:
  waiting_statements(const database& on, const std::string& before, std::string take, std::string release)
      : raw_database(on.at, on.socket), take_(std::move(take)), release_(std::move(release)) {
    run(before);
  }
  void take() { one(take_); }
  void release() { run(release_); }

 private:
  const std::string take_, release_;
};

std::vector<double> by_get_lock(const database& on, std::chrono::milliseconds hold, std::chrono::milliseconds time) {
  return by_hands(hold, time, [&](int) {
    return std::make_unique<waiting_statements>(on, "do 0", "select get_lock('hand-over', 30)",
                                                "do release_lock('hand-over')");
  });
}

/// A row whose update is durable when it returns.
class durable_row {
 public:
  explicit durable_row(const database& on) : raw_(on.raw()) {
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
std::vector<double> durable_updates(const database& on, std::chrono::milliseconds pause, int times) {
  durable_row row(on);
  std::vector<double> each;
  for (int i = 0; i != times; ++i) {
    std::this_thread::sleep_for(pause);
    each.push_back(dlock::bench::time_us(1, [&] { row.update(); }));
  }
  return each;
}

void hand_over(const database& on) {
  const auto url = on.url();
  std::vector<double> ours, several, off, get_lock, update;
  for (int round = 0; round != 3; ++round) {
    append(ours, by_dlock(url, long_hold, 8s));
    append(several, of_several_keys(url, 4s));
    append(get_lock, by_get_lock(on, 20ms, 2s));
    append(update, durable_updates(on, long_hold, 40));
    append(off, by_dlock(url + "&wake=off", long_hold, 4s));
  }
  const auto floor = [&](double share) { return percentile(get_lock, share) + 2 * percentile(update, share); };
  for (const double share : {0.5, 0.99}) {
    const auto name = fmt::format("p{:g}", 100 * share);
    fmt::print(
        "hand-over{} {}: dlock {:7.0f} us ({} times), of three keys {:7.0f} us   wake=off {:7.0f} us   GET_LOCK "
        "{:5.0f} "
        "us + 2 updates of {:5.0f} "
        "us   of that sum {:.2f}\n",
        on.name, name, percentile(ours, share), ours.size(), percentile(several, share), percentile(off, share),
        percentile(get_lock, share), percentile(update, share), percentile(ours, share) / floor(share));
    figures::add("hand-over between two processes" + on.name + ", " + name + ", of GET_LOCK and two durable updates",
                 "ratio", {percentile(ours, share) / floor(share)});
  }
}

/// Locks that a connection has, beside the same statements.
void hand_over_by_connections(const database& on) {
  auto tables = on.raw();
  tables.run("drop table if exists bench_rows");
  tables.run(
      "create table bench_rows (id bigint not null auto_increment primary key, resource varchar(64) not null unique) "
      "engine=InnoDB charset=utf8mb4");
  tables.run("insert into bench_rows (resource) values ('hand-over')");
  std::vector<double> named, get_lock, row, for_update;
  for (int round = 0; round != 3; ++round) {
    append(named, by_dlock(on.url("&scheme=named_lock"), long_hold, 8s));
    append(get_lock, by_get_lock(on, long_hold, 8s));
    append(row, by_dlock(on.url("&scheme=for_update&table=bench_rows"), long_hold, 8s));
    append(for_update, by_hands(long_hold, 8s, [&](int) {
             return std::make_unique<waiting_statements>(
                 on, "set autocommit = 0", "select id from bench_rows where resource = 'hand-over' for update",
                 "commit");
           }));
  }
  compare_hand_overs("named_lock" + on.name, named, get_lock);
  compare_hand_overs("for_update" + on.name, row, for_update);
  tables.run("drop table bench_rows");
}

/// Threads of one process that want the same key all the time, beside one connection that only writes.
void hand_over_in_a_process(const database& on, int threads) {
  dlock::lock_service locks{on.url()};
  durable_row row(on);
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
void waiting(const database& on, const std::string& more) {
  const auto url = on.url(more);
  const shared_board shared;
  dlock::lock_service holder{url};
  const auto held = holder.acquire("held");
  double rate = 0;
  auto raw = on.raw();
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
  const database first{"", dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"))};
  std::vector<database> all{first};
  if (const char* const mysql9 = std::getenv("DLOCK_TEST_MYSQL9_OWNER_URL"))
    all.push_back({" on MySQL 9", dlock::store_url::parse(mysql9), "DLOCK_TEST_MYSQL9_SOCKET"});
  for (const auto& on : all) {
    { dlock::lock_service makes_the_tables{on.url()}; }
    hand_over(on);
    hand_over_by_connections(on);
  }
  for (const int threads : {2, 8, 64}) hand_over_in_a_process(first, threads);
  waiting(first, "");
  waiting(first, "&wake=off");
  cycles(first.url(), "");
  no_cycles(first.url(), "");
  return figures::exit_code();
}
