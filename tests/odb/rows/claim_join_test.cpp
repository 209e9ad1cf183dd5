// SPDX-License-Identifier: BSL-1.0
// Claims whose query says something about other tables than that of the rows.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <odb/connection.hxx>
#include <odb/query-dynamic.hxx>
#include <stdexcept>
#include <vector>

#include "dlock/odb/claim.hpp"

using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;
using dlock::claim;
using query = odb::query<parcel>;

namespace {

struct parcels : rows {
  parcels() {
    odb::transaction in(db.begin());
    for (int id = 1; id <= 2; ++id) {
      const auto town = std::make_shared<receiver>(receiver{.id = id, .town = id == 1 ? "Ulm" : "Bern"});
      db.persist(*town);
      for (int number : {10, 20}) {
        parcel parcel{.id = number + id, .to = town};
        db.persist(parcel);
      }
    }
    in.commit();
  }
};

std::vector<int> ids(const std::vector<dlock::locked_row<parcel>>& claimed) {
  std::vector<int> all;
  for (const auto& row : claimed) all.push_back(row->id);
  return all;
}

}  // namespace

TEST_CASE_METHOD(parcels, "claim: a query that follows a pointer locks no row of the other table, or is refused",
                 "[rows]") {
  const auto to_ulm = (query::to->town == "Ulm") + "ORDER BY" + query::id;
  if (fixture->locks_joined_rows()) {
    CHECK_THROWS_AS(claim<parcel>(locks, db, to_ulm, 5), std::invalid_argument);
    CHECK_THROWS_WITH(claim<parcel>(locks, db, to_ulm, 5), ContainsSubstring("sub-query"));
    CHECK(claim<parcel>(others, db, query(), 5).size() == 4);  // nothing was locked
  } else {
    const auto theirs = db.connection();
    if (!fixture->is_sqlite()) {  // a transaction locks the file there
      theirs->execute("BEGIN");
      theirs->execute("UPDATE receiver SET town = 'Ulm' WHERE id = 1");
    }
    CHECK(ids(claim<parcel>(locks, db, to_ulm, 5)) == std::vector<int>{11, 21});
    if (!fixture->is_sqlite()) theirs->execute("ROLLBACK");
  }
}

TEST_CASE_METHOD(parcels, "claim: a sub-query about another table passes over no row that is locked there", "[rows]") {
  const query to_ulm("parcel.\"to\" IN (SELECT id FROM receiver WHERE town = 'Ulm') ORDER BY parcel.id");
  const query to_ulm_mysql("parcel.`to` IN (SELECT id FROM receiver WHERE town = 'Ulm') ORDER BY parcel.id");
  const auto theirs = db.connection();
  if (!fixture->is_sqlite()) {
    theirs->execute("BEGIN");
    theirs->execute("UPDATE receiver SET town = 'Ulm' WHERE id = 1");
  }
  CHECK(ids(claim<parcel>(locks, db, fixture->is_sqlite() ? to_ulm : to_ulm_mysql, 5)) == std::vector<int>{11, 21});
  if (!fixture->is_sqlite()) theirs->execute("ROLLBACK");
}

TEST_CASE_METHOD(parcels, "claim: entities with pointers are loaded with what they point to", "[rows]") {
  const auto claimed = claim<parcel>(locks, db, query("ORDER BY parcel.id"), 5);
  REQUIRE(ids(claimed) == std::vector<int>{11, 12, 21, 22});
  CHECK(claimed[0]->to->town == "Ulm");
  CHECK(claimed[1]->to->town == "Bern");
}
