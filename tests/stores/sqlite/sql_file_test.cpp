// SPDX-License-Identifier: BSL-1.0

/// sql/schema-sqlite.sql, which is for people, beside what schema=create makes.

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "support/raw_sqlite.hpp"
#include "support/sql_file.hpp"

using namespace dlock;
using namespace dlock::test;

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

TEST_CASE("sqlite schema: sql/schema-sqlite.sql makes what schema=create makes", "[unit][sqlite]") {
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
