// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/row_sql.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "stores/sqlite/client/statement.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE("sqlite row sql: a text with zero bytes is the same as a literal and as a parameter, in every encoding",
          "[unit][sqlite]") {
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
