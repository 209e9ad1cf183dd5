// SPDX-License-Identifier: BSL-1.0
// The check as a value, for programs that bind parameters by a client library of their own.
#include "odb/rows/row_fixture.hpp"
//
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <odb/connection.hxx>
#include <string>

#include "dlock/odb/lock_row.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;

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

TEST_CASE("verification: its parameters are in the order of its question marks, for keys and for rows of any id",
          "[rows][verify]") {
  rows r;
  check(r, r.locks.acquire("it's ? a key"));
  r.add(order{.id = -7});
  check(r, r.locks.acquire(dlock::row<order>(r.locks, r.db, -7)));
  r.add(wallet("o'hara ? \xc3\xa9\\", 1));
  check(r, r.locks.acquire(dlock::row<wallet>(r.locks, r.db, "o'hara ? \xc3\xa9\\")));
  r.add(line{.id = {"a:1", 2}});
  check(r, r.locks.acquire(dlock::row<line>(r.locks, r.db, {"a:1", 2})));
  r.add(seat{.id = {1, 2, "hall"}});
  check(r, r.locks.acquire(dlock::row<seat>(r.locks, r.db, {1, 2, "hall"})));
  r.add(job{.id = 1});
  check(r, r.locks.acquire(dlock::row<job>(r.locks, r.db, 1)));
}
