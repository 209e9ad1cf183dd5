// SPDX-License-Identifier: BSL-1.0
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <odb/session.hxx>
#include <stdexcept>
#include <string>

#include "dlock/odb/macros.hpp"
#include "dlock/owner.hpp"
#include "dlock/stores/memory.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

TEST_CASE("row lock: a row is held by one until it is released, others are told that it is busy", "[rows]") {
  rows r;
  r.add(order{.id = 42, .status = "paid"});
  auto mine = lock_row<order>(r.locks, r.db, 42);
  REQUIRE(mine);
  CHECK(mine->status == "paid");
  CHECK(mine.held().fencing_token() == 1);
  CHECK_FALSE(try_lock_row<order>(r.others, r.db, 42));
  CHECK_THROWS_AS(lock_row<order>(r.others, r.db, 42, {.wait = 50ms}), dlock::lock_timeout);
  mine.release();
  CHECK_FALSE(mine);
  const auto theirs = try_lock_row<order>(r.others, r.db, 42);
  REQUIRE(theirs);
  CHECK(theirs.held().fencing_token() == 2);
}

TEST_CASE("row lock: each row is a lock of its own, whatever the type of the id", "[rows]") {
  rows r;
  r.add(order{.id = -7});
  r.add(order{.id = 7});
  r.add(wallet("o'hara \xc3\xa9\\", 100));
  r.add(wallet("o'hara", 100));
  r.add(line{.id = {"a:1", 2}});
  r.add(line{.id = {"a", 12}});
  const auto negative = lock_row<order>(r.locks, r.db, -7);
  CHECK(try_lock_row<order>(r.others, r.db, 7));
  const auto text = lock_row<wallet>(r.locks, r.db, "o'hara \xc3\xa9\\");
  CHECK(text->owner() == "o'hara \xc3\xa9\\");
  CHECK(try_lock_row<wallet>(r.others, r.db, "o'hara"));
  CHECK_FALSE(try_lock_row<wallet>(r.others, r.db, "o'hara \xc3\xa9\\"));
  const auto pair = lock_row<line>(r.locks, r.db, {"a:1", 2});
  CHECK(pair->id.document == "a:1");
  CHECK(try_lock_row<line>(r.others, r.db, {"a", 12}));
  CHECK_FALSE(try_lock_row<line>(r.others, r.db, {"a:1", 2}));
}

TEST_CASE("row lock: a row that is not there is refused as such, and not waited for", "[rows]") {
  rows r;
  try {
    const auto never = lock_row<order>(r.locks, r.db, 1);
    FAIL("locked a row that is not there");
  } catch (const dlock::lock_refused& error) {
    CHECK(error.code() == dlock::errc::no_such_row);
    CHECK(std::string(error.what()).find("orders:1") != std::string::npos);
  }
  CHECK_THROWS_AS(try_lock_row<order>(r.locks, r.db, 1), dlock::lock_refused);
}

TEST_CASE("row lock: a table in another place than the locks is refused, and so are empty ids and bad options",
          "[rows]") {
  rows r;
  r.add(wallet("a", 1));
  dlock::stores::virtual_clock clock;
  dlock::lock_service elsewhere(std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock});
  CHECK_THROWS_AS(dlock::row<wallet>(elsewhere, r.db, "a"), std::invalid_argument);
  if (const auto other = r.fixture->elsewhere()) {
    CHECK_THROWS_AS(dlock::row<wallet>(r.locks, *other, "a"), std::invalid_argument);
  }
  CHECK_THROWS_AS(dlock::row<wallet>(r.locks, r.db, ""), std::invalid_argument);
  CHECK_THROWS_AS(dlock::row<line>(r.locks, r.db, {"", 1}), std::invalid_argument);
  CHECK_THROWS_AS(lock_row<wallet>(r.locks, r.db, "a", {.min_hold = 1s}), std::invalid_argument);
  CHECK_THROWS_AS(lock_row<wallet>(r.locks, r.db, "a", {.ttl = 0s}), std::invalid_argument);
}

TEST_CASE("row lock: a table without the lock columns is refused with the name of what is missing", "[rows]") {
  rows r;
  r.sql("ALTER TABLE orders RENAME COLUMN lock_fence TO lock_fence_2");
  try {
    static_cast<void>(dlock::row<order>(r.locks, r.db, 1));
    FAIL("a table without a fence");
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).find("lock_fence") != std::string::npos);
  }
}

TEST_CASE("row lock: a table is looked at once for each service and database", "[rows]") {
  rows r;
  static_cast<void>(dlock::row<order>(r.locks, r.db, 1));
  r.sql("ALTER TABLE orders RENAME COLUMN lock_fence TO lock_fence_2");
  CHECK_NOTHROW(dlock::row<order>(r.locks, r.db, 2));
  CHECK_THROWS_AS(dlock::row<order>(r.others, r.db, 2), std::invalid_argument);
}

TEST_CASE("row lock: keys name rows, are known by table and id, and mix with texts", "[rows]") {
  rows r;
  r.add(order{.id = 42});
  const auto key = dlock::row<order>(r.locks, r.db, 42);
  CHECK(key == dlock::row<order>(r.others, r.db, 42));
  CHECK(printable(key) == "orders:42");
  CHECK(key != dlock::lock_key("orders:42"));
  CHECK(printable(dlock::row<line>(r.locks, r.db, {"a:1", 2})) == "line:a%3A1:2");
  auto both = r.locks.acquire_all({dlock::lock_key("orders:42"), key}, at_once);
  CHECK_FALSE(r.others.try_acquire(key));
  CHECK_FALSE(r.others.try_acquire("orders:42"));
  both.release();
  CHECK(r.others.try_acquire(key));
}

TEST_CASE("row lock: an owner enters its own row again without a statement, others do not", "[rows]") {
  rows r;
  r.add(order{.id = 42});
  const auto outer = lock_row<order>(r.locks, r.db, 42);
  const auto before = r.locks.statements();
  {
    const auto inner = try_lock_row<order>(r.locks, r.db, 42);
    REQUIRE(inner);
    CHECK(inner.held().reentered());
    CHECK(inner.held().fencing_token() == outer.held().fencing_token());
    CHECK(r.locks.statements() == before);
  }
  CHECK_FALSE(try_lock_row<order>(r.others, r.db, 42));
  dlock::owner foreign;
  const dlock::owner_scope as(foreign);
  CHECK_FALSE(try_lock_row<order>(r.locks, r.db, 42));
}

TEST_CASE("row lock: inside a transaction of the caller's, that one stays current and is not used", "[rows][T75]") {
  paid_order r;
  odb::transaction mine(r.db.begin());
  // A read, so that it has a view of its own of the database.
  const std::unique_ptr<order> seen(r.db.load<order>(1));
  {
    auto row = lock_row<order>(r.locks, r.db, 1, at_once);
    CHECK(&odb::transaction::current() == &mine);
    row->status = "shipped";
    row.commit();
    CHECK(&odb::transaction::current() == &mine);
  }
  CHECK_THROWS_AS(lock_row<order>(r.locks, r.db, 2, at_once), dlock::lock_refused);
  CHECK(&odb::transaction::current() == &mine);
  mine.rollback();
  CHECK_FALSE(odb::transaction::has_current());
  CHECK(r.load<order>(1)->status == "shipped");
}

TEST_CASE("row lock: an object that a session has cached is not taken for the row", "[rows]") {
  rows r;
  r.add(wallet("ada", 100));
  odb::session cache;
  const auto old = r.load<wallet>(std::string("ada"));
  r.sql("UPDATE wallet SET cents = 70");
  auto row = lock_row<wallet>(r.locks, r.db, "ada");
  CHECK(&*row != old.get());
  CHECK(row->cents() == 70);
  CHECK(odb::session::current_pointer() == &cache);
  row->pay(1);
  CHECK_NOTHROW(row.commit());
}

TEST_CASE("row lock: the macros lock a row of the default service for one statement", "[rows]") {
  rows r;
  set_default_service(r.locks);
  r.add(order{.id = 42, .status = "paid"});
  const auto ship = [&](int id) {
    DISTRIBUTED_LOCKED_ROW_AS(row, order, r.db, id, {.wait = 0s}) {
      CHECK_FALSE(try_lock_row<order>(r.others, r.db, 42));
      row->status = "shipped";
      row.commit();
      return true;
    }
    return false;
  };
  CHECK(ship(42));
  CHECK(r.load<order>(42)->status == "shipped");
  CHECK(try_lock_row<order>(r.others, r.db, 42));
  int passed = 0;
  DISTRIBUTED_LOCKED_ROW(order, r.db, 42) {
    CHECK_FALSE(try_lock_row<order>(r.others, r.db, 42));
    ++passed;
  }
  CHECK(passed == 1);
  CHECK(try_lock_row<order>(r.others, r.db, 42));
}
