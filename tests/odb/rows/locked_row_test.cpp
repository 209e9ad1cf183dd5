// SPDX-License-Identifier: BSL-1.0
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <future>
#include <odb/exceptions.hxx>
#include <stdexcept>
#include <string>
#include <thread>

#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/verify.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

TEST_CASE("locked row: commit writes the entity and frees the row together", "[rows]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  row->status = "shipped";
  row->amount = 12;
  const auto before = r.locks.statements();
  row.commit();
  CHECK(r.locks.statements() == before);  // all of it was in the transaction
  CHECK_FALSE(row);
  const auto written = r.load<order>(1);
  CHECK(written->status == "shipped");
  CHECK(written->amount == 12);
  CHECK_FALSE(written->lock.held());
  CHECK(written->lock.fence() == 1);
  CHECK(r.locks.close(0ms).empty());
  CHECK(try_lock_row<order>(r.others, r.db, 1).held().fencing_token() == 2);
}

TEST_CASE("locked row: left without commit, nothing is written and the row is free", "[rows]") {
  paid_order r;
  {
    auto row = lock_row<order>(r.locks, r.db, 1);
    row->status = "lost";
  }
  CHECK(r.load<order>(1)->status == "paid");
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("locked row: update writes and keeps the lock", "[rows]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  row->status = "packed";
  row.update();
  CHECK(r.load<order>(1)->status == "packed");
  CHECK_FALSE(try_lock_row<order>(r.others, r.db, 1));
  row->status = "shipped";
  row.commit();
  CHECK(r.load<order>(1)->status == "shipped");
}

TEST_CASE("locked row: an update in the caller's transaction stands or falls with it, the lock outlives it", "[rows]") {
  paid_order r;
  r.add(order{.id = 2, .status = "paid"});
  {
    auto row = lock_row<order>(r.locks, r.db, 1);
    row->status = "shipped";
    odb::transaction mine(r.db.begin());
    row.update(mine);
    CHECK(&odb::transaction::current() == &mine);
    row.release();  // waits for the outcome
    CHECK(std::async(std::launch::async, [&] { return r.load<order>(1)->lock.held(); }).get());
    mine.commit();
  }
  CHECK(r.load<order>(1)->status == "shipped");
  CHECK(lock_row<order>(r.others, r.db, 1));
  {
    auto row = lock_row<order>(r.locks, r.db, 2);
    row->status = "shipped";
    odb::transaction mine(r.db.begin());
    row.update(mine);
    mine.rollback();
  }
  CHECK(r.load<order>(2)->status == "paid");
  CHECK(lock_row<order>(r.others, r.db, 2));
}

TEST_CASE("locked row: a lock that was lost before the commit writes nothing", "[rows]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  row->status = "late";
  r.take_over(1);
  SECTION("by commit") {
    CHECK_THROWS_AS(row.commit(), dlock::lock_lost);
    CHECK_FALSE(row);
  }
  SECTION("by update") { CHECK_THROWS_AS(row.update(), dlock::lock_lost); }
  SECTION("by update in the caller's transaction, which is rolled back") {
    odb::transaction mine(r.db.begin());
    CHECK_THROWS_AS(row.update(mine), dlock::lock_lost);
    CHECK(mine.finalized());
  }
  const auto now = r.load<order>(1);
  CHECK(now->status == "paid");
  CHECK(now->lock.held());
  CHECK(now->lock.fence() == 2);
}

TEST_CASE("locked row: a copy loaded before a grant can't be written any more, and no lock column by anybody",
          "[rows][T72]") {
  paid_order r;
  const auto copy = r.load<order>(1);
  const auto row = lock_row<order>(r.locks, r.db, 1);
  const auto held = r.load<order>(1);
  CHECK(held->lock.held());
  copy->status = "stale";
  CHECK_THROWS_AS(r.update(*copy), odb::object_changed);
  // Loaded after the grant, it can be written by those who take no locks; but not the lock itself.
  const auto fresh = r.load<order>(1);
  fresh->status = "unlocked";
  r.update(*fresh);
  CHECK(r.load<order>(1)->lock.held());
  CHECK(r.load<order>(1)->lock.fence() == held->lock.fence());
  CHECK_NOTHROW(row.held().ensure_held());
  CHECK_FALSE(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("locked row: after a take-over the former holder's own update is refused by ODB as well", "[rows][T72]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  r.take_over(1);
  row->status = "late";
  CHECK_THROWS_AS(r.update(*row), odb::object_changed);
  CHECK(r.load<order>(1)->status == "paid");
}

TEST_CASE("locked row: a write past the lock is found at the commit, and the row is free afterwards", "[rows]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  const auto other = r.load<order>(1);
  other->amount = 5;
  r.update(*other);
  row->status = "shipped";
  CHECK_THROWS_AS(row.commit(), odb::object_changed);
  CHECK_FALSE(row);
  CHECK(r.load<order>(1)->status == "paid");
  CHECK(r.load<order>(1)->amount == 5);
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("locked row: renewals change neither the version nor anything else of the row", "[rows][T73]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1, {.ttl = 5s});
  const auto copy = r.load<order>(1);
  const auto end = std::chrono::steady_clock::now() + 5500ms;  // longer than the ttl: it was renewed
  while (std::chrono::steady_clock::now() < end) {
    REQUIRE(row.held().remaining() > 0us);
    std::this_thread::sleep_for(50ms);
  }
  CHECK(r.load<order>(1)->version == copy->version);
  row->status = "shipped";
  CHECK_NOTHROW(row.commit());
  CHECK(r.load<order>(1)->version == copy->version + 1);
}

TEST_CASE("locked row: an inner lock writes at its commit and leaves the row to the outer one", "[rows]") {
  paid_order r;
  auto outer = lock_row<order>(r.locks, r.db, 1);
  {
    auto inner = lock_row<order>(r.locks, r.db, 1);
    inner->status = "packed";
    inner.commit();
  }
  CHECK(r.load<order>(1)->status == "packed");
  CHECK_FALSE(try_lock_row<order>(r.others, r.db, 1));
  CHECK_THROWS_AS(outer.commit(), odb::object_changed);  // it was loaded before
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("locked row: members that are private are written as well", "[rows]") {
  rows r;
  r.add(wallet("alice", 100));
  auto row = lock_row<wallet>(r.locks, r.db, "alice");
  row->pay(30);
  row.commit();
  CHECK(r.load<wallet>(std::string("alice"))->cents() == 70);
}

TEST_CASE("locked row: a copy of a locked entity that is stored under a new id is free", "[rows]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  order copy = *row;
  copy.id = 2;
  r.add(copy);
  CHECK(try_lock_row<order>(r.others, r.db, 2));
  row = {};
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("locked row: an empty one refuses what needs the entity", "[rows]") {
  dlock::locked_row<order> none;
  CHECK_FALSE(none);
  CHECK_THROWS_AS(none->status, std::logic_error);
  CHECK_THROWS_AS(none.commit(), std::logic_error);
  CHECK_THROWS_AS(none.update(), std::logic_error);
  CHECK_THROWS_AS(none.release(), std::logic_error);
}
