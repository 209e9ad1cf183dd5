// SPDX-License-Identifier: BSL-1.0
// The example of docs/testing.md with rows and transactions, so that it compiles and does what the page says.
#include "odb/rows/row_fixture.hpp"
//

#include <odb/schema-catalog.hxx>

#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/verify.hpp"
#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
#include "support/test.hpp"

using namespace dlock::test;

TEST_CASE("testing: rows and transactions on an SQLite file, on a virtual clock") {
  const scratch_folder folder;
  const std::string url = "sqlite:" + folder / "test.db";
  // [setup]
  dlock::stores::virtual_clock clock;
  const auto db = dlock::open_database(url);  // "sqlite:test.db", in a folder that is empty
  {
    odb::transaction t(db->begin());
    odb::schema_catalog::create_schema(*db);
    order first{.id = 1, .status = "paid"};
    db->persist(first);
    t.commit();
  }
  dlock::lock_service locks{url, {.label = "worker 1", .time = &clock}};
  dlock::lock_service others{url, {.label = "worker 2", .time = &clock}};
  // [/setup]
  {
    const auto theirs = dlock::lock_row<order>(others, *db, 1);
    CHECK_FALSE(granted(dlock::try_lock_row<order>(locks, *db, 1)));
  }
  SECTION("a row") {
    // [lost]
    auto row = dlock::lock_row<order>(locks, *db, 1, {.ttl = 30s});
    row->status = "shipped";
    clock.advance(40s);  // as if this process had been stopped for 40 s
    CHECK_THROWS_AS(row.commit(), dlock::lock_lost);

    odb::transaction t(db->begin());
    CHECK(std::unique_ptr<order>(db->load<order>(1))->status == "paid");  // nothing was written
    t.commit();
    // [/lost]
  }
  SECTION("a transaction") {
    // [verify]
    const auto held = locks.acquire("order:1", {.ttl = 30s});
    clock.advance(40s);
    odb::transaction t(dlock::begin_write(*db));
    CHECK_THROWS_AS(held.verify(t), dlock::lock_lost);
    CHECK(t.finalized());  // it was rolled back
    // [/verify]
  }
}
