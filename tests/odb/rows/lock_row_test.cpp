// SPDX-License-Identifier: BSL-1.0

#include <catch2/matchers/catch_matchers.hpp>
#include <fstream>
#include <odb/session.hxx>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/macros.hpp"
#include "dlock/owner.hpp"
#include "dlock/stores/memory.hpp"
#include "odb/rows/mapped_by_hand.hpp"
#include "odb/rows/row_fixture.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;
using names = std::vector<std::string>;

TEST_CASE_METHOD(rows, "row lock: a row is held by one until it is released, others are told that it is busy") {
  add(order{.id = 42, .status = "paid"});
  auto mine = lock_row<order>(locks, db, 42);
  REQUIRE(mine);
  CHECK(mine->status == "paid");
  CHECK(mine.held().fencing_token() == 1);
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 42)));
  CHECK_THROWS_AS(lock_row<order>(others, db, 42, {.wait = 50ms}), dlock::lock_timeout);
  mine.release();
  CHECK_FALSE(mine);
  const auto theirs = try_lock_row<order>(others, db, 42);
  REQUIRE(theirs);
  CHECK(theirs.held().fencing_token() == 2);
}

TEST_CASE_METHOD(rows, "row lock: each row is a lock of its own, whatever the type of the id") {
  add(order{.id = -7});
  add(order{.id = 7});
  add(wallet("o'hara \xc3\xa9\\", 100));
  add(wallet("o'hara", 100));
  add(line{.id = {"a:1", 2}});
  add(line{.id = {"a", 12}});
  const auto negative = lock_row<order>(locks, db, -7);
  CHECK(granted(try_lock_row<order>(others, db, 7)));
  const auto text = lock_row<wallet>(locks, db, "o'hara \xc3\xa9\\");
  CHECK(text->owner() == "o'hara \xc3\xa9\\");
  CHECK(granted(try_lock_row<wallet>(others, db, "o'hara")));
  CHECK_FALSE(granted(try_lock_row<wallet>(others, db, "o'hara \xc3\xa9\\")));
  const auto pair = lock_row<line>(locks, db, {"a:1", 2});
  CHECK(pair->id.document == "a:1");
  CHECK(granted(try_lock_row<line>(others, db, {"a", 12})));
  CHECK_FALSE(granted(try_lock_row<line>(others, db, {"a:1", 2})));
}

TEST_CASE_METHOD(rows, "row lock: a row that is not there is refused as such, and not waited for") {
  const auto error = caught<dlock::lock_refused>([&] { return lock_row<order>(locks, db, 1); });
  CHECK(error.code() == dlock::errc::no_such_row);
  CHECK(std::string(error.what()).find("orders:1") != std::string::npos);
  CHECK_THROWS_AS(try_lock_row<order>(locks, db, 1), dlock::lock_refused);
}

TEST_CASE_METHOD(rows,
                 "row lock: a table in another place than the locks is refused, and so are empty ids and bad options") {
  add(wallet("a", 1));
  dlock::stores::virtual_clock clock;
  dlock::lock_service elsewhere(std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock});
  CHECK_THROWS_AS(dlock::row<wallet>(elsewhere, db, "a"), std::invalid_argument);
  if (const auto other = fixture->elsewhere()) {
    CHECK_THROWS_AS(dlock::row<wallet>(locks, *other, "a"), std::invalid_argument);
  }
  CHECK_THROWS_AS(dlock::row<wallet>(locks, db, ""), std::invalid_argument);
  CHECK_THROWS_AS(dlock::row<line>(locks, db, {"", 1}), std::invalid_argument);
  CHECK_THROWS_AS(lock_row<wallet>(locks, db, "a", {.min_hold = 1s}), std::invalid_argument);
  CHECK_THROWS_AS(lock_row<wallet>(locks, db, "a", {.ttl = 0s}), std::invalid_argument);
}

TEST_CASE_METHOD(rows, "row lock: a table without the lock columns is refused with the name of what is missing") {
  sql("ALTER TABLE orders RENAME COLUMN lock_fence TO lock_fence_2");
  const auto error = caught<std::invalid_argument>([&] { return dlock::row<order>(locks, db, 1); });
  CHECK_THAT(error.what(), ContainsSubstring("lock_fence") && ContainsSubstring("add_lock_columns_sql"));
  sql("DROP TABLE orders");
  CHECK_THROWS_WITH(dlock::row<order>(locks, db, 1), ContainsSubstring("add_lock_columns_sql"));
}

TEST_CASE_METHOD(rows, "row lock: where nothing is missing, a refused table is not told to add what it has") {
  sql("DROP TABLE orders");
  sql("CREATE TABLE orders (id INTEGER NOT NULL, status VARCHAR(40), amount BIGINT, lock_owner VARCHAR(50) NULL, "
      "lock_expires_at_us BIGINT NULL, lock_fence BIGINT NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 1)");
  CHECK_THROWS_WITH(dlock::row<order>(locks, db, 1),
                    ContainsSubstring("has no primary key") && !ContainsSubstring("add_lock_columns_sql"));
}

TEST_CASE_METHOD(rows, "row lock: a table is looked at once for each service and database") {
  static_cast<void>(dlock::row<order>(locks, db, 1));
  sql("ALTER TABLE orders RENAME COLUMN lock_fence TO lock_fence_2");
  CHECK_NOTHROW(dlock::row<order>(locks, db, 2));
  CHECK_THROWS_AS(dlock::row<order>(others, db, 2), std::invalid_argument);
}

TEST_CASE_METHOD(rows, "row lock: keys name rows, are known by table and id, and mix with texts") {
  add(order{.id = 42});
  const auto key = dlock::row<order>(locks, db, 42);
  CHECK(key == dlock::row<order>(others, db, 42));
  CHECK(printable(key) == "orders:42");
  CHECK(key != dlock::lock_key("orders:42"));
  CHECK(printable(dlock::row<line>(locks, db, {"a:1", 2})) == "line:a%3A1:2");
  auto both = locks.acquire_all({dlock::lock_key("orders:42"), key}, at_once);
  CHECK_FALSE(granted(others.try_acquire(key)));
  CHECK_FALSE(granted(others.try_acquire("orders:42")));
  both.release();
  CHECK(granted(others.try_acquire(key)));
}

TEST_CASE_METHOD(rows, "row lock: an owner enters its own row again without a statement, others do not") {
  add(order{.id = 42});
  const auto outer = lock_row<order>(locks, db, 42);
  const auto before = locks.statements();
  {
    const auto inner = try_lock_row<order>(locks, db, 42);
    REQUIRE(inner);
    CHECK(inner.held().reentered());
    CHECK(inner.held().fencing_token() == outer.held().fencing_token());
    CHECK(locks.statements() == before);
  }
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 42)));
  dlock::owner foreign;
  const dlock::owner_scope as(foreign);
  CHECK_FALSE(granted(try_lock_row<order>(locks, db, 42)));
}

TEST_CASE_METHOD(paid_order, "row lock: inside a transaction of the caller's, that one stays current and is not used",
                 "[T75]") {
  odb::transaction mine(db.begin());
  // A read, so that it has a view of its own of the database.
  const std::unique_ptr<order> seen(db.load<order>(1));
  {
    auto row = lock_row<order>(locks, db, 1, at_once);
    CHECK(&odb::transaction::current() == &mine);
    row->status = "shipped";
    row.commit();
    CHECK(&odb::transaction::current() == &mine);
  }
  CHECK_THROWS_AS(lock_row<order>(locks, db, 2, at_once), dlock::lock_refused);
  CHECK(&odb::transaction::current() == &mine);
  mine.rollback();
  CHECK_FALSE(odb::transaction::has_current());
  CHECK(load<order>(1)->status == "shipped");
}

TEST_CASE_METHOD(rows, "row lock: an object that a session has cached is not taken for the row") {
  add(wallet("ada", 100));
  odb::session cache;
  const auto old = load<wallet>(std::string("ada"));
  sql("UPDATE wallet SET cents = 70");
  auto row = lock_row<wallet>(locks, db, "ada");
  CHECK(&*row != old.get());
  CHECK(row->cents() == 70);
  CHECK(odb::session::current_pointer() == &cache);
  row->pay(1);
  CHECK_NOTHROW(row.commit());
}

TEST_CASE_METHOD(rows, "row lock: the macros lock a row of the default service for one statement") {
  set_default_service(locks);
  add(order{.id = 42, .status = "paid"});
  const auto ship = [&](int id) {
    DISTRIBUTED_LOCKED_ROW_AS(row, order, db, id, {.wait = 0s}) {
      CHECK_FALSE(granted(try_lock_row<order>(others, db, 42)));
      row->status = "shipped";
      row.commit();
      return true;
    }
    return false;
  };
  CHECK(ship(42));
  CHECK(load<order>(42)->status == "shipped");
  CHECK(granted(try_lock_row<order>(others, db, 42)));
  int passed = 0;
  DISTRIBUTED_LOCKED_ROW(order, db, 42) {
    CHECK_FALSE(granted(try_lock_row<order>(others, db, 42)));
    ++passed;
  }
  CHECK(passed == 1);
  CHECK(granted(try_lock_row<order>(others, db, 42)));
}

// Who holds a row: what a service says, and what an operator reads by the SQL of docs/row-locks.md.

namespace {

/// The block of the page after the line <!-- sql: name -->, about the tables of this place.
std::string sql_of_page(const rows& r, const std::string& name) {
  std::ifstream page(DLOCK_TEST_SOURCES "/docs/row-locks.md");
  std::string line;
  while (std::getline(page, line) && line != "<!-- sql: " + name + " -->") continue;
  std::getline(page, line);
  REQUIRE(line == "```sql");
  std::string sql;
  while (std::getline(page, line) && line != "```") sql += line + "\n";
  for (std::size_t at = 0; (at = sql.find("dlock_session", at)) != std::string::npos;) {
    const auto table = r.fixture->prefix() + "session";
    sql.replace(at, std::string("dlock_session").size(), table);
    at += table.size();
  }
  return sql.substr(0, sql.rfind(';'));
}

}  // namespace

TEST_CASE_METHOD(rows, "row holder: a service tells who holds a row, and that nobody does") {
  add(order{.id = 42});
  add(line{.id = {"a:1", 2}});
  const auto key = dlock::row<order>(others, db, 42);
  CHECK_FALSE(others.holder(key));
  CHECK_FALSE(others.holder(dlock::row<order>(others, db, 7)));  // there is no such row
  const auto mine = lock_row<order>(locks, db, 42);
  const auto pair = lock_row<line>(locks, db, {"a:1", 2});
  const auto holder = others.holder(key);
  REQUIRE(holder);
  CHECK(holder->key == key.view());
  CHECK(holder->label == "one");
  CHECK(holder->fence == 1);
  CHECK(holder->pid > 0);
  CHECK(holder->kind == dlock::lease_kind::session);
  CHECK_FALSE(holder->dead);
  CHECK(holder->remaining > 0us);
  CHECK(others.holder(dlock::row<line>(others, db, {"a:1", 2}))->session == holder->session);
  CHECK_FALSE(others.holder(dlock::row<line>(others, db, {"a:1", 3})));
  CHECK(others.held_keys().empty());  // rows are in the application's tables
}

TEST_CASE_METHOD(rows, "row holder: a dead one is called dead") {
  add(order{.id = 1});
  take_over(1);  // by a session that is not there
  const auto holder = locks.holder(dlock::row<order>(locks, db, 1));
  REQUIRE(holder);
  CHECK(holder->dead);
  CHECK(holder->host.empty());
  CHECK(granted(try_lock_row<order>(locks, db, 1)));
}

TEST_CASE_METHOD(paid_order, "row holder: a row is forced by its session, and its holder is told") {
  const auto key = dlock::row<order>(others, db, 1);
  CHECK_FALSE(others.force_release(key));  // nobody holds it
  auto mine = lock_row<order>(locks, db, 1, {.ttl = 10s});
  CHECK(others.force_release(key));
  CHECK(others.holder(key)->revoked);
  REQUIRE(eventually([&] { return mine.held().loss() == dlock::loss_reason::renewal_refused; }));
  CHECK_THROWS_AS(mine.commit(), dlock::lock_lost);
  CHECK(lock_row<order>(others, db, 1, {.wait = 60s})->status == "paid");
}

TEST_CASE_METHOD(paid_order, "row holder: a row that an expiry keeps is forced at once, and its holder finds out") {
  const auto key = dlock::row<order>(others, db, 1);
  auto mine = lock_row<order>(locks, db, 1, {.ttl = 60s, .renewal = dlock::renewal::none});
  CHECK(others.force_release(key));
  CHECK_FALSE(others.holder(key));
  CHECK(granted(try_lock_row<order>(others, db, 1)));
  mine->status = "late";
  CHECK_THROWS_AS(mine.commit(), dlock::lock_lost);
  CHECK(load<order>(1)->status == "paid");

  add(job{.id = 1});
  const auto theirs = lock_row<job>(locks, db, 1, {.ttl = 10s});
  CHECK(others.force_release(dlock::row<job>(others, db, 1)));
  CHECK(granted(try_lock_row<job>(others, db, 1)));
  CHECK(eventually([&] { return theirs.held().loss() == dlock::loss_reason::taken_over; }));  // by the next renewal
}

TEST_CASE_METHOD(rows, "row holder: what a program without dlock has locked is not forced") {
  add(job{.id = 1});
  const auto key = dlock::row<job>(locks, db, 1);
  sql("UPDATE job SET lock_owner = 'plain', lock_expire_time = " + fixture->time_from_now(60) + " WHERE id = 1");
  REQUIRE(locks.holder(key));
  CHECK_FALSE(locks.force_release(key));
  CHECK(locks.holder(key));
  CHECK_FALSE(granted(try_lock_row<job>(locks, db, 1)));
}

TEST_CASE_METHOD(rows, "row holder: a service on another store knows no rows, and says so") {
  const auto key = dlock::row<order>(locks, db, 1);
  dlock::stores::virtual_clock clock;
  dlock::lock_service elsewhere(std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock});
  CHECK_THROWS_AS(elsewhere.holder(key), std::invalid_argument);
  CHECK_THROWS_AS(elsewhere.force_release(key), std::invalid_argument);
}

TEST_CASE_METHOD(rows, "row holder: the page's SQL finds the session behind lock_owner, and revokes it") {
  for (int id = 1; id <= 4; ++id) add(order{.id = id});
  const auto mine = lock_row<order>(locks, db, 1, {.ttl = 10s});
  const auto theirs = lock_row<order>(others, db, 2);
  take_over(3);
  const auto on_page = sql_of_page(*this, fixture->is_sqlite() ? "sqlite" : "mysql");
  const auto found = fixture->select(on_page);
  REQUIRE(found.size() == 3);
  CHECK(found[0].at(0) == "1");
  CHECK(found[0].at(5) == "one");
  CHECK(found[1].at(5) == "two");
  CHECK(found[2].at(3).empty());  // no host: its session is gone
  const auto session = found[0].at(1).substr(0, 32);
  CHECK(session == others.holder(dlock::row<order>(others, db, 1))->session.hex());
  auto force = sql_of_page(*this, "force");
  const std::string example = "0123456789abcdef0123456789abcdef";
  if (fixture->is_sqlite()) {
    force.replace(force.find("WHERE"), std::string::npos, "WHERE lower(hex(id)) = '" + session + "'");
  } else {
    force.replace(force.find(example), example.size(), session);
  }
  CHECK(sql(force) == 1);
  CHECK(eventually([&] { return mine.held().loss() == dlock::loss_reason::renewal_refused; }));
  CHECK_NOTHROW(theirs.held().ensure_held());
}

// Ids of several columns: the order of the members is the class's, that of the columns the table's.

namespace {

/// With the quotation marks of the database.
std::string quoted(const rows& r, std::string text) {
  for (char& c : text) {
    if (c == '`' && r.fixture->is_sqlite()) c = '"';
  }
  return text;
}

void make_table(rows& r, const std::string& name, const std::string& columns, const std::string& key) {
  r.sql("DROP TABLE " + name);
  r.sql(quoted(r, "CREATE TABLE " + name + " (" + columns +
                      ", lock_owner VARCHAR(50) NULL, lock_expires_at_us BIGINT NULL, lock_fence BIGINT NOT NULL "
                      "DEFAULT 0, version INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (" +
                      key + "))"));
}

/// A table of seats whose columns stand in another order than the members.
void make_seats(rows& r) {
  make_table(r, "seat",
             "sold INTEGER NOT NULL, `hall-Name` VARCHAR(40) NOT NULL, `order` BIGINT NOT NULL, `the row` BIGINT NOT "
             "NULL",
             "`hall-Name`, `order`, `the row`");
}

}  // namespace

TEST_CASE_METHOD(rows,
                 "row id: a composite one names its row by its columns' names, in whatever order the table has them") {
  make_seats(*this);
  for (std::int64_t row = 1; row <= 2; ++row) {
    for (std::int64_t number = 1; number <= 2; ++number) add(seat{.id = {row, number, "1"}});
  }
  auto mine = lock_row<seat>(locks, db, {1, 2, "1"});
  CHECK(mine->id.row == 1);
  CHECK(mine->id.number == 2);
  CHECK(load<seat>(seat_id{1, 2, "1"})->lock.held());
  CHECK_FALSE(load<seat>(seat_id{2, 1, "1"})->lock.held());
  CHECK_FALSE(granted(try_lock_row<seat>(others, db, {1, 2, "1"})));
  CHECK(granted(try_lock_row<seat>(others, db, {2, 1, "1"})));
  mine->sold = 1;
  mine.commit();
  CHECK(load<seat>(seat_id{1, 2, "1"})->sold == 1);
  CHECK(load<seat>(seat_id{2, 1, "1"})->sold == 0);
  auto claimed = dlock::claim<seat>(locks, db, odb::query<seat>::id.row == 2, 5);
  REQUIRE(claimed.size() == 2);
  for (auto& each : claimed) {
    CHECK(each->id.row == 2);
    each->sold = 7;
    each.commit();
  }
  CHECK(load<seat>(seat_id{2, 1, "1"})->sold == 7);
}

TEST_CASE_METHOD(rows, "row id: one of two columns that the table has the other way round") {
  make_table(*this, "line", "id_number BIGINT NOT NULL, id_document VARCHAR(40) NOT NULL, count INTEGER NOT NULL",
             "id_number, id_document");
  add(line{.id = {"7", 8}});
  add(line{.id = {"8", 7}});
  const auto mine = lock_row<line>(locks, db, {"7", 8});
  CHECK(load<line>(line_id{"7", 8})->lock.held());
  CHECK_FALSE(load<line>(line_id{"8", 7})->lock.held());
}

TEST_CASE("row id: one that is not the primary key is refused with both") {
  rows r;
  const auto refused = [&](const auto& lock) {
    CHECK_THROWS_AS(lock(), std::invalid_argument);
    CHECK_THROWS_WITH(lock(), ContainsSubstring("primary key is"));
  };
  SECTION("another column") {
    make_table(
        r, "orders",
        "id INTEGER NOT NULL UNIQUE, number INTEGER NOT NULL, status VARCHAR(40) NOT NULL, amount BIGINT NOT NULL",
        "number");
    refused([&] { static_cast<void>(dlock::row<order>(r.locks, r.db, 1)); });
  }
  SECTION("fewer columns") {
    make_table(r, "line", "id_number BIGINT NOT NULL, id_document VARCHAR(40) NOT NULL, count INTEGER NOT NULL",
               "id_number");
    refused([&] { static_cast<void>(dlock::row<line>(r.locks, r.db, {"7", 8})); });
  }
  SECTION("more columns") {
    make_table(r, "orders", "id INTEGER NOT NULL, status VARCHAR(40) NOT NULL, amount BIGINT NOT NULL", "id, status");
    refused([&] { static_cast<void>(dlock::row<order>(r.locks, r.db, 1)); });
  }
}

TEST_CASE_METHOD(rows, "row id: a member that is no column is refused") {
  add(memo{.id = {1, 0}});
  CHECK_THROWS_WITH(dlock::row<memo>(locks, db, {1, 0}), ContainsSubstring("transient"));
  CHECK_THROWS_AS(dlock::claim<memo>(locks, db, odb::query<memo>(), 1), std::invalid_argument);
}

TEST_CASE_METHOD(rows, "row id: one that a base class has, which has no table") {
  mark both;
  both.id = {"a", 1};
  add(both);
  auto mine = lock_row<mark>(locks, db, {"a", 1});
  CHECK(load<mark>(line_id{"a", 1})->lock.held());
  CHECK_FALSE(granted(try_lock_row<mark>(others, db, {"a", 1})));
  mine->count = 7;
  mine.commit();
  CHECK(load<mark>(line_id{"a", 1})->count == 7);
}

TEST_CASE_METHOD(rows, "row id: where ODB's compiler was run by hand, the program itself says its columns") {
  add(by_hand{.id = {"a", 1}});
  const auto mine = lock_row<by_hand>(locks, db, {"a", 1});
  CHECK_FALSE(granted(try_lock_row<by_hand>(others, db, {"a", 1})));
  CHECK(load<by_hand>(line_id{"a", 1})->lock.held());
}

TEST_CASE_METHOD(rows, "row id: one that ODB does not compare by its value is refused") {
  // What a program says of a class that isn't mapped for a database comes to the same.
  auto entity = dlock::detail::row_class_of<order>();
  entity.columns = [](odb::database_id) { return dlock::entity_columns{{}, {}, false}; };
  CHECK_THROWS_WITH(dlock::detail::row_key(locks, db, entity, {std::int64_t{1}}),
                    ContainsSubstring("compares the columns of its id with more than their values"));
}

TEST_CASE("row id: its columns are those that ODB's compiler writes into its own statements") {
  CHECK(dlock::entity_traits<order>::on(odb::id_mysql).id == names{"`id`"});
  CHECK(dlock::entity_traits<seat>::on(odb::id_mysql).id == names{"`the row`", "`order`", "`hall-Name`"});
  CHECK(dlock::entity_traits<seat>::on(odb::id_sqlite).id == names{"\"the row\"", "\"order\"", "\"hall-Name\""});
  CHECK(dlock::entity_traits<seat>::on(odb::id_pgsql).id.empty());
}
