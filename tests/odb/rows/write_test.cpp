// SPDX-License-Identifier: BSL-1.0
// Writes of locked rows that fail: what becomes of the row, of the entity in memory, and of the transaction.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <odb/exceptions.hxx>
#include <stdexcept>
#include <utility>

#include "dlock/odb/lock_row.hpp"
#include "odb/rows/order_in_hand.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

namespace {

struct refused_by_test : std::runtime_error {
  refused_by_test() : std::runtime_error("refused by the test") {}
};

void fail_once(int& calls) {
  if (++calls == 1) throw odb::deadlock();
}

}  // namespace

TEST_CASE("row write: a commit that met a deadlock after its write is tried again, and writes", "[rows]") {
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

TEST_CASE("row write: an update that met a deadlock after its write is tried again, and writes", "[rows]") {
  rows r;
  order_in_hand in_hand(r);
  int calls = 0;
  CHECK_NOTHROW(dlock::detail::update_row(r.db, in_hand.held, in_hand.write_and([&calls] { fail_once(calls); })));
  CHECK(calls == 2);
  CHECK(r.load<order>(1)->status == "shipped");
  CHECK_FALSE(try_lock_row<order>(r.others, r.db, 1));
}

TEST_CASE("row write: an update that failed can be called again with the same entity", "[rows]") {
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

TEST_CASE("row write: an update whose transaction is rolled back can be done again with the same entity", "[rows]") {
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

TEST_CASE("row write: an entity may be gone when the transaction that wrote it is rolled back", "[rows]") {
  paid_order r;
  odb::transaction mine(r.db.begin());
  {
    auto row = lock_row<order>(r.locks, r.db, 1);
    row.update(mine);
  }
  mine.rollback();
  CHECK(lock_row<order>(r.others, r.db, 1)->status == "paid");
}

TEST_CASE("row write: an update is done in the transaction it is given, though another one is current", "[rows][T75]") {
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

TEST_CASE("row write: when its write throws, the caller's transaction is rolled back and the current one stays",
          "[rows]") {
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

TEST_CASE("row write: a write that ends its own transaction is told, and the row is free afterwards", "[rows]") {
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
