// SPDX-License-Identifier: BSL-1.0

#include <catch2/matchers/catch_matchers.hpp>
#include <odb/connection.hxx>
#include <odb/query-dynamic.hxx>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/owner.hpp"
#include "odb/rows/row_fixture.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using namespace dlock;
using query = odb::query<order>;
using parcel_query = odb::query<parcel>;

namespace {

std::vector<int> ids(const std::vector<dlock::locked_row<order>>& claimed) {
  std::vector<int> all;
  for (const auto& row : claimed) all.push_back(row->id);
  return all;
}

void add_orders(rows& r, int count) {
  odb::transaction in(r.db.begin());
  for (int id = 1; id <= count; ++id) {
    order order{.id = id, .status = id % 2 == 0 ? "paid" : "new", .amount = 1000 - id};
    r.db.persist(order);
  }
  in.commit();
}

/// The holder is gone: there is no such session.
void leave_behind(rows& r, int id) { r.take_over(id); }

}  // namespace

TEST_CASE_METHOD(rows,
                 "claim: takes free rows that the query selects, so many and in its order, loaded after the grant") {
  add_orders(*this, 10);
  auto claimed = claim<order>(locks, db, (query::status == "paid") + "ORDER BY" + query::amount, 3);
  CHECK(ids(claimed) == std::vector<int>{10, 8, 6});
  CHECK(claimed.front().held().fencing_token() == 1);
  CHECK(claimed.front()->lock.fence() == 1);
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 8)));
  CHECK(ids(claim<order>(others, db, (query::status == "paid") + "ORDER BY" + query::amount, 3)) ==
        std::vector<int>{4, 2});
  claimed.front()->status = "shipped";
  claimed.front().commit();
  claimed.clear();
  CHECK(load<order>(10)->status == "shipped");
  CHECK(ids(claim<order>(others, db, (query::status == "paid") + ("ORDER BY" + query::id), 9)) ==
        std::vector<int>{2, 4, 6, 8});
}

TEST_CASE_METHOD(rows,
                 "claim: the query's condition stays whole, with OR, parameters of the caller's and native text") {
  add_orders(*this, 6);
  sql("CREATE TABLE numbers (number INTEGER)");
  const auto held = lock_row<order>(others, db, 2);
  int low = 3;
  const auto either = query::id < query::_ref(low) || query::id == 6 || query::id.in(5, 6);
  CHECK(ids(claim<order>(locks, db, either + "ORDER BY" + query::id + "DESC", 9)) == std::vector<int>{6, 5, 1});
  CHECK(ids(claim<order>(locks, db, query("id < 4 OR id = 2 order by id"), 9)) == std::vector<int>{1, 3});
  CHECK(ids(claim<order>(locks, db, query("id > 1 AND") + (query::id < 5 && query::status == "new"), 9)) ==
        std::vector<int>{3});
  const auto rest = !query::status.is_null() && query::status.like("n_w") && query::id >= 3 && query::id.in(3, 4);
  CHECK(ids(claim<order>(locks, db, query("id > 1 AND") + rest, 9)) == std::vector<int>{3});
  CHECK(ids(claim<order>(locks, db, query("id IN (SELECT number FROM numbers ORDER BY number) OR id > 5 ORDER BY id"),
                         9)) == std::vector<int>{6});
  CHECK(claim<order>(locks, db, query(), 9).size() == 5);
  CHECK(claim<order>(locks, db, query(true), 9).size() == 5);
}

TEST_CASE_METHOD(rows, "claim: what does not fit is refused before anything is locked") {
  add_orders(*this, 2);
  CHECK_THROWS_AS(claim<order>(locks, db, query::id > 0, 0), std::invalid_argument);
  CHECK_THROWS_AS(claim<order>(locks, db, query::id > 0, 501), std::invalid_argument);
  CHECK_THROWS_AS(claim<order>(locks, db, query("id > 0 LIMIT 1"), 5), std::invalid_argument);
  CHECK_THROWS_AS(claim<order>(locks, db, query::id > 0, 5, {.min_hold = 1s}), std::invalid_argument);
  CHECK_THROWS_AS(claim<order>(locks, db, query("no_such_column = 1"), 5), dlock::store_error);
  CHECK(claim<order>(locks, db, query::id > 0, 5).size() == 2);
}

TEST_CASE_METHOD(rows, "claim: rows of dead holders come last, one by one, if they are still what the query selects") {
  add_orders(*this, 6);
  leave_behind(*this, 1);
  leave_behind(*this, 2);
  leave_behind(*this, 4);
  const auto alive = lock_row<order>(others, db, 6);
  const auto claimed = claim<order>(locks, db, (query::id != 1) + "ORDER BY" + query::id, 9);
  REQUIRE(ids(claimed) == std::vector<int>{3, 5, 2, 4});
  CHECK(claimed[2].held().fencing_token() == 2);
  CHECK_FALSE(granted(try_lock_row<order>(others, db, 4)));
}

TEST_CASE_METHOD(rows,
                 "claim: a row of a dead holder that is not what the query selects once it is locked is left free") {
  add_orders(*this, 2);
  leave_behind(*this, 1);
  // As if somebody had been faster, done the work and freed the row: the grant itself makes the condition false.
  const auto claimed = claim<order>(locks, db, query("lock_fence < 2"), 9);
  CHECK(ids(claimed) == std::vector<int>{2});
  CHECK(try_lock_row<order>(others, db, 1).held().fencing_token() == 3);
}

TEST_CASE_METHOD(rows, "claim: ids of two columns and of text, and members that are private") {
  for (unsigned number = 1; number <= 3; ++number) add(line{.id = {"it's", number}});
  add(wallet("bob", 1));
  add(wallet("o'hara", 2));
  CHECK(claim<line>(locks, db, odb::query<line>::id.number > 1, 9).size() == 2);
  const auto wallets = claim<wallet>(locks, db, odb::query<wallet>("ORDER BY cents"), 9);
  REQUIRE(wallets.size() == 2);
  CHECK(wallets[1]->owner() == "o'hara");
  CHECK(wallets[1].held().fencing_token() == 1);
}

TEST_CASE_METHOD(rows, "claim: rows of a table shared with plain SQL") {
  add(job{.id = 1, .state = "new"});
  add(job{.id = 2, .state = "new"});
  add(job{.id = 3, .state = "new"});
  sql("UPDATE job SET lock_owner = 'plain', lock_expire_time = " + fixture->time_from_now(60) + " WHERE id = 1");
  sql("UPDATE job SET lock_owner = 'plain', lock_expire_time = " + fixture->time_from_now(-60) + " WHERE id = 2");
  auto claimed = claim<job>(locks, db, odb::query<job>("ORDER BY id"), 9);
  REQUIRE(claimed.size() == 2);
  CHECK(claimed[0]->id == 2);
  claimed[0]->state = "done";
  claimed[0].commit();
  CHECK(load<job>(2)->state == "done");
}

TEST_CASE_METHOD(rows, "claim: inside a transaction of the caller's, that one stays current", "[T75]") {
  add_orders(*this, 4);
  odb::transaction mine(db.begin());
  const std::unique_ptr<order> seen(db.load<order>(1));
  CHECK(claim<order>(locks, db, query::id > 0, 2).size() == 2);
  CHECK(&odb::transaction::current() == &mine);
}

TEST_CASE_METHOD(rows,
                 "claim: a row that was claimed anew meanwhile is not written by its first holder, the others are",
                 "[T74]") {
  add_orders(*this, 2);
  auto claimed = claim<order>(locks, db, (query::id > 0) + "ORDER BY" + query::id, 2);
  REQUIRE(claimed.size() == 2);
  take_over(1);
  for (auto& row : claimed) row->status = "failed";  // what an error handler would write
  CHECK_THROWS_AS(claimed[0].commit(), dlock::lock_lost);
  CHECK_NOTHROW(claimed[1].commit());
  CHECK(load<order>(1)->status == "new");
  CHECK(load<order>(2)->status == "failed");
}

TEST_CASE_METHOD(rows, "claim: a closed service takes nothing") {
  add_orders(*this, 2);
  locks.close(0ms);
  CHECK_THROWS_AS(claim<order>(locks, db, query::id > 0, 2), dlock::lock_refused);
  CHECK(claim<order>(others, db, query::id > 0, 2).size() == 2);
}

TEST_CASE_METHOD(rows, "claim: eight threads of two services take each row once", "[T74]") {
  constexpr int count = 120;
  add_orders(*this, count);
  std::mutex mutex;
  std::map<int, int> seen;
  std::atomic<int> left{count};
  const auto end = std::chrono::steady_clock::now() + 240s;
  const auto work = [&](dlock::lock_service& service) {
    dlock::owner me;
    const dlock::owner_scope as(me);
    while (left > 0 && std::chrono::steady_clock::now() < end) {
      auto claimed = claim<order>(service, db, (query::status != "done") + "ORDER BY" + query::id, 5);
      if (claimed.empty()) std::this_thread::yield();
      for (auto& row : claimed) {
        {
          const std::lock_guard lock(mutex);
          ++seen[row->id];
        }
        row->status = "done";
        row.commit();
        --left;
      }
    }
  };
  std::vector<std::string> failures;
  on_threads(8, [&](int i) {
    try {
      work(i % 2 == 0 ? locks : others);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      failures.emplace_back(error.what());
    }
  });
  CHECK(failures == std::vector<std::string>{});
  CHECK(seen.size() == count);
  for (const auto& [id, times] : seen) CHECK((id > 0 && times == 1));
}

// Claims whose query says something about other tables than that of the rows.

namespace {

struct parcels : rows {
  parcels() {
    odb::transaction in(db.begin());
    for (int id = 1; id <= 2; ++id) {
      const auto town = std::make_shared<receiver>(receiver{.id = id, .town = id == 1 ? "Ulm" : "Bern"});
      db.persist(*town);
      for (int number : {10, 20}) {
        parcel parcel{.id = number + id, .to = town};
        db.persist(parcel);
      }
    }
    in.commit();
  }
};

std::vector<int> ids(const std::vector<dlock::locked_row<parcel>>& claimed) {
  std::vector<int> all;
  for (const auto& row : claimed) all.push_back(row->id);
  return all;
}

}  // namespace

TEST_CASE_METHOD(parcels, "claim: a query that follows a pointer locks no row of the other table, or is refused") {
  const auto to_ulm = (parcel_query::to->town == "Ulm") + "ORDER BY" + parcel_query::id;
  if (fixture->locks_joined_rows()) {
    CHECK_THROWS_AS(claim<parcel>(locks, db, to_ulm, 5), std::invalid_argument);
    CHECK_THROWS_WITH(claim<parcel>(locks, db, to_ulm, 5), ContainsSubstring("sub-query"));
    CHECK(claim<parcel>(others, db, parcel_query(), 5).size() == 4);  // nothing was locked
  } else {
    const auto theirs = db.connection();
    if (!fixture->is_sqlite()) {  // a transaction locks the file there
      theirs->execute("BEGIN");
      theirs->execute("UPDATE receiver SET town = 'Ulm' WHERE id = 1");
    }
    CHECK(ids(claim<parcel>(locks, db, to_ulm, 5)) == std::vector<int>{11, 21});
    if (!fixture->is_sqlite()) theirs->execute("ROLLBACK");
  }
}

TEST_CASE_METHOD(parcels, "claim: so it is if only its order follows the pointer, or a text of the caller's names it") {
  const std::string quote = fixture->is_sqlite() ? "\"" : "`";
  const auto town = quote + "to" + quote + "." + quote + "town" + quote;
  const auto by_order = parcel_query("parcel.id > 20 ORDER BY") + parcel_query::to->town;
  const parcel_query by_text(town + " = 'Ulm' ORDER BY parcel.id");
  if (fixture->locks_joined_rows()) {
    CHECK_THROWS_WITH(claim<parcel>(locks, db, by_order, 5), ContainsSubstring("reads several tables"));
    CHECK_THROWS_WITH(claim<parcel>(locks, db, by_text, 5), ContainsSubstring("reads several tables"));
    CHECK(claim<parcel>(others, db, parcel_query(), 5).size() == 4);  // nothing was locked
  } else {
    const auto held = claim<parcel>(locks, db, by_order, 5);
    CHECK(ids(held) == std::vector<int>{22, 21});
    CHECK(ids(claim<parcel>(others, db, by_text, 5)) == std::vector<int>{11});
  }
}

TEST_CASE_METHOD(parcels, "claim: a column of the class's own table that is called as a pointer is no other table") {
  const std::string quote = fixture->is_sqlite() ? "\"" : "`";
  const parcel_query own("parcel." + quote + "to" + quote + " = 1 ORDER BY parcel.id");
  CHECK(ids(claim<parcel>(locks, db, own, 5)) == std::vector<int>{11, 21});
}

TEST_CASE_METHOD(rows, "claim: a class with an inverse pointer reads several tables in each query") {
  const auto from = std::make_shared<sender>();
  from->id = 1;
  {
    odb::transaction in(db.begin());
    db.persist(*from);
    letter sent{.id = 7, .from = from};
    db.persist(sent);
    in.commit();
  }
  if (fixture->locks_joined_rows()) {
    CHECK_THROWS_WITH(claim<sender>(locks, db, odb::query<sender>(), 2), ContainsSubstring("reads several tables"));
  } else {
    CHECK(claim<sender>(locks, db, odb::query<sender>(), 2).size() == 1);
  }
  CHECK(lock_row<sender>(others, db, 1)->id == 1);
}

TEST_CASE_METHOD(parcels, "claim: a sub-query about another table passes over no row that is locked there") {
  const parcel_query to_ulm("parcel.\"to\" IN (SELECT id FROM receiver WHERE town = 'Ulm') ORDER BY parcel.id");
  const parcel_query to_ulm_mysql("parcel.`to` IN (SELECT id FROM receiver WHERE town = 'Ulm') ORDER BY parcel.id");
  const auto theirs = db.connection();
  if (!fixture->is_sqlite()) {
    theirs->execute("BEGIN");
    theirs->execute("UPDATE receiver SET town = 'Ulm' WHERE id = 1");
  }
  CHECK(ids(claim<parcel>(locks, db, fixture->is_sqlite() ? to_ulm : to_ulm_mysql, 5)) == std::vector<int>{11, 21});
  if (!fixture->is_sqlite()) theirs->execute("ROLLBACK");
}

TEST_CASE_METHOD(parcels, "claim: entities with pointers are loaded with what they point to") {
  const auto claimed = claim<parcel>(locks, db, parcel_query("ORDER BY parcel.id"), 5);
  REQUIRE(ids(claimed) == std::vector<int>{11, 12, 21, 22});
  CHECK(claimed[0]->to->town == "Ulm");
  CHECK(claimed[1]->to->town == "Bern");
}

TEST_CASE_METHOD(rows, "claim: a class that is derived from another mapped class is claimed, or by its base class") {
  for (int id = 1; id != 4; ++id) {
    truck made;
    made.id = id;
    made.load = 10 * id;
    add(made);
  }
  vehicle plain;
  plain.id = 4;
  add(plain);
  using truck_query = odb::query<truck>;
  if (fixture->locks_joined_rows()) {
    CHECK_THROWS_WITH(claim<truck>(locks, db, truck_query(), 2),
                      ContainsSubstring("derived from another mapped class"));
  } else {
    auto claimed = claim<truck>(locks, db, truck_query("ORDER BY truck.id"), 2);
    REQUIRE(claimed.size() == 2);
    CHECK(claimed[1]->load == 20);
    for (auto& row : claimed) row.release();
  }
  auto claimed = claim<vehicle>(locks, db, odb::query<vehicle>("typeid = 'dlock::test::truck' ORDER BY vehicle.id"), 5);
  REQUIRE(claimed.size() == 3);
  auto* const third = dynamic_cast<truck*>(&*claimed[2]);
  REQUIRE(third != nullptr);
  third->load = 31;
  claimed[2].commit();
  CHECK(load<truck>(3)->load == 31);
}
