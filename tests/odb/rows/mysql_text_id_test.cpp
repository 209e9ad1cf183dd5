// SPDX-License-Identifier: BSL-1.0
// Ids that are texts, in columns of every kind: other character sets, other collations, bytes.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/verify.hpp"
#include "support/mysql_fixture.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

namespace {

void make_wallets(rows& r, const std::string& type) {
  r.sql("DROP TABLE wallet");
  r.sql("CREATE TABLE wallet (owner " + type +
        " NOT NULL PRIMARY KEY, cents BIGINT NOT NULL, lock_owner VARCHAR(50) NULL, lock_expires_at_us BIGINT NULL, "
        "lock_fence BIGINT UNSIGNED NOT NULL DEFAULT 0, version INT UNSIGNED NOT NULL) ENGINE=InnoDB");
}

/// Everything that is done with one row.
void check_all(rows& r, odb::database& db, const std::string& id) {
  auto row = lock_row<wallet>(r.locks, db, id);
  CHECK(row->owner() == id);
  CHECK_FALSE(try_lock_row<wallet>(r.others, db, id));
  row->pay(10);
  row.update();
  {
    odb::transaction in(db.begin());
    dlock::verify(in, row.held());
    row.update(in);
    in.commit();
  }
  row->pay(20);
  row.commit();
  auto claimed = dlock::claim<wallet>(r.others, db, odb::query<wallet>("cents = 70"), 5);
  REQUIRE(claimed.size() == 1);
  CHECK(claimed.front()->owner() == id);
  claimed.front()->pay(70);
  claimed.front().commit();
  CHECK(lock_row<wallet>(r.locks, db, id)->cents() == 0);
}

const std::string german = "Gr\xc3\xbc\xc3\x9f' \\";
const std::string japanese = "\xe6\x97\xa5\xe6\x9c\xac";

}  // namespace

TEST_CASE("mysql rows: a text id is found in a column of any character set and collation", "[rows][T56]") {
  rows r;
  const auto type =
      GENERATE(as<std::string>{}, "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci",
               "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_german1_ci",
               "VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_bin", "VARCHAR(40) CHARACTER SET utf8mb3",
               "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "VARCHAR(40) CHARACTER SET ucs2",
               "VARCHAR(40) CHARACTER SET utf16 COLLATE utf16_bin", "VARBINARY(40)");
  CAPTURE(type);
  make_wallets(r, type);
  r.add(wallet(german, 100));
  r.add(wallet("plain", 1));
  check_all(r, r.db, german);
  if (type.find("latin1") == std::string::npos) {
    r.add(wallet(japanese, 100));
    check_all(r, r.db, japanese);
  }
}

TEST_CASE("mysql rows: an id with characters that the column can't have names no row, not one with question marks",
          "[rows][T56]") {
  rows r;
  make_wallets(r, "VARCHAR(40) CHARACTER SET latin1");
  r.add(wallet("??", 100));
  r.add(wallet("?", 100));
  for (const auto& id : {japanese, std::string("\xf0\x9f\x94\x92"), std::string("\xe2\x80\x8b?")}) {
    try {
      const auto never = try_lock_row<wallet>(r.locks, r.db, id);
      FAIL("locked " << never->owner());
    } catch (const dlock::lock_refused& error) {
      CHECK(error.code() == dlock::errc::no_such_row);
    }
  }
  CHECK(lock_row<wallet>(r.locks, r.db, "??")->cents() == 100);
}

TEST_CASE("mysql rows: an id of bytes is compared as bytes", "[rows][T56]") {
  rows r;
  make_wallets(r, "VARBINARY(40)");
  const std::string bytes("\xff\x00'\xe9", 4);
  r.sql("INSERT INTO wallet (owner, cents, version) VALUES (X'FF0027E9', 100, 1)");
  auto row = lock_row<wallet>(r.locks, r.db, bytes);
  CHECK(row->owner() == bytes);
  const auto check = row.held().verification();
  CHECK(std::holds_alternative<dlock::verification::bytes>(check.parameters.at(3)));
  row->pay(30);
  row.commit();
  CHECK(dlock::claim<wallet>(r.locks, r.db, odb::query<wallet>("cents = 70"), 1).size() == 1);
}

TEST_CASE("mysql rows: an id is what the application's connections say it is, whatever they speak", "[rows][T56]") {
  rows r;
  const auto type = GENERATE(as<std::string>{}, "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                             "VARCHAR(40) CHARACTER SET latin1");
  CAPTURE(type);
  make_wallets(r, type);
  const auto latin =
      r.fixture->through(static_cast<std::uint16_t>(std::stoul(mysql_setting("DLOCK_TEST_MYSQL_PORT"))), "latin1");
  r.add(wallet(german, 100));
  check_all(r, *latin, "Gr\xfc\xdf' \\");
}

TEST_CASE("mysql rows: an id that is no text at all is refused with its column before any lock is taken", "[rows]") {
  rows r;
  CHECK_THROWS_AS(dlock::row<wallet>(r.locks, r.db, "\xff"), std::invalid_argument);
  try {
    static_cast<void>(lock_row<wallet>(r.locks, r.db, "a\xe9z"));
    FAIL("no UTF-8");
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).find("`owner` = 'a?z' is not UTF-8") != std::string::npos);
  }
}

TEST_CASE("mysql rows: spellings that a collation takes for one row exclude each other, and are no re-entry",
          "[rows][T56]") {
  rows r;
  make_wallets(r, "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci");
  r.add(wallet("Ada", 100));
  auto mine = lock_row<wallet>(r.locks, r.db, "ada");
  CHECK(mine->owner() == "Ada");
  CHECK_FALSE(try_lock_row<wallet>(r.others, r.db, "ADA"));
  CHECK_FALSE(try_lock_row<wallet>(r.locks, r.db, "ADA"));  // by the holder itself: another key
  CHECK(try_lock_row<wallet>(r.locks, r.db, "ada").held().reentered());
  mine->pay(1);
  mine.commit();
  CHECK(lock_row<wallet>(r.others, r.db,
                         "\xc3\xa1"
                         "da")
            ->cents() == 99);
}
