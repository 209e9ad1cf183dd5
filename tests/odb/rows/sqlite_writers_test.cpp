// SPDX-License-Identifier: BSL-1.0
// Rows in a file that has one writer at a time.
#include "odb/rows/row_fixture.hpp"
//

#include <filesystem>
#include <odb/schema-catalog.hxx>

#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
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
  CHECK(granted(lock_row<order>(others, db, 1)));  // released with the transaction's outcome
}

TEST_CASE("sqlite rows: a file that was replaced under the program is named as such") {
  const scratch_folder folder;
  const auto url = "sqlite:" + folder / "app.db";
  const auto made = [&] {
    auto db = dlock::open_database(url);
    odb::transaction t(db->begin());
    odb::schema_catalog::create_schema(*db);
    order first{.id = 1};
    db->persist(first);
    t.commit();
    return db;
  };
  const auto db = made();
  dlock::lock_service locks(url);
  lock_row<order>(locks, *db, 1).release();
  for (const auto* const end : {"", "-wal", "-shm", "-wake"}) std::filesystem::remove(folder / "app.db" + end);
  const auto anew = made();
  CHECK_THROWS_WITH(lock_row<order>(locks, *db, 1), ContainsSubstring("app.db' was replaced"));
}
