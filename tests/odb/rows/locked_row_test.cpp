// SPDX-License-Identifier: BSL-1.0

#include <odb/exceptions.hxx>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/verify.hpp"
#include "odb/rows/order_in_hand.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

TEST_CASE_METHOD(paid_order, "locked row: commit writes the entity and frees the row together") {
  auto row = lock_row<order>(locks, db, 1);
  row->status = "shipped";
  row->amount = 12;
  const auto before = locks.statements();
  row.commit();
  CHECK(locks.statements() == before);  // all of it was in the transaction
  CHECK_FALSE(row);
  const auto written = load<order>(1);
  CHECK(written->status == "shipped");
  CHECK(written->amount == 12);
  CHECK_FALSE(written->lock.held());
  CHECK(written->lock.fence() == 1);
  CHECK(locks.close(0ms).empty());
  CHECK(try_lock_row<order>(others, db, 1).held().fencing_token() == 2);
}

TEST_CASE_METHOD(paid_order, "locked row: left without commit, nothing is written and the row is free") {
  {
    auto row = lock_row<order>(locks, db, 1);
    row->status = "lost";
  }
  CHECK(load<order>(1)->status == "paid");
  CHECK(granted(try_lock_row<order>(others, db, 1)));
}

TEST_CASE_METHOD(paid_order, "locked row: update writes and keeps the lock") {
  auto row = lock_row<order>(locks, db, 1);
  row->status = "packed";
  row.update();
  CHECK(load<order>(1)->status == "packed");
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 1)));
  row->status = "shipped";
  row.commit();
  CHECK(load<order>(1)->status == "shipped");
}

TEST_CASE_METHOD(paid_order,
                 "locked row: an update in the caller's transaction stands or falls with it, the lock outlives it") {
  add(order{.id = 2, .status = "paid"});
  {
    auto row = lock_row<order>(locks, db, 1);
    row->status = "shipped";
    odb::transaction mine(db.begin());
    row.update(mine);
    CHECK(&odb::transaction::current() == &mine);
    row.release();  // waits for the outcome
    CHECK(std::async(std::launch::async, [&] { return load<order>(1)->lock.held(); }).get());
    mine.commit();
  }
  CHECK(load<order>(1)->status == "shipped");
  CHECK(granted(lock_row<order>(others, db, 1)));
  {
    auto row = lock_row<order>(locks, db, 2);
    row->status = "shipped";
    odb::transaction mine(db.begin());
    row.update(mine);
    mine.rollback();
  }
  CHECK(load<order>(2)->status == "paid");
  CHECK(granted(lock_row<order>(others, db, 2)));
}

TEST_CASE_METHOD(paid_order, "locked row: a lock that was lost before the commit writes nothing") {
  auto row = lock_row<order>(locks, db, 1);
  row->status = "late";
  take_over(1);
  SECTION("by commit") {
    CHECK_THROWS_AS(row.commit(), dlock::lock_lost);
    CHECK_FALSE(row);
  }
  SECTION("by update") { CHECK_THROWS_AS(row.update(), dlock::lock_lost); }
  SECTION("by update in the caller's transaction, which is rolled back") {
    odb::transaction mine(db.begin());
    CHECK_THROWS_AS(row.update(mine), dlock::lock_lost);
    CHECK(mine.finalized());
  }
  const auto now = load<order>(1);
  CHECK(now->status == "paid");
  CHECK(now->lock.held());
  CHECK(now->lock.fence() == 2);
}

TEST_CASE_METHOD(paid_order,
                 "locked row: a copy loaded before a grant can't be written any more, and no lock column by anybody",
                 "[T72]") {
  const auto copy = load<order>(1);
  const auto row = lock_row<order>(locks, db, 1);
  const auto held = load<order>(1);
  CHECK(held->lock.held());
  copy->status = "stale";
  CHECK_THROWS_AS(update(*copy), odb::object_changed);
  // Loaded after the grant, it can be written by those who take no locks; but not the lock itself.
  const auto fresh = load<order>(1);
  fresh->status = "unlocked";
  update(*fresh);
  CHECK(load<order>(1)->lock.held());
  CHECK(load<order>(1)->lock.fence() == held->lock.fence());
  CHECK_NOTHROW(row.held().ensure_held());
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 1)));
}

TEST_CASE_METHOD(paid_order, "locked row: after a take-over the former holder's own update is refused by ODB as well",
                 "[T72]") {
  auto row = lock_row<order>(locks, db, 1);
  take_over(1);
  row->status = "late";
  CHECK_THROWS_AS(update(*row), odb::object_changed);
  CHECK(load<order>(1)->status == "paid");
}

TEST_CASE_METHOD(paid_order,
                 "locked row: a write past the lock is found at the commit, and the row is free afterwards") {
  auto row = lock_row<order>(locks, db, 1);
  const auto other = load<order>(1);
  other->amount = 5;
  update(*other);
  row->status = "shipped";
  CHECK_THROWS_AS(row.commit(), odb::object_changed);
  CHECK_FALSE(row);
  CHECK(load<order>(1)->status == "paid");
  CHECK(load<order>(1)->amount == 5);
  CHECK(granted(try_lock_row<order>(others, db, 1)));
}

TEST_CASE_METHOD(paid_order, "locked row: renewals change neither the version nor anything else of the row", "[T73]") {
  auto row = lock_row<order>(locks, db, 1, {.ttl = 5s});
  const auto copy = load<order>(1);
  const auto end = std::chrono::steady_clock::now() + 5500ms;  // longer than the ttl: it was renewed
  while (std::chrono::steady_clock::now() < end) {
    REQUIRE(row.held().remaining() > 0us);
    std::this_thread::sleep_for(50ms);
  }
  CHECK(load<order>(1)->version == copy->version);
  row->status = "shipped";
  CHECK_NOTHROW(row.commit());
  CHECK(load<order>(1)->version == copy->version + 1);
}

TEST_CASE_METHOD(paid_order, "locked row: an inner lock writes at its commit and leaves the row to the outer one") {
  auto outer = lock_row<order>(locks, db, 1);
  {
    auto inner = lock_row<order>(locks, db, 1);
    inner->status = "packed";
    inner.commit();
  }
  CHECK(load<order>(1)->status == "packed");
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 1)));
  CHECK_THROWS_AS(outer.commit(), odb::object_changed);  // it was loaded before
  CHECK(granted(try_lock_row<order>(others, db, 1)));
}

TEST_CASE_METHOD(rows, "locked row: members that are private are written as well") {
  add(wallet("alice", 100));
  auto row = lock_row<wallet>(locks, db, "alice");
  row->pay(30);
  row.commit();
  CHECK(load<wallet>(std::string("alice"))->cents() == 70);
}

TEST_CASE_METHOD(paid_order, "locked row: a copy of a locked entity that is stored under a new id is free") {
  auto row = lock_row<order>(locks, db, 1);
  order copy = *row;
  copy.id = 2;
  add(copy);
  CHECK(granted(try_lock_row<order>(others, db, 2)));
  row = {};
  CHECK(granted(try_lock_row<order>(others, db, 1)));
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

TEST_CASE_METHOD(rows, "row write: a commit that met a deadlock after its write is tried again, and writes") {
  order_in_hand in_hand(*this);
  int calls = 0;
  CHECK_NOTHROW(
      dlock::detail::commit_row(db, std::move(in_hand.held), in_hand.write_and([&calls] { fail_once(calls); })));
  CHECK(calls == 2);
  CHECK(load<order>(1)->status == "shipped");
  CHECK(load<order>(1)->version == in_hand.entity->version);
  CHECK(granted(try_lock_row<order>(others, db, 1)));
}

TEST_CASE_METHOD(rows, "row write: an update that met a deadlock after its write is tried again, and writes") {
  order_in_hand in_hand(*this);
  int calls = 0;
  CHECK_NOTHROW(dlock::detail::update_row(db, in_hand.held, in_hand.write_and([&calls] { fail_once(calls); })));
  CHECK(calls == 2);
  CHECK(load<order>(1)->status == "shipped");
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 1)));
}

TEST_CASE_METHOD(rows, "row write: an update that failed can be called again with the same entity") {
  order_in_hand in_hand(*this);
  const auto version = in_hand.entity->version;
  const auto refuse = in_hand.write_and([] { throw refused_by_test(); });
  CHECK_THROWS_AS(dlock::detail::update_row(db, in_hand.held, refuse), refused_by_test);
  CHECK(in_hand.entity->version == version);
  CHECK(load<order>(1)->status == "paid");
  CHECK_NOTHROW(dlock::detail::update_row(db, in_hand.held, in_hand.write_and([] {})));
  CHECK(in_hand.entity->version == version + 1);
  CHECK(load<order>(1)->status == "shipped");
}

TEST_CASE_METHOD(paid_order,
                 "row write: an update whose transaction is rolled back can be done again with the same entity") {
  auto row = lock_row<order>(locks, db, 1);
  const auto version = row->version;
  const int writes = GENERATE(1, 2);
  const bool by_destructor = GENERATE(false, true);
  CAPTURE(writes, by_destructor);
  {
    odb::transaction mine(db.begin());
    for (int i = 0; i != writes; ++i) row.update(mine);
    CHECK(row->version == version + static_cast<unsigned>(writes));
    if (!by_destructor) mine.rollback();
  }
  CHECK(row->version == version);
  row->status = "packed";
  {
    odb::transaction mine(db.begin());
    row.update(mine);
    mine.commit();
  }
  CHECK(row->version == version + 1);
  row->status = "shipped";
  CHECK_NOTHROW(row.commit());
  CHECK(load<order>(1)->status == "shipped");
}

TEST_CASE_METHOD(paid_order, "row write: an entity may be gone when the transaction that wrote it is rolled back") {
  odb::transaction mine(db.begin());
  {
    auto row = lock_row<order>(locks, db, 1);
    row.update(mine);
  }
  mine.rollback();
  CHECK(lock_row<order>(others, db, 1)->status == "paid");
}

TEST_CASE_METHOD(paid_order,
                 "row write: an update is done in the transaction it is given, though another one is current",
                 "[T75]") {
  auto row = lock_row<order>(locks, db, 1);
  row->status = "shipped";
  odb::transaction current(db.begin());
  odb::transaction given(db.begin(), false);
  row.update(given);
  CHECK(&odb::transaction::current() == &current);
  current.rollback();
  CHECK(load<order>(1)->status == "paid");
  given.commit();
  CHECK(load<order>(1)->status == "shipped");
}

TEST_CASE_METHOD(
    rows, "row write: when its write throws, the caller's transaction is rolled back and the current one stays") {
  order_in_hand in_hand(*this);
  add(order{.id = 2, .status = "paid"});
  odb::transaction current(db.begin());
  odb::transaction given(db.begin(), false);
  const auto refuse = in_hand.write_and([] { throw refused_by_test(); });
  CHECK_THROWS_AS(dlock::detail::update_row(given, in_hand.held, refuse), refused_by_test);
  CHECK(given.finalized());
  CHECK(&odb::transaction::current() == &current);
  current.rollback();
  CHECK(load<order>(1)->status == "paid");
  CHECK_NOTHROW(in_hand.held.release());
}

TEST_CASE_METHOD(rows, "row write: a write that ends its own transaction is told, and the row is free afterwards") {
  order_in_hand in_hand(*this);
  const auto end = in_hand.write_and([&] { db.execute("COMMIT"); });
  SECTION("by commit") {
    CHECK_THROWS_AS(dlock::detail::commit_row(db, std::move(in_hand.held), end), std::logic_error);
    CHECK(locks.count(dlock::event::kind::split_brain) == 0);
  }
  SECTION("by update") {
    CHECK_THROWS_AS(dlock::detail::update_row(db, in_hand.held, end), std::logic_error);
    in_hand.held.release();
  }
  SECTION("by update in the caller's transaction") {
    odb::transaction mine(db.begin());
    CHECK_THROWS_AS(dlock::detail::update_row(mine, in_hand.held, end), std::logic_error);
    CHECK(mine.finalized());
    in_hand.held.release();
  }
  CHECK(granted(try_lock_row<order>(others, db, 1)));
}

// Rows that are deleted while they are locked.

TEST_CASE_METHOD(paid_order, "deleted row: its lock ends with it, and its holder writes nothing any more") {
  auto row = lock_row<order>(locks, db, 1);
  row->status = "shipped";
  REQUIRE(sql("DELETE FROM orders WHERE id = 1") == 1);
  SECTION("by commit") { CHECK_THROWS_AS(row.commit(), dlock::lock_lost); }
  SECTION("by update") { CHECK_THROWS_AS(row.update(), dlock::lock_lost); }
  SECTION("by update in the caller's transaction, which is rolled back") {
    add(order{.id = 2, .status = "paid"});
    odb::transaction mine(dlock::begin_write(db));
    db.execute("UPDATE orders SET status = 'late' WHERE id = 2");
    CHECK_THROWS_AS(row.update(mine), dlock::lock_lost);
    CHECK(mine.finalized());
    CHECK(load<order>(2)->status == "paid");
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
  CHECK_FALSE(locks.holder(dlock::row<order>(locks, db, 1)));
  CHECK_THROWS_AS(try_lock_row<order>(others, db, 1), dlock::lock_refused);
}

TEST_CASE_METHOD(
    paid_order,
    "deleted row: one that is inserted anew under the same id is another row, free, and safe from its old holder") {
  auto old = lock_row<order>(locks, db, 1);
  sql("DELETE FROM orders WHERE id = 1");
  add(order{.id = 1, .status = "new"});
  auto mine = try_lock_row<order>(others, db, 1);
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
  CHECK(load<order>(1)->status == "new");
  CHECK_NOTHROW(mine.held().ensure_held());
  mine->status = "paid";
  CHECK_NOTHROW(mine.commit());
}

TEST_CASE_METHOD(rows, "deleted row: a waiter is told that it is gone, and a claim takes the others") {
  for (int id = 1; id <= 3; ++id) add(order{.id = id});
  const auto held = lock_row<order>(locks, db, 1);
  sql("DELETE FROM orders WHERE id = 1");
  CHECK_THROWS_AS(lock_row<order>(others, db, 1), dlock::lock_refused);
  CHECK(dlock::claim<order>(others, db, odb::query<order>("ORDER BY id"), 5).size() == 2);
}
