// SPDX-License-Identifier: BSL-1.0
// Rows in a file that has one writer at a time.
#include "odb/rows/row_fixture.hpp"
//

#include "dlock/odb/lock_row.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using dlock::lock_row;

TEST_CASE_METHOD(
    paid_order,
    "sqlite rows: a commit beside a transaction of this thread that writes to the same file is refused at once",
    "[T75]") {
  auto row = lock_row<order>(locks, db, 1);
  odb::transaction mine(db.begin());
  db.execute("UPDATE orders SET amount = 7");
  CHECK(undisturbed(1s, [&] { CHECK_THROWS_AS(row.update(), dlock::store_error); }) < 1s);
  CHECK_THROWS_AS(row.commit(), dlock::store_error);
  CHECK(&odb::transaction::current() == &mine);
  mine.commit();
  CHECK(load<order>(1)->status == "paid");
  CHECK(lock_row<order>(others, db, 1));  // released with the transaction's outcome
}
