// SPDX-License-Identifier: BSL-1.0
// A table of orders is the work queue of several processes. Each claims some, ships them one by one, and takes more.
// One process dies in the midst of it; the others do what it had claimed.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/odb/claim.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/odb/lock_row.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "entities-odb.hxx"
#include "entities.hpp"
#include "support/command_line.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
using query = odb::query<order>;

struct settings {
  std::string url = "sqlite:locks.db";
  int orders = 30;
  int worker = 0;   // which one this process is; 0: the one that starts the others
  int stop_at = 0;  // the order in the midst of which this worker is stopped, counted from 1; 0: none
};

/// The parcels that left the house, one line each: "order worker". Nothing keeps two from leaving for one order.
constexpr const char* parcels = "parcels.txt";

void send_parcel(std::int32_t order, int worker) {
  std::ofstream out(parcels, std::ios::app);
  if (!(out << fmt::format("{} {}\n", order, worker) << std::flush)) {
    throw std::runtime_error("cannot write parcels.txt");
  }
}

// [row_lock]
/// One order, by its id. False: it has been shipped.
bool cancel(dlock::lock_service& locks, odb::database& db, std::int32_t id) {
  auto row = dlock::lock_row<order>(locks, db, id, {.ttl = 5s, .wait = 20s});  // waits, locks, loads
  if (row->status != "paid") return false;
  row->status = "cancelled";
  row.commit();  // writes and unlocks in one transaction, if the row is still ours
  return true;
}

/// As many as are free, up to five. None: others have those that are left.
int ship_some(dlock::lock_service& locks, odb::database& db, const settings& s, int done) {
  auto claimed = dlock::claim<order>(locks, db, (query::status == "paid") + "ORDER BY" + query::id, 5, {.ttl = 2s});
  if (claimed.empty()) return 0;
  std::string ids;
  for (const auto& row : claimed) ids += fmt::format(" {}", row->id);
  fmt::print("worker {} has claimed{}\n", s.worker, ids);
  int shipped = 0;
  for (auto& row : claimed) {
    std::this_thread::sleep_for(5ms);  // packs it
    if (done + shipped + 1 == s.stop_at) support::stop_here();
    const auto id = row->id;
    row->status = "shipped";
    row->shipped_by = s.worker;
    row.commit();  // lock_lost: it was somebody else's by then, and nothing is written
    send_parcel(id, s.worker);
    ++shipped;
  }
  return shipped;
}
// [/row_lock]

bool any_left(odb::database& db) {
  odb::transaction t(db.begin());
  const auto found = db.query<order>(query::status == "paid");
  const bool any = !found.empty();
  t.commit();
  return any;
}

void work(const settings& s) {
  dlock::lock_service locks{s.url, {.label = fmt::format("worker {}", s.worker)}};
  const auto db = dlock::open_database(s.url);
  int done = 0;
  while (any_left(*db)) {
    try {
      const int shipped = ship_some(locks, *db, s, done);
      done += shipped;
      if (shipped == 0) std::this_thread::sleep_for(50ms);
    } catch (const dlock::lock_lost& lost) {  // this process was not served for seconds
      fmt::print("worker {} gives its orders back: {}\n", s.worker, lost.what());
    }
  }
}

support::process start(int worker, int stop_at) {
  return support::process({"--worker", std::to_string(worker), "--stop-at", std::to_string(stop_at)});
}

void take_orders(odb::database& db, int count) {
  support::make_tables(db);
  odb::transaction t(dlock::begin_write(db));
  for (int i = 1; i <= count; ++i) {
    order placed;
    placed.id = i;
    placed.customer = fmt::format("customer {}", i);
    db.persist(placed);
  }
  t.commit();
}

bool audit(odb::database& db) {
  std::map<std::int32_t, std::vector<int>> sent;
  std::ifstream in(parcels);
  for (std::int32_t id = 0, worker = 0; in >> id >> worker;) sent[id].push_back(worker);
  odb::transaction t(db.begin());
  std::map<int, int> by_worker;
  int cancelled = 0;
  int wrong = 0;
  for (const order& each : db.query<order>()) {
    const auto& its = sent[each.id];
    const bool shipped = each.status == "shipped" && its == std::vector<int>{each.shipped_by};
    const bool without = each.status == "cancelled" && its.empty();
    if (!shipped && !without) {
      fmt::print("order {}: {}, {} parcels\n", each.id, each.status, its.size());
      ++wrong;
    }
    cancelled += without ? 1 : 0;
    if (shipped) ++by_worker[each.shipped_by];
  }
  t.commit();
  int shipped = 0;
  for (const auto& [worker, count] : by_worker) {
    fmt::print("worker {} shipped {}\n", worker, count);
    shipped += count;
  }
  fmt::print("{} shipped, {} cancelled: {}\n", shipped, cancelled, wrong == 0 ? "each order once" : "WRONG");
  return wrong == 0;
}

bool run(const settings& s) {
  const auto db = dlock::open_database(s.url);
  take_orders(*db, s.orders);
  std::filesystem::remove(parcels);
  fmt::print("{} orders, 4 workers; they are locked in their own rows, in {}\n", s.orders,
             dlock::store_url::parse(s.url).redacted());
  auto victim = start(1, 3);
  victim.wait_until_stopped();
  victim.kill();
  fmt::print("worker 1 was killed -9 in the midst of its third order\n");
  std::vector<support::process> workers;
  for (int i = 2; i <= 4; ++i) workers.push_back(start(i, 0));
  {
    dlock::lock_service locks{s.url, {.label = "office"}};
    fmt::print("cancelling order {}: {}\n", s.orders, cancel(locks, *db, s.orders) ? "done" : "too late");
  }
  bool all_well = true;
  for (auto& each : workers) all_well = each.wait() == 0 && all_well;
  return audit(*db) && all_well;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Orders that are locked in their own rows"};
  settings s;
  options.database(s.url, support::locks_and_data);
  options.number("--orders", s.orders, 5, 100'000);
  options.hidden("--worker", s.worker);  // the program starts itself with these two
  options.hidden("--stop-at", s.stop_at);
  return support::run_process(
      options, argc, argv, s.url, s.worker, [&] { return run(s); }, [&] { work(s); });
}
