// SPDX-License-Identifier: BSL-1.0
// Rows in a file that has one writer at a time.
#include "odb/rows/row_fixture.hpp"
//

#include "dlock/odb/lock_row.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using dlock::lock_row;

TEST_CASE("sqlite rows: a commit beside a transaction of this thread that writes to the same file is refused at once",
          "[T75]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  odb::transaction mine(r.db.begin());
  r.db.execute("UPDATE orders SET amount = 7");
  CHECK(undisturbed(1s, [&] { CHECK_THROWS_AS(row.update(), dlock::store_error); }) < 1s);
  CHECK_THROWS_AS(row.commit(), dlock::store_error);
  CHECK(&odb::transaction::current() == &mine);
  mine.commit();
  CHECK(r.load<order>(1)->status == "paid");
  CHECK(lock_row<order>(r.others, r.db, 1));  // released with the transaction's outcome
}
