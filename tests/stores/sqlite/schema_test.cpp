// SPDX-License-Identifier: BSL-1.0

/// The lock tables of an SQLite file that somebody has changed, and its statements. What is the same on every database
/// is in contract/schema.

#include "contract/backends/sqlite/file_fixture.hpp"
#include "dlock/error.hpp"
#include "stores/sqlite/client/statement.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/sql.hpp"
#include "support/raw_sqlite.hpp"

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
      CHECK(std::string(name == nullptr ? "" : name) ==
            ":" + std::string(dlock::stores::sql::parameter_names.at(text.parameters[at])));
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
