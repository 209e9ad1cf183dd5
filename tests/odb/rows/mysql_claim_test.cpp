// SPDX-License-Identifier: BSL-1.0
// Claims where transactions lock rows.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <odb/connection.hxx>
#include <odb/query-dynamic.hxx>
#include <vector>

#include "dlock/odb/claim.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::claim;
using query = odb::query<order>;

TEST_CASE("mysql rows: a claim passes over a row that somebody's transaction has locked and does not wait for it",
          "[rows]") {
  rows r;
  for (int id = 1; id <= 3; ++id) r.add(order{.id = id});
  const auto other = r.db.connection();
  other->execute("BEGIN");
  other->execute("UPDATE orders SET amount = 1 WHERE id = 1");
  const auto begun = std::chrono::steady_clock::now();
  {
    const auto claimed = claim<order>(r.locks, r.db, query("ORDER BY id"), 3);
    REQUIRE(claimed.size() == 2);
    CHECK(claimed[0]->id == 2);
    CHECK(claimed[1]->id == 3);
  }
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  other->execute("ROLLBACK");
  CHECK(claim<order>(r.locks, r.db, query("ORDER BY id"), 3).size() == 3);
}
