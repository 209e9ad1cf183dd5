// SPDX-License-Identifier: BSL-1.0

/// The lock tables of an SQLite file: made once, and found in whatever state somebody left them.

#include "contract/backends/sqlite/file_fixture.hpp"
#include "dlock/error.hpp"
#include "stores/sqlite/client/statement.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/sql.hpp"
#include "support/raw_sqlite.hpp"
#include "support/sql_file.hpp"

using namespace dlock::stores::sqlite::lease_table;
using namespace dlock::test;
using namespace dlock;

namespace {

class made_file final : public sqlite_file_fixture {
 public:
  explicit made_file(bool filled = true) {
    if (filled) open();
  }
  void check_refused(const std::string& more, const std::string& text) {
    INFO(more);
    const auto refused = open_store(url() + more);
    CHECK_THROWS_MATCHES(refused->prepare(), store_error, MessageMatches(ContainsSubstring(text)));
  }
  void run(const std::string& sql) { raw_sqlite(path).run(sql); }
};

/// Takes and releases "k" so many times. The last fence.
std::uint64_t use_key(made_file& fixture, int times) {
  actor a(fixture);
  std::uint64_t fence = 0;
  for (int i = 0; i < times; ++i) REQUIRE(answer(a.release("k", fence = a.acquire("k"))) == outcome::yes);
  return fence;
}

/// What a whole set of tables is good for.
void check_works(made_file& fixture) {
  actor a(fixture), b(fixture);
  CHECK(a.acquire("new key") > 0);
  CHECK(answer(b.take("new key")) == outcome::no);
  raw_sqlite raw(fixture.path);
  CHECK(raw.text("SELECT version || ' ' || migration FROM dlock_schema_version WHERE name = 'dlock'") == "1 0");
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_floor") == "4");
}

}  // namespace

TEST_CASE("sqlite schema: whatever a creation by hand left half done is finished by schema=create") {
  made_file whole;
  std::vector<std::string> steps;  // as somebody would run them one by one, in any order
  for (const auto& sql : raw_sqlite(whole.path).column("SELECT sql FROM sqlite_master WHERE type = 'table'")) {
    steps.push_back(*sql);
  }
  steps.push_back("INSERT INTO dlock_schema_version VALUES('dlock', 1, 1)");
  REQUIRE(steps.size() == 5);
  for (std::size_t done = 0; done <= steps.size(); ++done) {
    INFO("steps done: " << done);
    made_file fixture(false);
    for (std::size_t i = 0; i < done; ++i) fixture.run(steps[i]);
    if (done > 0) fixture.check_refused("?schema=verify", "");
    fixture.open();
    check_works(fixture);
  }
}

TEST_CASE("sqlite schema: a migration that was begun and not finished is finished by schema=create") {
  made_file fixture;
  const auto fence = use_key(fixture, 3);
  fixture.run("UPDATE dlock_schema_version SET migration = 1");
  fixture.check_refused("?schema=verify", "was begun and not finished");
  const auto missing = GENERATE("", "DROP TABLE dlock_session", "DELETE FROM dlock_floor");
  if (*missing != '\0') fixture.run(missing);
  fixture.open();
  check_works(fixture);
  actor a(fixture);
  CHECK(a.acquire("k") == fence + 1);  // what there was is still there
}

TEST_CASE("sqlite schema: a migration by a newer program is not touched") {
  made_file fixture;
  fixture.run("UPDATE dlock_schema_version SET version = 2, migration = 1");
  for (const char* parameters : {"", "?schema=verify"}) fixture.check_refused(parameters, "was begun and not finished");
  CHECK(raw_sqlite(fixture.path).text("SELECT version || ' ' || migration FROM dlock_schema_version") == "2 1");
}

TEST_CASE("sqlite schema: a floor row that was lost is made far above every fence that can be seen") {
  made_file fixture;
  const auto fence = use_key(fixture, 7);
  fixture.run("DELETE FROM dlock_floor");
  fixture.check_refused("?schema=verify", "row 1 of table dlock_floor is missing");
  actor a(fixture);
  CHECK(a.acquire("another") == fence + 1'000'001);  // those that were deleted were higher
}

TEST_CASE("sqlite schema: a table that is missing or was changed is refused at the start, with the way out") {
  made_file fixture;
  fixture.run("UPDATE dlock_floor SET fence = 40 WHERE id = 1");
  const auto [damage, text] = GENERATE(table<std::string, std::string>(
      {{"DROP TABLE dlock_lock", "no such table: dlock_lock"},
       {"DROP TABLE dlock_session", "no such table: dlock_session"},
       {"ALTER TABLE dlock_lock RENAME COLUMN nonce TO number", "no such column: nonce"},
       {"ALTER TABLE dlock_session DROP COLUMN revoked", "revoked"}}));
  fixture.run(damage);
  for (const char* parameters : {"", "?schema=verify", "?schema=none"}) {
    fixture.check_refused(parameters, text);
    fixture.check_refused(parameters, "drop the tables dlock_lock, dlock_session and dlock_schema_version");
  }
  // The way out.
  for (const char* table : {"dlock_lock", "dlock_session", "dlock_schema_version"}) {
    fixture.run(std::string("DROP TABLE IF EXISTS ") + table);
  }
  fixture.run("UPDATE dlock_floor SET fence = fence + 1000000 WHERE id = 1");
  check_works(fixture);
  actor a(fixture);
  CHECK(a.acquire("k") == 1000041);
}

TEST_CASE("sqlite schema: a start that was killed before its commit leaves nothing to repair") {
  made_file fixture(false);
  {
    raw_sqlite killed(fixture.path);
    killed.run("PRAGMA journal_mode = WAL");
    killed.run("BEGIN IMMEDIATE");
    killed.run("CREATE TABLE dlock_lock(lock_key BLOB)");  // it ends without COMMIT
  }
  check_works(fixture);
}

TEST_CASE("sqlite schema: a table that is dropped while a service runs is told with the way to make it") {
  made_file fixture;
  actor a(fixture);
  fixture.run("DROP TABLE dlock_lock");
  const auto taken = a.take("k");
  REQUIRE(taken.result == outcome::failed);
  CHECK_THAT(taken.why.text, ContainsSubstring("no such table: dlock_lock"));
  CHECK_THAT(taken.why.text, ContainsSubstring("open the store once with schema=create"));
}

// sql/schema-sqlite.sql, which is for people, beside what schema=create makes.

namespace {

/// All that a file has in it, one line for each table, index and row.
std::vector<std::string> contents(const std::string& path) {
  raw_sqlite file(path);
  std::vector<std::string> lines;
  const auto add = [&](const std::string& sql) {
    for (const auto& line : file.column(sql)) lines.push_back(line.value_or("-"));
  };
  add("SELECT name || ': ' || COALESCE(sql, '') FROM sqlite_master ORDER BY name");
  add("SELECT name || ' ' || version || ' ' || migration FROM dlock_schema_version ORDER BY name");
  add("SELECT id || ' ' || (id <> 1 OR fence = 0) FROM dlock_floor ORDER BY id");
  add("SELECT id FROM dlock_session");
  add("SELECT lock_key FROM dlock_lock");
  add("PRAGMA journal_mode");
  return lines;
}

}  // namespace

TEST_CASE("sqlite schema: sql/schema-sqlite.sql makes what schema=create makes") {
  sqlite_file_fixture by_hand;
  {
    raw_sqlite raw(by_hand.path);
    for (const auto& statement : statements_of("schema-sqlite.sql")) raw.run(statement);
  }
  by_hand.parameters = "?schema=verify";
  by_hand.open();  // rows 2 and 3 of the floor are made by whoever opens the file
  sqlite_file_fixture created;
  created.open();
  CHECK(contents(by_hand.path) == contents(created.path));
  actor a(by_hand), b(by_hand);
  CHECK(a.acquire("k") == 1);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(a.release("k", 1)) == outcome::yes);
}

TEST_CASE("sqlite sql: each parameter of a statement has the number that it is bound by") {
  sqlite_file_fixture fixture;
  static_cast<void>(fixture.open());
  raw_sqlite raw(fixture.path);
  const lease_sql sql(dlock::stores::sql::make_table_names("dlock_", '"'));
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto& text = sql.statement(static_cast<statement_id>(i));
    INFO(text.name << ": " << text.sql);
    sqlite3_stmt* prepared = nullptr;
    REQUIRE(sqlite3_prepare_v2(raw.handle(), text.sql.c_str(), -1, &prepared, nullptr) == SQLITE_OK);
    CHECK(sqlite3_bind_parameter_count(prepared) == static_cast<int>(text.parameters.size()));
    for (std::size_t at = 0; at != text.parameters.size(); ++at) {
      const char* const name = sqlite3_bind_parameter_name(prepared, static_cast<int>(at) + 1);
      CHECK(std::string(name == nullptr ? "" : name) == ":" + std::string(parameter_names.at(text.parameters[at])));
    }
    sqlite3_finalize(prepared);
  }
}

TEST_CASE("sqlite row sql: a text with zero bytes is the same as a literal and as a parameter, in every encoding") {
  scratch_folder folder;
  for (const char* encoding : {"UTF-8", "UTF-16le", "UTF-16be"}) {
    INFO(encoding);
    const auto path = folder / encoding;
    make_sqlite_file(path, encoding);
    raw_sqlite raw(path);
    raw.run("CREATE TABLE t(name TEXT PRIMARY KEY)");
    for (const std::string& name : {std::string("\0", 1), std::string("b'\0'\0\xc3\xa4", 7), std::string("a\0", 2)}) {
      stores::sqlite::sqlite_statement insert;
      REQUIRE(insert.prepare(raw.handle(), "INSERT INTO t VALUES(?1)") == SQLITE_OK);
      insert.bind_text(1, name);
      REQUIRE(insert.step() == SQLITE_DONE);
      CHECK(raw.text("SELECT COUNT(*) FROM t WHERE name = " + stores::sqlite::lease_table::row_literal(name)) == "1");
    }
  }
}
