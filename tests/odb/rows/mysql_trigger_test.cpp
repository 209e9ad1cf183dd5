// SPDX-License-Identifier: BSL-1.0
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <odb/mysql/database.hxx>
#include <string>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "support/mysql_trigger.hpp"

using namespace dlock::test;

TEST_CASE("mysql rows: a table with an audit trigger is locked, claimed and written as any other", "[rows][triggers]") {
  const mysql_fixture beside;
  rows r;
  audit log(beside);
  const auto table = "`" + std::string(static_cast<odb::mysql::database&>(r.db).db()) + "`.`orders`";
  log.watch(table, "BEFORE UPDATE");
  log.watch(table, "AFTER UPDATE");
  r.add(order{.id = 1, .status = "new", .amount = 10});
  r.add(order{.id = 2, .status = "new", .amount = 20});
  for (int round = 1; round != 3; ++round) {
    auto locked = dlock::lock_row<order>(r.locks, r.db, 1);
    CHECK(locked.held().fencing_token() == static_cast<std::uint64_t>(round));
    CHECK_FALSE(dlock::try_lock_row<order>(r.others, r.db, 1));
    locked->amount = 10 + round;
    locked.commit();
    CHECK(r.load<order>(1)->amount == 10 + round);
  }
  auto claimed = dlock::claim<order>(r.locks, r.db, odb::query<order>::status == "new", 2);
  REQUIRE(claimed.size() == 2);
  CHECK(claimed[0].held().fencing_token() == 3);
  CHECK(claimed[1].held().fencing_token() == 1);
  for (auto& row : claimed) {
    row->status = "done";
    row.commit();
  }
  CHECK(dlock::claim<order>(r.others, r.db, odb::query<order>::status == "new", 2).empty());
  CHECK(r.locks.count(dlock::event::kind::split_brain) == 0);
}
