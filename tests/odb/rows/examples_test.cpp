// SPDX-License-Identifier: BSL-1.0
// The examples of docs/row-locks.md, so that they compile and do what the page says.
#include "odb/rows/row_fixture.hpp"
//

#include "dlock/odb/claim.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/macros.hpp"
#include "support/test.hpp"

using namespace dlock::test;

namespace {

void ship(order& o) { o.status = "shipped"; }

// [lock]
void ship_one(dlock::lock_service& locks, odb::database& db, int id) {
  auto row = dlock::lock_row<order>(locks, db, id, {.wait = 2s});  // waits, locks, loads
  ship(*row);
  row.commit();  // writes and unlocks; throws lock_lost, and nothing is written, if the row is not ours any more
}
// [/lock]

// [claim]
int ship_some(dlock::lock_service& locks, odb::database& db) {
  using query = odb::query<order>;
  int shipped = 0;
  const auto paid = (query::status == "paid") + "ORDER BY" + query::id;
  for (auto& row : dlock::claim<order>(locks, db, paid, 20, {.ttl = 30s})) {
    ship(*row);
    row.commit();
    ++shipped;
  }
  return shipped;
}
// [/claim]

// [transaction]
void ship_and_charge(dlock::lock_service& locks, odb::database& db, int id, const std::string& customer) {
  auto row = dlock::lock_row<order>(locks, db, id);
  auto purse = dlock::lock_row<wallet>(locks, db, customer);
  ship(*row);
  purse->pay(row->amount);
  odb::transaction both(dlock::begin_write(db));
  row.update(both);  // checks the lock and writes, in the caller's transaction
  purse.update(both);
  both.commit();
}
// [/transaction]

void ship_by_macro(odb::database& db, int id) {
  // clang-format off
  // [macros]
  DISTRIBUTED_LOCKED_ROW_AS(row, order, db, id, {.wait = 2s}) {
    ship(*row);
    row.commit();
  }
  // [/macros]
  // clang-format on
}

}  // namespace

TEST_CASE("row locks: the examples of the page do what it says") {
  rows r;
  set_default_service(r.locks);
  for (int id = 1; id <= 5; ++id) r.add(order{.id = id, .status = "paid", .amount = 5});
  r.add(wallet("ada", 20));
  ship_one(r.locks, r.db, 1);
  CHECK(r.load<order>(1)->status == "shipped");
  ship_by_macro(r.db, 2);
  CHECK(r.load<order>(2)->status == "shipped");
  ship_and_charge(r.locks, r.db, 3, "ada");
  CHECK(r.load<order>(3)->status == "shipped");
  CHECK(r.load<wallet>(std::string("ada"))->cents() == 15);
  CHECK(ship_some(r.locks, r.db) == 2);
  CHECK(ship_some(r.locks, r.db) == 0);
  CHECK_FALSE(dlock::try_lock_row<order>(r.others, r.db, 1).held().reentered());
}
