// SPDX-License-Identifier: BSL-1.0
// Ids of several columns: the order of the members is the class's, that of the columns the table's.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "odb/statement_text.hpp"

using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;
using dlock::lock_row;
using dlock::try_lock_row;
using dlock::detail::compared_columns;
using dlock::detail::joins_tables;
using names = std::vector<std::string>;

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

TEST_CASE("row id: a composite one names its row by its columns' names, in whatever order the table has them",
          "[rows]") {
  rows r;
  make_seats(r);
  for (std::int64_t row = 1; row <= 2; ++row) {
    for (std::int64_t number = 1; number <= 2; ++number) r.add(seat{.id = {row, number, "1"}});
  }
  auto mine = lock_row<seat>(r.locks, r.db, {1, 2, "1"});
  CHECK(mine->id.row == 1);
  CHECK(mine->id.number == 2);
  CHECK(r.load<seat>(seat_id{1, 2, "1"})->lock.held());
  CHECK_FALSE(r.load<seat>(seat_id{2, 1, "1"})->lock.held());
  CHECK_FALSE(try_lock_row<seat>(r.others, r.db, {1, 2, "1"}));
  CHECK(try_lock_row<seat>(r.others, r.db, {2, 1, "1"}));
  mine->sold = 1;
  mine.commit();
  CHECK(r.load<seat>(seat_id{1, 2, "1"})->sold == 1);
  CHECK(r.load<seat>(seat_id{2, 1, "1"})->sold == 0);
  auto claimed = dlock::claim<seat>(r.locks, r.db, odb::query<seat>::id.row == 2, 5);
  REQUIRE(claimed.size() == 2);
  for (auto& each : claimed) {
    CHECK(each->id.row == 2);
    each->sold = 7;
    each.commit();
  }
  CHECK(r.load<seat>(seat_id{2, 1, "1"})->sold == 7);
}

TEST_CASE("row id: one of two columns that the table has the other way round", "[rows]") {
  rows r;
  make_table(r, "line", "id_number BIGINT NOT NULL, id_document VARCHAR(40) NOT NULL, count INTEGER NOT NULL",
             "id_number, id_document");
  r.add(line{.id = {"7", 8}});
  r.add(line{.id = {"8", 7}});
  const auto mine = lock_row<line>(r.locks, r.db, {"7", 8});
  CHECK(r.load<line>(line_id{"7", 8})->lock.held());
  CHECK_FALSE(r.load<line>(line_id{"8", 7})->lock.held());
}

TEST_CASE("row id: one that is not the primary key is refused with both", "[rows]") {
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

TEST_CASE("row id: a member that is no column is refused", "[rows]") {
  rows r;
  r.add(memo{.id = {1, 0}});
  CHECK_THROWS_WITH(dlock::row<memo>(r.locks, r.db, {1, 0}), ContainsSubstring("transient"));
  CHECK_THROWS_AS(dlock::claim<memo>(r.locks, r.db, odb::query<memo>(), 1), std::invalid_argument);
}

TEST_CASE("row id: its columns are read from ODB's statement", "[rows]") {
  CHECK(compared_columns("SELECT `a`.`x` FROM `a` WHERE `a`.`x`=?") == names{"`x`"});
  CHECK(compared_columns("SELECT 1 FROM \"a b\" WHERE \"a b\".\"x\"\"y\"=? AND \"a b\".\"z.WHERE\"=?") ==
        names{"\"x\"\"y\"", "\"z.WHERE\""});
  CHECK(compared_columns("SELECT (SELECT 1 FROM b WHERE b.y=1) FROM `a` WHERE `x`=?") == names{"`x`"});
  CHECK(compared_columns("SELECT 1 FROM `a` WHERE `a`.`x`=CAST(? AS CHAR)").empty());
  CHECK(compared_columns("SELECT 1 FROM `a` WHERE `a`.`x`=? OR `a`.`y`=?").empty());
  CHECK(compared_columns("SELECT 1 FROM `a`").empty());
  CHECK(joins_tables("SELECT 1 FROM `a` LEFT JOIN `b` ON `b`.`id`=`a`.`b` WHERE `b`.`x`=?"));
  CHECK_FALSE(joins_tables("SELECT 1 FROM `a join` WHERE `x` IN (SELECT 1 FROM b JOIN c) AND joined='JOIN'"));
}
