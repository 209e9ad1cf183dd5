// SPDX-License-Identifier: BSL-1.0
// Rows that are deleted while they are locked.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <string>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"

using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

TEST_CASE("deleted row: its lock ends with it, and its holder writes nothing any more", "[rows]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  row->status = "shipped";
  REQUIRE(r.sql("DELETE FROM orders WHERE id = 1") == 1);
  SECTION("by commit") { CHECK_THROWS_AS(row.commit(), dlock::lock_lost); }
  SECTION("by update") { CHECK_THROWS_AS(row.update(), dlock::lock_lost); }
  SECTION("by update in the caller's transaction, which is rolled back") {
    r.add(order{.id = 2, .status = "paid"});
    odb::transaction mine(dlock::begin_write(r.db));
    r.db.execute("UPDATE orders SET status = 'late' WHERE id = 2");
    CHECK_THROWS_AS(row.update(mine), dlock::lock_lost);
    CHECK(mine.finalized());
    CHECK(r.load<order>(2)->status == "paid");
  }
  SECTION("by a release, whose text does not say that somebody took it") {
    std::string text;
    try {
      row.release();
    } catch (const dlock::lock_lost& lost) {
      text = lost.what();
    }
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring("or its row was deleted"));
    CHECK_THAT(text, !Catch::Matchers::ContainsSubstring("taken over"));
  }
  CHECK_FALSE(r.locks.holder(dlock::row<order>(r.locks, r.db, 1)));
  CHECK_THROWS_AS(try_lock_row<order>(r.others, r.db, 1), dlock::lock_refused);
}

TEST_CASE("deleted row: one that is inserted anew under the same id is another row, free, and safe from its old holder",
          "[rows]") {
  paid_order r;
  auto old = lock_row<order>(r.locks, r.db, 1);
  r.sql("DELETE FROM orders WHERE id = 1");
  r.add(order{.id = 1, .status = "new"});
  auto mine = try_lock_row<order>(r.others, r.db, 1);
  REQUIRE(mine);
  CHECK(mine.held().fencing_token() == 1);  // counted from the beginning: the number was in the row
  CHECK(old.held().fencing_token() == 1);
  old->status = "late";
  const bool by_commit = GENERATE(true, false);
  CAPTURE(by_commit);
  if (by_commit) {
    CHECK_THROWS_AS(old.commit(), dlock::lock_lost);
  } else {
    CHECK_THROWS_AS(old.release(), dlock::lock_lost);
  }
  CHECK(r.load<order>(1)->status == "new");
  CHECK_NOTHROW(mine.held().ensure_held());
  mine->status = "paid";
  CHECK_NOTHROW(mine.commit());
}

TEST_CASE("deleted row: a waiter is told that it is gone, and a claim takes the others", "[rows]") {
  rows r;
  for (int id = 1; id <= 3; ++id) r.add(order{.id = id});
  const auto held = lock_row<order>(r.locks, r.db, 1);
  r.sql("DELETE FROM orders WHERE id = 1");
  CHECK_THROWS_AS(lock_row<order>(r.others, r.db, 1), dlock::lock_refused);
  CHECK(dlock::claim<order>(r.others, r.db, odb::query<order>("ORDER BY id"), 5).size() == 2);
}
