// SPDX-License-Identifier: BSL-1.0
// Rows locked in place beside ODB code by hand that does the same steps; what verify, claims and several keys cost; how
// soon "busy" comes while a verified transaction is open. On the private MariaDB; statements are counted at the server.
#include <dlock/detail/odb_compat.hpp>  // before ODB's own headers
//
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <odb/mysql/connection-factory.hxx>
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/transaction.hxx>
#include <stdexcept>
#include <string>
#include <vector>

#include "dlock/dlock.hpp"
#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/verify.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "harness.hpp"
#include "odb_entities-odb.hxx"

namespace {

using dlock::bench::by_hand;
using dlock::bench::need_env;
using dlock::bench::ours;

constexpr int rows = 200;

std::unique_ptr<odb::mysql::database> connect(const dlock::store_url& at) {
  auto made = std::make_unique<odb::mysql::database>(
      at.user, at.password, at.path, "", 0, need_env("DLOCK_TEST_MYSQL_SOCKET"), "utf8mb4", 0,
      std::unique_ptr<odb::mysql::connection_factory>(new odb::mysql::connection_pool_factory(0, 0, false)));
  return made;
}

void make_tables(odb::database& db) {
  odb::transaction t(db.begin());
  odb::schema_catalog::create_schema(db);
  for (int i = 1; i <= rows; ++i) {
    ours one;
    one.id = i;
    one.status = "paid";
    db.persist(one);
    by_hand other;
    other.id = i;
    other.status = "paid";
    db.persist(other);
  }
  t.commit();
}

void drop_tables(odb::database& db) {
  odb::transaction t(db.begin());
  for (const char* table : {"bench_ours", "bench_by_hand"}) db.execute(std::string("DROP TABLE IF EXISTS ") + table);
  t.commit();
}

/// Statements from clients since the server's start, by everybody.
class statement_counter {
 public:
  explicit statement_counter(odb::mysql::database& db) : on_(db.connection()) {}
  /// One statement itself.
  unsigned long long now() {
    auto* const my = static_cast<odb::mysql::connection&>(*on_).handle();
    if (mysql_query(my, "SHOW GLOBAL STATUS LIKE 'Questions'") != 0) throw std::runtime_error(mysql_error(my));
    MYSQL_RES* const result = mysql_store_result(my);
    const auto value = std::strtoull(mysql_fetch_row(result)[1], nullptr, 10);
    mysql_free_result(result);
    return value;
  }
  template <class Work>
  void report(const char* what, int times, const Work& work) {
    const auto before = now();
    for (int i = 0; i < times; ++i) work();
    fmt::print("statements at the server per {}: {:.3f}\n", what, static_cast<double>(now() - before - 1) / times);
    std::fflush(stdout);
  }

 private:
  odb::connection_ptr on_;
};

constexpr const char* us = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

/// What somebody would write who locks a row through ODB: the same steps, each in ODB's own way.
class hand {
 public:
  explicit hand(odb::database& db) : db_(db) {}
  void lock_and_commit(std::int64_t id) {
    const auto owner = fmt::format("0123456789abcdef0123456789abcdef/{:016x}", ++nonce_);
    {
      odb::transaction t(db_.begin());
      const auto taken = db_.execute(
          fmt::format("UPDATE bench_by_hand SET lock_owner='{}', lock_fence=lock_fence+1, version=version+1,"
                      " lock_expires_at_us=NULL WHERE id={} AND (lock_owner IS NULL OR lock_expires_at_us<={})",
                      owner, id, us));
      if (taken != 1) throw std::runtime_error("busy");
      t.commit();
    }
    std::unique_ptr<by_hand> row;
    {
      odb::transaction t(db_.begin());
      row.reset(db_.load<by_hand>(id));
      t.commit();
    }
    row->status = row->status == "paid" ? "shipped" : "paid";
    {
      odb::transaction t(db_.begin());
      db_.update(*row);
      const auto freed = db_.execute(fmt::format(
          "UPDATE bench_by_hand SET lock_owner=NULL, lock_expires_at_us=NULL WHERE id={} AND lock_owner='{}' AND "
          "lock_fence={}",
          id, owner, row->lock_fence));
      if (freed != 1) throw std::runtime_error("lost");
      t.commit();
    }
  }

 private:
  odb::database& db_;
  std::uint64_t nonce_ = 0;
};

void lock_and_commit(dlock::lock_service& locks, odb::database& db, std::int64_t id) {
  auto row = dlock::lock_row<ours>(locks, db, id);
  row->status = row->status == "paid" ? "shipped" : "paid";
  row.commit();
}

void rows_in_place(dlock::lock_service& locks, odb::database& db, statement_counter& count) {
  hand raw(db);
  dlock::bench::compare(
      "MariaDB: lock_row + commit, beside ODB by hand", 41, 60, [&] { raw.lock_and_commit(7); },
      [&] { lock_and_commit(locks, db, 7); }, {.at_least = 0.85});
  count.report("lock_row + commit (dlock)", 200, [&] { lock_and_commit(locks, db, 7); });
  count.report("lock_row + commit (by hand)", 200, [&] { raw.lock_and_commit(7); });
}

void claims(dlock::lock_service& locks, odb::database& db, statement_counter& count) {
  std::vector<dlock::locked_row<ours>> held;
  using query = odb::query<ours>;
  count.report("claim of 100 rows, with BEGIN and COMMIT", 1,
               [&] { held = dlock::claim<ours>(locks, db, query::id <= 100, 100); });
  fmt::print("rows claimed: {}\n", held.size());
}

void several_keys(dlock::lock_service& locks, statement_counter& count) {
  std::vector<dlock::lock_key> names;
  for (int i = 0; i < 8; ++i) names.emplace_back(fmt::format("several:{}", i));
  const dlock::lock_keys keys(names);
  { const auto make_rows = locks.acquire_all(keys); }
  dlock::multi_lease held;
  count.report("acquire of 8 keys", 1, [&] { held = locks.acquire_all(keys); });
  count.report("release of 8 keys", 1, [&] { held.release(); });
}

void verifying(dlock::lock_service& locks, odb::database& db, statement_counter& count) {
  const auto held = locks.acquire("verified");
  odb::transaction t(db.begin());
  held.verify(t);
  count.report("verify", 100, [&] { held.verify(t); });
  t.commit();
}

void percentiles(const char* what, std::vector<double> us_each) {
  std::sort(us_each.begin(), us_each.end());
  const auto at = [&](double part) {
    return us_each[static_cast<std::size_t>(part * static_cast<double>(us_each.size() - 1))] / 1000;
  };
  fmt::print("{}: p50 {:.3f} ms, p99 {:.3f} ms, longest {:.3f} ms\n", what, at(0.5), at(0.99), at(1.0));
}

/// Threads that commit verified transactions: their leases end inside, and are freed after the outcome, in the
/// background. What is left to be freed when they stop must not be more than a moment's work.
void verified_transactions(const std::string& url, const dlock::store_url& at) {
  using namespace std::chrono_literals;
  dlock::lock_service locks{url};
  constexpr int threads = 32;
  std::vector<std::unique_ptr<odb::mysql::database>> databases;
  for (int i = 0; i < threads; ++i) databases.push_back(connect(at));
  const auto done = dlock::bench::per_second(threads, 3s, [&](int i) {
    auto held = locks.acquire(fmt::format("wallet:{}", i));
    odb::transaction t(databases[static_cast<std::size_t>(i)]->begin());
    dlock::verify(t, held);
    held.release();
    t.commit();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto left = locks.held_keys().size();
  while (!locks.held_keys().empty()) std::this_thread::sleep_for(1ms);
  const auto drained = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} threads commit verified transactions: {:.0f}/s; {} keys left at the end, free after {:.1f} ms\n",
             threads, done, left, drained);
  dlock::bench::figures::add("32 threads with verified transactions: the backlog of releases", "ms", {drained},
                             {.at_most = 1000});
}

void busy_while_verified(dlock::lock_service& holder, dlock::lock_service& others, odb::database& db) {
  const auto key = holder.acquire("stopped");
  auto row = dlock::lock_row<ours>(holder, db, 150);
  odb::transaction t(db.begin());
  dlock::verify(t, key, row.held());
  odb::transaction::reset_current();  // the others below are other threads' and processes' calls
  constexpr int times = 1'000;
  std::vector<double> keys, in_place;
  for (int i = 0; i < times; ++i) {
    keys.push_back(dlock::bench::time_us(1, [&] {
      if (const auto held = others.try_acquire("stopped")) throw std::runtime_error("two holders");
    }));
    in_place.push_back(dlock::bench::time_us(1, [&] {
      if (const auto held = dlock::try_lock_row<ours>(others, db, 150)) throw std::runtime_error("two holders");
    }));
  }
  percentiles("try_acquire, the holder has a verified transaction open", keys);
  percentiles("try_lock_row, the same", in_place);
  odb::transaction::current(t);
  t.commit();
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  const std::string url = dlock::bench::by_socket(at);
  const auto db = connect(at);
  drop_tables(*db);
  make_tables(*db);
  {
    // Long ttl: no renewal in the counts.
    const dlock::service_options slow{.defaults = {.ttl = std::chrono::hours{1}}};
    dlock::lock_service locks{url, slow};
    dlock::lock_service others{url, slow};
    statement_counter count(*db);
    rows_in_place(locks, *db, count);
    claims(locks, *db, count);
    several_keys(locks, count);
    verifying(locks, *db, count);
    busy_while_verified(locks, others, *db);
  }
  verified_transactions(url, at);
  drop_tables(*db);
  return dlock::bench::figures::exit_code();
}
