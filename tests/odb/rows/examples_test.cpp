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

TEST_CASE_METHOD(rows, "row locks: the examples of the page do what it says") {
  set_default_service(locks);
  for (int id = 1; id <= 5; ++id) add(order{.id = id, .status = "paid", .amount = 5});
  add(wallet("ada", 20));
  ship_one(locks, db, 1);
  CHECK(load<order>(1)->status == "shipped");
  ship_by_macro(db, 2);
  CHECK(load<order>(2)->status == "shipped");
  ship_and_charge(locks, db, 3, "ada");
  CHECK(load<order>(3)->status == "shipped");
  CHECK(load<wallet>(std::string("ada"))->cents() == 15);
  CHECK(ship_some(locks, db) == 2);
  CHECK(ship_some(locks, db) == 0);
  CHECK_FALSE(dlock::try_lock_row<order>(others, db, 1).held().reentered());
}
