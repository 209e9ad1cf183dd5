// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/errors.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using Catch::Matchers::ContainsSubstring;
using dlock::fault;
using dlock::stores::sqlite::is_busy;
using dlock::stores::sqlite::may_be_committed;
using dlock::stores::sqlite::sqlite_fault;

TEST_CASE("sqlite error: a busy file counts as contended, whatever made it busy", "[unit][sqlite]") {
  for (const int code : {SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT, SQLITE_BUSY_RECOVERY}) {
    const fault why = sqlite_fault(code, "l.db");
    CHECK(why.native == code);
    CHECK(why.contended);
    CHECK(why.transient);
    CHECK_FALSE(why.connection);
    CHECK(is_busy(code));
    CHECK_FALSE(may_be_committed(code));
  }
  CHECK_FALSE(is_busy(SQLITE_LOCKED));
}

TEST_CASE("sqlite error: what ends the connection and what does not", "[unit][sqlite]") {
  for (const int code : {SQLITE_READONLY, SQLITE_READONLY_DBMOVED, SQLITE_CANTOPEN, SQLITE_IOERR_WRITE, SQLITE_CORRUPT,
                         SQLITE_NOTADB, SQLITE_INTERRUPT, SQLITE_PERM}) {
    INFO(code);
    CHECK(sqlite_fault(code, "l.db").connection);
    CHECK_FALSE(sqlite_fault(code, "l.db").contended);
  }
  for (const int code : {SQLITE_ERROR, SQLITE_FULL, SQLITE_CONSTRAINT_NOTNULL, SQLITE_NOMEM}) {
    INFO(code);
    CHECK_FALSE(sqlite_fault(code, "l.db").connection);
  }
}

TEST_CASE("sqlite error: the same statement may succeed later only where nobody has to repair anything",
          "[unit][sqlite]") {
  CHECK(sqlite_fault(SQLITE_NOMEM, "l.db").transient);
  CHECK(sqlite_fault(SQLITE_PROTOCOL, "l.db").transient);
  for (const int code : {SQLITE_FULL, SQLITE_READONLY, SQLITE_CORRUPT, SQLITE_ERROR, SQLITE_CANTOPEN}) {
    INFO(code);
    CHECK_FALSE(sqlite_fault(code, "l.db").transient);
  }
}

TEST_CASE("sqlite error: only a failed write or sync leaves open whether it was committed", "[unit][sqlite]") {
  CHECK(may_be_committed(SQLITE_IOERR_FSYNC));
  CHECK(may_be_committed(SQLITE_IOERR_WRITE));
  CHECK_FALSE(may_be_committed(SQLITE_FULL));
  CHECK_FALSE(may_be_committed(SQLITE_INTERRUPT));
  CHECK_FALSE(may_be_committed(SQLITE_NOMEM));
}

TEST_CASE("sqlite error: the text names the file, the cause and the extended code", "[unit][sqlite]") {
  CHECK(sqlite_fault(SQLITE_FULL, "/var/l.db").text ==
        "SQLite file '/var/l.db': database or disk is full (code 13): no space left");
  CHECK_THAT(sqlite_fault(SQLITE_BUSY_SNAPSHOT, "l.db").text, ContainsSubstring("begin it with BEGIN IMMEDIATE"));
  CHECK_THAT(sqlite_fault(SQLITE_READONLY_DBMOVED, "l.db").text, ContainsSubstring("(code 1032): the file was moved"));
  CHECK(sqlite_fault(SQLITE_ERROR, "l.db", "no such table: x").text == "SQLite file 'l.db': no such table: x (code 1)");
}
