// SPDX-License-Identifier: BSL-1.0

/// Rows locked in place in an SQLite file, as the database and other programs see them. What is the same on every
/// database is in contract/row.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <odb/sqlite/database.hxx>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "odb/application.hpp"
#include "stores/sqlite/lease_table/connection.hpp"
#include "stores/sqlite/lock_rows.hpp"

using namespace dlock;
using namespace dlock::test;
using dlock::stores::sql::application_database;

namespace {

/// A file with the table `orders`, as an application without dlock would have made it, and `jobs`, which follows the
/// plain-SQL protocol.
class shop : public sqlite_file_fixture {
 public:
  shop() : sqlite_file_fixture("?busy_timeout=200") {
    raw_sqlite raw(path);
    raw.run("PRAGMA journal_mode = WAL");
    raw.run("CREATE TABLE orders(id INTEGER PRIMARY KEY, state TEXT, version INTEGER NOT NULL DEFAULT 0)");
    raw.run("INSERT INTO orders(id, state) VALUES(1, 'new'), (2, 'new'), (3, 'new')");
    raw.run(
        "CREATE TABLE jobs(name TEXT PRIMARY KEY, lock_owner VARCHAR(50) NOT NULL DEFAULT '', lock_expire_time "
        "TIMESTAMP "
        "NOT NULL DEFAULT '1970-01-01 00:00:00', version INTEGER NOT NULL DEFAULT 0)");
    raw.run("INSERT INTO jobs(name) VALUES('nightly')");
    store_ = open();
    orders = described({.table = "\"orders\"",
                        .owner = "\"lock_owner\"",
                        .expires_at = "\"lock_expires_at_us\"",
                        .fence = "\"lock_fence\"",
                        .version = "\"version\""});
    jobs = described({.table = "\"jobs\"",
                      .owner = "\"lock_owner\"",
                      .expires_at = "\"lock_expire_time\"",
                      .fence = "\"version\"",
                      .version = "\"version\"",
                      .renewal = row_renewal::column});
  }

  application_database& application() const { return *dlock::stores::sql::application_database_of(*store_); }
  /// Of ODB's connections.
  dlock::detail::odb_application by_odb() const { return dlock::detail::odb_application(application()); }
  lock_key order(std::int64_t id) const { return lock_key::of_row(orders, {id}); }
  lock_key nightly() const { return lock_key::of_row(jobs, {std::string("nightly")}); }

  std::shared_ptr<const row_table> orders{};
  std::shared_ptr<const row_table> jobs{};

 private:
  /// Adds the lock columns if they are missing.
  std::shared_ptr<const row_table> described(row_table table) {
    odb::sqlite::database database(path);
    const auto with = database.connection();
    fault why;
    if (by_odb().describe(*with, table, why) != outcome::yes) {
      raw_sqlite(path).run(application().add_columns(table));
      if (by_odb().describe(*with, table, why) != outcome::yes) throw std::runtime_error(why.text);
    }
    return std::make_shared<const row_table>(std::move(table));
  }

  std::shared_ptr<store> store_;
};

}  // namespace

// ---- the application's tables ----------------------------------------------------------------------------------

TEST_CASE_METHOD(shop, "sqlite rows: a table is described by its name, its columns are checked") {
  CHECK(orders->label == "orders");
  CHECK(orders->id == std::vector<std::string>{"\"id\""});
  CHECK_FALSE(orders->owner_not_null);
  CHECK(jobs->owner_not_null);

  raw_sqlite raw(path);
  raw.run("CREATE TABLE plain(id INTEGER PRIMARY KEY, v INTEGER)");
  raw.run("CREATE TABLE heap(o TEXT, e INTEGER, f INTEGER)");
  raw.run("CREATE TABLE \"the \"\"table\"(b TEXT, a INTEGER, O TEXT, e INTEGER, f INTEGER, PRIMARY KEY(a, b))");
  raw.run("CREATE TABLE numbers(id INTEGER PRIMARY KEY, o TEXT, e INTEGER NOT NULL, f INTEGER, i INTEGER)");
  odb::sqlite::database database(path);
  const auto with = database.connection();
  const auto refused = [&](row_table table) {
    fault why;
    CHECK(by_odb().describe(*with, table, why) == outcome::failed);
    return why.text;
  };
  CHECK_THAT(refused({.table = "\"nothing\""}), ContainsSubstring("table \"nothing\" does not exist"));
  CHECK_THAT(refused({.table = "plain", .owner = "o", .expires_at = "e", .fence = "f"}),
             ContainsSubstring("table plain has no column o"));
  CHECK_THAT(refused({.table = "heap", .owner = "o", .expires_at = "e", .fence = "f"}),
             ContainsSubstring("no primary key"));
  CHECK_THAT(refused({.table = "numbers", .owner = "o", .expires_at = "e", .fence = "f"}),
             ContainsSubstring("column e is NOT NULL"));
  CHECK_THAT(refused({.table = "numbers", .owner = "i", .expires_at = "e", .fence = "f"}),
             ContainsSubstring("column i is integer, not TEXT"));
  CHECK_THAT(refused({.table = "numbers", .owner = "o", .expires_at = "i", .fence = "f", .version = "v"}),
             ContainsSubstring("no column v"));
  // An integer would be less than any text, so such a row would look free for ever.
  CHECK_THAT(
      refused({.table = "numbers", .owner = "o", .expires_at = "i", .fence = "f", .renewal = row_renewal::column}),
      ContainsSubstring("holds text, 'YYYY-MM-DD HH:MM:SS' in UTC"));

  row_table table{.table = "\"main\".\"the \"\"table\"", .owner = "\"o\"", .expires_at = "\"e\"", .fence = "\"f\""};
  fault why;
  REQUIRE(by_odb().describe(*with, table, why) == outcome::yes);
  CHECK(table.id == std::vector<std::string>{"\"a\"", "\"b\""});  // in the key's order
  CHECK(table.label == "the \"table");
}

TEST_CASE_METHOD(shop, "sqlite rows: a connection shares the store if its main database is that file") {
  raw_sqlite(folder / "other.db").run("CREATE TABLE t(id INTEGER)");
  fault why;
  odb::sqlite::database same(path), other(folder / "other.db"), memory(":memory:");
  CHECK(by_odb().shares(*same.connection(), why) == outcome::yes);
  CHECK(by_odb().shares(*other.connection(), why) == outcome::no);
  CHECK(by_odb().shares(*memory.connection(), why) == outcome::no);
}

TEST_CASE_METHOD(shop, "sqlite rows: every statement about a row searches by its primary key") {
  raw_sqlite raw(path);
  raw.run("CREATE TABLE lines(region INTEGER, name TEXT, o TEXT, e INTEGER, f INTEGER, PRIMARY KEY(region, name))");
  const row_table lines{.table = "lines", .id = {"region", "name"}, .owner = "o", .expires_at = "e", .fence = "f"};
  const auto check = [&](const std::string& sql) {
    INFO(sql);
    const auto steps = raw.column("EXPLAIN QUERY PLAN " + sql, 3);
    REQUIRE_FALSE(steps.empty());
    for (const auto& step : steps) CHECK_THAT(*step, !StartsWith("SCAN"));
    CHECK_THAT(*steps.back(), StartsWith("SEARCH"));
  };
  const id128 session = id128::random();
  using namespace stores::sqlite::lease_table;
  const lease_file file(lease_settings::parse(store_url::parse("sqlite:" + path)), stores::sqlite::sqlite_host::here());
  for (const auto& [table, first, second] :
       {std::tuple{*orders, row_id{nullptr, {1}}, row_id{nullptr, {2}}},
        std::tuple{*jobs, row_id{nullptr, {std::string("a")}}, row_id{nullptr, {std::string("b'\0", 3)}}},
        std::tuple{lines, row_id{nullptr, {1, std::string("x")}}, row_id{nullptr, {2, std::string("y")}}}}) {
    using dlock::stores::sql::row_statement;
    for (std::size_t i = 0; i < dlock::stores::sql::row_statement_count; ++i) {
      const auto which = static_cast<row_statement>(i);
      if (which != row_statement::release_and_wake) check(file.row_sql.prepared(which, table).sql);  // MySQL's
    }
    const row_id* const rows[] = {&first, &second};
    check(application().claim({.table = table, .rows = rows, .session = session, .nonce = 1, .own_ttl = 9s}));
    row_id row{std::make_shared<const row_table>(table), second.values};
    const request grant{.session = session, .row = &row, .nonce = 1, .fence = 1};
    check(open()->transactions()->verification_of(grant).text);
    check(open()->transactions()->release_of(grant).text);
  }
}

TEST_CASE_METHOD(shop, "sqlite rows: a condition names thousands of rows, of composite ids too") {
  raw_sqlite raw(path);
  raw.run("CREATE TABLE lines(region INTEGER, name TEXT, PRIMARY KEY(region, name))");
  raw.run(
      "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
      " INSERT INTO lines SELECT i, 'n' || i FROM n");
  const row_table lines{.table = "lines", .id = {"region", "name"}};
  std::vector<row_id> ids;
  for (std::int64_t i = 1; i <= 4000; ++i) ids.push_back({nullptr, {i, "n" + std::to_string(i)}});
  std::vector<const row_id*> rows;
  for (const auto& id : ids) rows.push_back(&id);
  CHECK(raw.text("SELECT COUNT(*) FROM lines WHERE " + application().rows_by_id(lines, rows)) == "4000");
  const row_table numbers{.table = "lines", .id = {"region"}};
  CHECK(raw.text("SELECT COUNT(*) FROM lines WHERE " + application().rows_by_id(numbers, rows)) == "4000");
}

TEST_CASE_METHOD(shop, "sqlite rows: a shared expiry is text in UTC, rounded up, and a number is none") {
  actor ours(*this);
  raw_sqlite raw(path);
  const auto clock = [] {
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch());
  };
  const auto before = clock();
  ours.acquire(nightly(), 5500ms);
  const auto after = clock();
  CHECK(
      raw.text("SELECT typeof(lock_expire_time) || ' ' || (lock_expire_time = datetime(lock_expire_time)) FROM jobs") ==
      "text 1");
  const auto seconds =
      microseconds{std::stoll(raw.text("SELECT strftime('%s', lock_expire_time) FROM jobs")) * 1'000'000};
  CHECK(seconds >= before + 5500ms);
  CHECK(seconds < after + 6500ms);

  // Numbers are less than any text: nobody may take that for the past.
  raw.run("UPDATE jobs SET lock_owner = 'another program', lock_expire_time = 1700000000");
  CHECK(answer(ours.take(nightly(), 5s)) == outcome::no);
  const seen foreign = ours.at(nightly());
  CHECK_FALSE(foreign.expired);
  CHECK(foreign.who == "another program");
}

TEST_CASE_METHOD(shop, "sqlite rows: the pieces of a claim can stand in a statement about several tables") {
  raw_sqlite raw(path);
  raw.run("CREATE TABLE archive AS SELECT * FROM orders");
  const lock_key first = order(1);
  const row_id* const rows[] = {first.row()};
  for (const auto& condition : {application().free_rows(*orders), application().rows_by_id(*orders, rows)}) {
    INFO(condition);
    CHECK(raw.text("SELECT COUNT(*) > 0 FROM orders JOIN archive ON archive.id = orders.id WHERE " + condition) == "1");
  }
  CHECK(raw.text("SELECT COUNT(*) FROM orders, archive WHERE " + application().abandoned_rows(*orders)) == "0");
}

TEST_CASE_METHOD(shop, "sqlite rows: more tables than a connection keeps statements of") {
  actor actor(*this);
  raw_sqlite raw(path);
  std::vector<std::shared_ptr<const row_table>> tables;
  for (int i = 0; i < 40; ++i) {
    row_table table = *orders;
    table.table = fmt::format("\"t{}\"", i);
    table.label = fmt::format("t{}", i);
    raw.run(fmt::format("CREATE TABLE t{} AS SELECT * FROM orders", i));
    tables.push_back(std::make_shared<const row_table>(table));
  }
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (const auto& table : tables) {
      const auto row = lock_key::of_row(table, {1});
      CHECK(actor.acquire(row) == round);
      CHECK(answer(actor.cancel(row)) == outcome::yes);
    }
  }
  // A table of a later time at the address of an earlier one is another table.
  std::vector<std::weak_ptr<const row_table>> known(tables.begin(), tables.end());
  tables.clear();
  CHECK(std::count_if(known.begin(), known.end(), [](const auto& each) { return !each.expired(); }) == 16);
  CHECK(actor.acquire(lock_key::of_row(std::make_shared<const row_table>(*orders), {1})) == 1);
}

TEST_CASE_METHOD(shop, "sqlite rows: whatever another boot of the host left can be had") {
  actor kept(*this), own(*this), far(*this);
  kept.acquire(order(1));
  own.acquire(order(2), 40ms);
  far.acquire(order(3), for_long);
  raw_sqlite raw(path);
  raw.run("UPDATE dlock_session SET boot = 'another', expires_at_us = expires_at_us + 1000000000000");
  raw.run("UPDATE dlock_floor SET fence = fence + 1 WHERE id = 2");
  const auto epoch = std::stoll(raw.text("SELECT fence FROM dlock_floor WHERE id = 3"));
  raw.run("UPDATE dlock_floor SET fence = 5 WHERE id = 3");

  actor now(*this);
  // As wall clocks go, within what they may have been set meanwhile.
  CHECK(std::abs(std::stoll(raw.text("SELECT fence FROM dlock_floor WHERE id = 3")) - epoch) < 60'000'000);
  const seen dead = now.at(order(1));
  CHECK(dead.gone);
  const reply taken_over = now.take_over(order(1), dead);
  CHECK(answer(taken_over) == outcome::yes);
  CHECK(taken_over.fence == 2);
  pass_until(*this, [&] { return now.at(order(2)).expired; });
  CHECK(answer(now.take(order(2))) == outcome::yes);
  CHECK(answer(now.take(order(3))) == outcome::no);  // its time is not over
  // A clock that was set back by years between two boots: no lease of ours lasts that long.
  raw.run("UPDATE orders SET lock_expires_at_us = lock_expires_at_us + 100000000000000 WHERE id = 3");
  CHECK(now.at(order(3)).expired);
  CHECK(answer(now.take(order(3))) == outcome::yes);

  // A session of this boot proves that the times in the file are of this boot, whatever the mark says.
  raw.run("UPDATE dlock_floor SET fence = fence + 1 WHERE id IN (2, 3)");
  const auto shifted = raw.text("SELECT fence FROM dlock_floor WHERE id = 3");
  actor later(*this);
  CHECK(raw.text("SELECT fence FROM dlock_floor WHERE id = 3") == shifted);
  CHECK(later.at(order(1)).holder == now.id);
}
