// SPDX-License-Identifier: BSL-1.0
// The application's database, from the URL of its locks.
#include <odb/database.hxx>  // first: what dlock::odb brings makes ODB's headers compile in any order
#include <odb/transaction.hxx>
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <odb/exception.hxx>
#include <stdexcept>

#include "dlock/odb/database.hpp"
#include "odb/verify/verify_scene.hpp"

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace dlock::test {

TEST_CASE_METHOD(verify_scene, "database: from the locks' URL it is the place where they can be verified", "[verify]") {
  const auto db = open_database(fixture->locks());
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t{begin_write(*db)};
  CHECK_NOTHROW(mine.verify(t));
  mine.release();
  CHECK(busy_elsewhere("wallet:1"));
  t.commit();
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);
}

TEST_CASE_METHOD(verify_scene, "database: a transaction that is begun for writing is not refused for having read",
                 "[verify]") {
  const auto db = open_database(fixture->bank());
  odb::transaction t{begin_write(*db)};
  const auto before = load(*db, 1).balance;
  auto other = std::async(std::launch::async, [&] {  // waits, where there is one writer at a time
    odb::transaction theirs{begin_write(*db)};
    write(*db, 2, 50);
    theirs.commit();
  });
  if (fixture->locks_rows()) other.wait();
  CHECK_NOTHROW(write(*db, 1, before - 10));
  t.commit();
  other.get();
  CHECK(seen(1) == balance - 10);
  CHECK(seen(2) == 50);
}

TEST_CASE_METHOD(verify_scene, "database: any ODB database can begin a transaction for writing", "[verify]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t{begin_write(*bank)};
  static_cast<void>(load(*bank, 1));
  mine.verify(t);
  t.commit();
}

TEST_CASE("database: what is no database, or no URL, is refused at the call", "[verify]") {
  CHECK_THROWS_AS(open_database("memory:"), std::invalid_argument);
  CHECK_THROWS_AS(open_database("sqlite:x.db?colour=red"), std::invalid_argument);
  CHECK_THROWS_AS(open_database("nothing"), std::invalid_argument);
}

}  // namespace dlock::test
