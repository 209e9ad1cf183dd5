// SPDX-License-Identifier: BSL-1.0

// Tables that other programs know: those that lock rows by plain SQL, and those that had no lock columns before.

#include <odb/connection.hxx>
#include <odb/exceptions.hxx>

#include <fstream>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"
#include "odb/rows/row_fixture.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

/// A program that knows nothing of dlock.
struct plain_program {
  rows& r;

  bool take(int seconds) {
    const auto now = r.fixture->time_from_now(0);
    return r.sql("UPDATE job SET lock_owner = 'plain', lock_expire_time = " + r.fixture->time_from_now(seconds) +
                 ", version = version + 1 WHERE id = 1 AND (lock_owner = '' OR lock_expire_time < " + now + ")") == 1;
  }
  bool release() {
    return r.sql("UPDATE job SET lock_owner = '', lock_expire_time = " + r.fixture->time_from_now(0) +
                 " WHERE id = 1 AND lock_owner = 'plain'") == 1;
  }
};

}  // namespace

TEST_CASE_METHOD(rows, "shared table: a row that plain SQL holds is busy for us, one that we hold is for plain SQL") {
  add(job{.id = 1, .state = "new"});
  plain_program plain{*this};
  REQUIRE(plain.take(60));
  CHECK_FALSE(granted(try_lock_row<job>(locks, db, 1)));
  REQUIRE(plain.release());
  auto mine = try_lock_row<job>(locks, db, 1);
  REQUIRE(mine);
  CHECK_FALSE(plain.take(60));
  CHECK_FALSE(granted(try_lock_row<job>(others, db, 1)));
  mine->state = "done";
  mine.commit();
  CHECK(load<job>(1)->state == "done");
  CHECK(plain.take(60));
}

TEST_CASE_METHOD(
    rows, "shared table: a lock of plain SQL that has expired is taken over, and its holder's version is stale") {
  add(job{.id = 1, .state = "new"});
  plain_program plain{*this};
  REQUIRE(plain.take(-5));
  const auto theirs = load<job>(1);
  const auto mine = try_lock_row<job>(locks, db, 1);
  REQUIRE(mine);
  CHECK(mine.held().fencing_token() == theirs->version + 1);
  CHECK_FALSE(plain.release());
  theirs->state = "late";
  CHECK_THROWS_AS(update(*theirs), odb::object_changed);
}

TEST_CASE_METHOD(rows, "shared table: the expiry column is renewed, and the version stays", "[T73]") {
  add(job{.id = 1, .state = "new"});
  plain_program plain{*this};
  auto mine = lock_row<job>(locks, db, 1, {.ttl = 5s});
  const auto version = load<job>(1)->version;
  const auto end = std::chrono::steady_clock::now() + 6500ms;  // longer than the ttl and the column's second
  while (std::chrono::steady_clock::now() < end) {
    REQUIRE(mine.held().remaining() > 0us);
    REQUIRE_FALSE(plain.take(60));
    std::this_thread::sleep_for(200ms);
  }
  CHECK(load<job>(1)->version == version);
  mine->state = "done";
  CHECK_NOTHROW(mine.commit());
}

TEST_CASE_METHOD(rows, "shared table: a ttl that the column's seconds can't tell is refused") {
  add(job{.id = 1, .state = "new"});
  CHECK_THROWS_AS(lock_row<job>(locks, db, 1, {.ttl = 2s}), std::invalid_argument);
}

TEST_CASE_METHOD(rows, "shared table: an update that keeps a row of such a table locked is followed by a commit") {
  add(job{.id = 1, .state = "new"});
  auto mine = lock_row<job>(locks, db, 1);
  mine->state = "half";
  mine.update();  // raises the version, which is the fence
  mine->state = "done";
  mine.commit();
  CHECK(load<job>(1)->state == "done");
  CHECK(granted(try_lock_row<job>(others, db, 1)));
}

namespace {

/// What ALTER TABLE statements about that table add, in their order.
std::vector<std::string> added_to(const std::string& table, const std::string& script) {
  std::vector<std::string> columns;
  for (std::size_t at = 0; at < script.size();) {
    const auto end = std::min(script.find(';', at), script.size());
    const auto statement = script.substr(at, end - at);
    at = end + 1;
    if (statement.find("ALTER TABLE " + table) == std::string::npos) continue;
    const std::string add = "ADD COLUMN ";
    for (auto from = statement.find(add); from != std::string::npos;) {
      const auto next = statement.find(add, from + 1);
      auto column = statement.substr(from + add.size(), next - from - add.size());
      column.erase(column.find_last_not_of(" ,\n") + 1);
      columns.push_back(column);
      from = next;
    }
  }
  return columns;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE_METHOD(rows, "lock columns: the generated script, add_lock_columns_sql() and the file in sql/ say the same") {
  const std::string database = fixture->is_sqlite() ? "sqlite" : "mysql";
  const char quote = fixture->is_sqlite() ? '"' : '`';
  const auto script = text_of(std::string(DLOCK_TEST_GENERATED) + "/entities-lock-columns-" + database + ".sql");
  const auto generated = [&](const std::string& table) { return added_to(quote + table + quote, script); };
  CHECK(generated("orders").size() == 3);
  CHECK(generated("orders") == added_to(quote + std::string("orders") + quote, add_lock_columns_sql<order>(locks, db)));
  CHECK(generated("job").size() == 2);
  CHECK(generated("job") == added_to(quote + std::string("job") + quote, add_lock_columns_sql<job>(locks, db)));
  // Renamed by column("mutex_").
  CHECK(generated("parcel").size() == 3);
  CHECK(generated("parcel") ==
        added_to(quote + std::string("parcel") + quote, add_lock_columns_sql<parcel>(locks, db)));
  CHECK_THAT(generated("parcel").at(0), ContainsSubstring("mutex_owner"));
  CHECK(generated("wallet").size() == 3);  // beside a column of its own that is called owner
  // The files in sql/ are where the library's types come from.
  const auto in_sql = [&](const std::string& name) {
    return added_to(quote + std::string("@TABLE@") + quote,
                    text_of(std::string(DLOCK_TEST_SOURCES) + "/sql/" + name + database + ".sql"));
  };
  CHECK(generated("orders") == in_sql("lock-columns-"));
  CHECK(generated("job") == in_sql("expiring-lock-columns-"));
}

TEST_CASE_METHOD(rows, "lock columns: a table that exists without them gets them by one script") {
  sql("DROP TABLE orders");
  const std::string name = fixture->is_sqlite() ? "\"orders\"" : "`orders`";
  sql("CREATE TABLE " + name +
      " (id INTEGER NOT NULL PRIMARY KEY, status VARCHAR(40) NOT NULL, amount BIGINT NOT NULL, "
      "version INTEGER NOT NULL)");
  sql("INSERT INTO orders VALUES (1, 'paid', 5, 1)");
  const auto script = dlock::add_lock_columns_sql<order>(locks, db);
  for (std::size_t at = 0; at < script.size();) {
    const auto end = std::min(script.find(';', at), script.size());
    const auto statement = script.substr(at, end - at);
    if (statement.find("ALTER") != std::string::npos) sql(statement);
    at = end + 1;
  }
  auto row = lock_row<order>(locks, db, 1);
  CHECK(row->amount == 5);
  row->status = "shipped";
  row.commit();
  // Programs that do not know of the columns go on.
  sql("INSERT INTO orders (id, status, amount, version) VALUES (2, 'paid', 5, 1)");
  CHECK(try_lock_row<order>(others, db, 2).held().fencing_token() == 1);
}

// What docs/row-locks.md says that things cost, counted where the statements arrive.

namespace {

struct cost_scene : rows {
  cost_scene() {
    for (int id = 1; id <= 3; ++id) add(order{.id = id, .status = "paid"});
    // Once for each connection: statements are prepared, the table is looked at.
    lock_row<order>(locks, db, 1).commit();
    for (auto& row : claim<order>(locks, db, all, 5)) row.commit();
    for (auto& row : claim<order>(others, db, all, 5)) row.commit();
    fixture->watch();
    ours_before_ = locks.statements();
  }

  /// As "BEGIN, 2, COMMIT": what the application's connections sent since the last call.
  std::string theirs() {
    std::string words;
    int between = 0;
    const auto flush = [&] {
      if (between != 0) words += (words.empty() ? "" : ", ") + std::to_string(std::exchange(between, 0));
    };
    for (const auto& each : fixture->sent()) {
      const auto word = upper(each.substr(0, each.find_first_of(" ;")));
      if (word != "BEGIN" && word != "COMMIT" && word != "ROLLBACK") {
        ++between;
        continue;
      }
      flush();
      words += (words.empty() ? "" : ", ") + word;
    }
    flush();
    return words;
  }
  /// Statements of the service's own connections since the last call.
  std::uint64_t ours() {
    const auto now = locks.statements();
    return now - std::exchange(ours_before_, now);
  }

  const odb::query<order> all{"ORDER BY id"};

 private:
  static std::string upper(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text;
  }
  std::uint64_t ours_before_ = 0;
};

}  // namespace

TEST_CASE_METHOD(cost_scene, "row cost: of locking, loading, writing and releasing one row") {
  auto row = lock_row<order>(locks, db, 1);
  CHECK(theirs() == "BEGIN, 1, COMMIT");
  CHECK(ours() == 1);
  row.update();
  CHECK(theirs() == "BEGIN, 2, COMMIT");
  CHECK(ours() == 0);
  {
    odb::transaction mine(dlock::begin_write(db));
    static_cast<void>(theirs());
    row.update(mine);
    CHECK(theirs() == "2");
    mine.commit();
  }
  static_cast<void>(theirs());
  row.commit();
  CHECK(theirs() == "BEGIN, 2, COMMIT");
  CHECK(ours() == 0);
  auto again = lock_row<order>(locks, db, 1);
  static_cast<void>(theirs());
  static_cast<void>(ours());
  again.release();
  CHECK(theirs().empty());
  CHECK(ours() == 1);
}

TEST_CASE_METHOD(cost_scene, "row cost: of a claim, for any number of rows") {
  {
    const auto claimed = claim<order>(locks, db, all, 3);
    REQUIRE(claimed.size() == 3);
    CHECK(theirs() == "BEGIN, 3, COMMIT");
    CHECK(ours() == 0);
    // Nothing is free; and nobody is dead.
    CHECK(claim<order>(others, db, all, 3).empty());
    CHECK(theirs() == "BEGIN, 1, COMMIT, BEGIN, 1, COMMIT");
  }
  static_cast<void>(ours());
  const auto claimed = claim<order>(locks, db, all, 5);
  REQUIRE(claimed.size() == 3);
  CHECK(theirs() == "BEGIN, 3, COMMIT, BEGIN, 1, COMMIT");
  CHECK(ours() == 0);
}

// The check as a value, for programs that bind parameters by a client library of their own.

namespace {

/// Bound, it changes the row of the lease while that is held, and none afterwards.
void check(rows& r, dlock::lease held) {
  const auto value = held.verification();
  CAPTURE(value.sql, value.text);
  CHECK(static_cast<std::size_t>(std::count(value.sql.begin(), value.sql.end(), '?')) == value.parameters.size());
  const auto connection = r.db.connection();
  connection->execute(r.fixture->is_sqlite() ? "BEGIN IMMEDIATE" : "BEGIN");
  CHECK(r.fixture->execute(*connection, value) == value.expected_rows);
  CHECK(connection->execute(value.text) == value.expected_rows);
  connection->execute("COMMIT");
  held.release();
  CHECK(r.fixture->execute(*connection, value) == 0);
  CHECK(connection->execute(value.text) == 0);
}

}  // namespace

TEST_CASE_METHOD(
    rows, "verification: its parameters are in the order of its question marks, for keys and for rows of any id") {
  check(*this, locks.acquire("it's ? a key"));
  add(order{.id = -7});
  check(*this, locks.acquire(dlock::row<order>(locks, db, -7)));
  add(wallet("o'hara ? \xc3\xa9\\", 1));
  check(*this, locks.acquire(dlock::row<wallet>(locks, db, "o'hara ? \xc3\xa9\\")));
  add(line{.id = {"a:1", 2}});
  check(*this, locks.acquire(dlock::row<line>(locks, db, {"a:1", 2})));
  add(seat{.id = {1, 2, "hall"}});
  check(*this, locks.acquire(dlock::row<seat>(locks, db, {1, 2, "hall"})));
  add(job{.id = 1});
  check(*this, locks.acquire(dlock::row<job>(locks, db, 1)));
}
