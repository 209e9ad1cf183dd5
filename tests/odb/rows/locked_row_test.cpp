// SPDX-License-Identifier: BSL-1.0

#include <odb/exceptions.hxx>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/verify.hpp"
#include "odb/rows/order_in_hand.hpp"
#include "odb/rows/row_fixture.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

TEST_CASE("locked row: commit writes the entity and frees the row together") {
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

TEST_CASE("locked row: left without commit, nothing is written and the row is free") {
  paid_order r;
  {
    auto row = lock_row<order>(r.locks, r.db, 1);
    row->status = "lost";
  }
  CHECK(r.load<order>(1)->status == "paid");
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("locked row: update writes and keeps the lock") {
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

TEST_CASE("locked row: an update in the caller's transaction stands or falls with it, the lock outlives it") {
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

TEST_CASE("locked row: a lock that was lost before the commit writes nothing") {
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
          "[T72]") {
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

TEST_CASE("locked row: after a take-over the former holder's own update is refused by ODB as well", "[T72]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  r.take_over(1);
  row->status = "late";
  CHECK_THROWS_AS(r.update(*row), odb::object_changed);
  CHECK(r.load<order>(1)->status == "paid");
}

TEST_CASE("locked row: a write past the lock is found at the commit, and the row is free afterwards") {
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

TEST_CASE("locked row: renewals change neither the version nor anything else of the row", "[T73]") {
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

TEST_CASE("locked row: an inner lock writes at its commit and leaves the row to the outer one") {
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

TEST_CASE("locked row: members that are private are written as well") {
  rows r;
  r.add(wallet("alice", 100));
  auto row = lock_row<wallet>(r.locks, r.db, "alice");
  row->pay(30);
  row.commit();
  CHECK(r.load<wallet>(std::string("alice"))->cents() == 70);
}

TEST_CASE("locked row: a copy of a locked entity that is stored under a new id is free") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  order copy = *row;
  copy.id = 2;
  r.add(copy);
  CHECK(try_lock_row<order>(r.others, r.db, 2));
  row = {};
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("locked row: an empty one refuses what needs the entity") {
  dlock::locked_row<order> none;
  CHECK_FALSE(none);
  CHECK_THROWS_AS(none->status, std::logic_error);
  CHECK_THROWS_AS(none.commit(), std::logic_error);
  CHECK_THROWS_AS(none.update(), std::logic_error);
  CHECK_THROWS_AS(none.release(), std::logic_error);
}

// Writes of locked rows that fail: what becomes of the row, of the entity in memory, and of the transaction.

namespace {

struct refused_by_test : std::runtime_error {
  refused_by_test() : std::runtime_error("refused by the test") {}
};

void fail_once(int& calls) {
  if (++calls == 1) throw odb::deadlock();
}

}  // namespace

TEST_CASE("row write: a commit that met a deadlock after its write is tried again, and writes") {
  rows r;
  order_in_hand in_hand(r);
  int calls = 0;
  CHECK_NOTHROW(
      dlock::detail::commit_row(r.db, std::move(in_hand.held), in_hand.write_and([&calls] { fail_once(calls); })));
  CHECK(calls == 2);
  CHECK(r.load<order>(1)->status == "shipped");
  CHECK(r.load<order>(1)->version == in_hand.entity->version);
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("row write: an update that met a deadlock after its write is tried again, and writes") {
  rows r;
  order_in_hand in_hand(r);
  int calls = 0;
  CHECK_NOTHROW(dlock::detail::update_row(r.db, in_hand.held, in_hand.write_and([&calls] { fail_once(calls); })));
  CHECK(calls == 2);
  CHECK(r.load<order>(1)->status == "shipped");
  CHECK_FALSE(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("row write: an update that failed can be called again with the same entity") {
  rows r;
  order_in_hand in_hand(r);
  const auto version = in_hand.entity->version;
  const auto refuse = in_hand.write_and([] { throw refused_by_test(); });
  CHECK_THROWS_AS(dlock::detail::update_row(r.db, in_hand.held, refuse), refused_by_test);
  CHECK(in_hand.entity->version == version);
  CHECK(r.load<order>(1)->status == "paid");
  CHECK_NOTHROW(dlock::detail::update_row(r.db, in_hand.held, in_hand.write_and([] {})));
  CHECK(in_hand.entity->version == version + 1);
  CHECK(r.load<order>(1)->status == "shipped");
}

TEST_CASE("row write: an update whose transaction is rolled back can be done again with the same entity") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  const auto version = row->version;
  const int writes = GENERATE(1, 2);
  const bool by_destructor = GENERATE(false, true);
  CAPTURE(writes, by_destructor);
  {
    odb::transaction mine(r.db.begin());
    for (int i = 0; i != writes; ++i) row.update(mine);
    CHECK(row->version == version + static_cast<unsigned>(writes));
    if (!by_destructor) mine.rollback();
  }
  CHECK(row->version == version);
  row->status = "packed";
  {
    odb::transaction mine(r.db.begin());
    row.update(mine);
    mine.commit();
  }
  CHECK(row->version == version + 1);
  row->status = "shipped";
  CHECK_NOTHROW(row.commit());
  CHECK(r.load<order>(1)->status == "shipped");
}

TEST_CASE("row write: an entity may be gone when the transaction that wrote it is rolled back") {
  paid_order r;
  odb::transaction mine(r.db.begin());
  {
    auto row = lock_row<order>(r.locks, r.db, 1);
    row.update(mine);
  }
  mine.rollback();
  CHECK(lock_row<order>(r.others, r.db, 1)->status == "paid");
}

TEST_CASE("row write: an update is done in the transaction it is given, though another one is current", "[T75]") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  row->status = "shipped";
  odb::transaction current(r.db.begin());
  odb::transaction given(r.db.begin(), false);
  row.update(given);
  CHECK(&odb::transaction::current() == &current);
  current.rollback();
  CHECK(r.load<order>(1)->status == "paid");
  given.commit();
  CHECK(r.load<order>(1)->status == "shipped");
}

TEST_CASE("row write: when its write throws, the caller's transaction is rolled back and the current one stays") {
  rows r;
  order_in_hand in_hand(r);
  r.add(order{.id = 2, .status = "paid"});
  odb::transaction current(r.db.begin());
  odb::transaction given(r.db.begin(), false);
  const auto refuse = in_hand.write_and([] { throw refused_by_test(); });
  CHECK_THROWS_AS(dlock::detail::update_row(given, in_hand.held, refuse), refused_by_test);
  CHECK(given.finalized());
  CHECK(&odb::transaction::current() == &current);
  current.rollback();
  CHECK(r.load<order>(1)->status == "paid");
  CHECK_NOTHROW(in_hand.held.release());
}

TEST_CASE("row write: a write that ends its own transaction is told, and the row is free afterwards") {
  rows r;
  order_in_hand in_hand(r);
  const auto end = in_hand.write_and([&] { r.db.execute("COMMIT"); });
  SECTION("by commit") {
    CHECK_THROWS_AS(dlock::detail::commit_row(r.db, std::move(in_hand.held), end), std::logic_error);
    CHECK(r.locks.count(dlock::event::kind::split_brain) == 0);
  }
  SECTION("by update") {
    CHECK_THROWS_AS(dlock::detail::update_row(r.db, in_hand.held, end), std::logic_error);
    in_hand.held.release();
  }
  SECTION("by update in the caller's transaction") {
    odb::transaction mine(r.db.begin());
    CHECK_THROWS_AS(dlock::detail::update_row(mine, in_hand.held, end), std::logic_error);
    CHECK(mine.finalized());
    in_hand.held.release();
  }
  CHECK(try_lock_row<order>(r.others, r.db, 1));
}

// Rows that are deleted while they are locked.

TEST_CASE("deleted row: its lock ends with it, and its holder writes nothing any more") {
  paid_order r;
  auto row = lock_row<order>(r.locks, r.db, 1);
  row->status = "shipped";
  REQUIRE(r.sql("DELETE FROM orders WHERE id = 1") == 1);
  SECTION("by commit") { CHECK_THROWS_AS(row.commit(), dlock::lock_lost); }
  SECTION("by update") { CHECK_THROWS_AS(row.update(), dlock::lock_lost); }
  SECTION("by update in the caller's transaction, which is rolled back") {
    r.add(order{.id = 2, .status = "paid"});
    odb::transaction mine(dlock::begin_write(r.db));
    r.db.execute("UPDATE orders SET status = 'late' WHERE id = 2");
    CHECK_THROWS_AS(row.update(mine), dlock::lock_lost);
    CHECK(mine.finalized());
    CHECK(r.load<order>(2)->status == "paid");
  }
  SECTION("by a release, whose text does not say that somebody took it") {
    std::string text;
    try {
      row.release();
    } catch (const dlock::lock_lost& lost) {
      text = lost.what();
    }
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring("or its row was deleted"));
    CHECK_THAT(text, !Catch::Matchers::ContainsSubstring("taken over"));
  }
  CHECK_FALSE(r.locks.holder(dlock::row<order>(r.locks, r.db, 1)));
  CHECK_THROWS_AS(try_lock_row<order>(r.others, r.db, 1), dlock::lock_refused);
}

TEST_CASE(
    "deleted row: one that is inserted anew under the same id is another row, free, and safe from its old holder") {
  paid_order r;
  auto old = lock_row<order>(r.locks, r.db, 1);
  r.sql("DELETE FROM orders WHERE id = 1");
  r.add(order{.id = 1, .status = "new"});
  auto mine = try_lock_row<order>(r.others, r.db, 1);
  REQUIRE(mine);
  CHECK(mine.held().fencing_token() == 1);  // counted from the beginning: the number was in the row
  CHECK(old.held().fencing_token() == 1);
  old->status = "late";
  const bool by_commit = GENERATE(true, false);
  CAPTURE(by_commit);
  if (by_commit) {
    CHECK_THROWS_AS(old.commit(), dlock::lock_lost);
  } else {
    CHECK_THROWS_AS(old.release(), dlock::lock_lost);
  }
  CHECK(r.load<order>(1)->status == "new");
  CHECK_NOTHROW(mine.held().ensure_held());
  mine->status = "paid";
  CHECK_NOTHROW(mine.commit());
}

TEST_CASE("deleted row: a waiter is told that it is gone, and a claim takes the others") {
  rows r;
  for (int id = 1; id <= 3; ++id) r.add(order{.id = id});
  const auto held = lock_row<order>(r.locks, r.db, 1);
  r.sql("DELETE FROM orders WHERE id = 1");
  CHECK_THROWS_AS(lock_row<order>(r.others, r.db, 1), dlock::lock_refused);
  CHECK(dlock::claim<order>(r.others, r.db, odb::query<order>("ORDER BY id"), 5).size() == 2);
}
