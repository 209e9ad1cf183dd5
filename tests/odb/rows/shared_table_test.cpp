// SPDX-License-Identifier: BSL-1.0
// Tables that other programs know: those that lock rows by plain SQL, and those that had no lock columns before.
#include "odb/rows/row_fixture.hpp"
//
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <odb/exceptions.hxx>
#include <string>
#include <thread>

#include "dlock/odb/lock_row.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

namespace {

/// A program that knows nothing of dlock.
struct plain_program {
  rows& r;

  bool take(int seconds) {
    const auto now = r.fixture->time_from_now(0);
    return r.sql("UPDATE job SET lock_owner = 'plain', lock_expire_time = " + r.fixture->time_from_now(seconds) +
                 ", version = version + 1 WHERE id = 1 AND (lock_owner = '' OR lock_expire_time < " + now + ")") == 1;
  }
  bool release() {
    return r.sql("UPDATE job SET lock_owner = '', lock_expire_time = " + r.fixture->time_from_now(0) +
                 " WHERE id = 1 AND lock_owner = 'plain'") == 1;
  }
};

}  // namespace

TEST_CASE("shared table: a row that plain SQL holds is busy for us, one that we hold is for plain SQL", "[rows]") {
  rows r;
  r.add(job{.id = 1, .state = "new"});
  plain_program plain{r};
  REQUIRE(plain.take(60));
  CHECK_FALSE(try_lock_row<job>(r.locks, r.db, 1));
  REQUIRE(plain.release());
  auto mine = try_lock_row<job>(r.locks, r.db, 1);
  REQUIRE(mine);
  CHECK_FALSE(plain.take(60));
  CHECK_FALSE(try_lock_row<job>(r.others, r.db, 1));
  mine->state = "done";
  mine.commit();
  CHECK(r.load<job>(1)->state == "done");
  CHECK(plain.take(60));
}

TEST_CASE("shared table: a lock of plain SQL that has expired is taken over, and its holder's version is stale",
          "[rows]") {
  rows r;
  r.add(job{.id = 1, .state = "new"});
  plain_program plain{r};
  REQUIRE(plain.take(-5));
  const auto theirs = r.load<job>(1);
  const auto mine = try_lock_row<job>(r.locks, r.db, 1);
  REQUIRE(mine);
  CHECK(mine.held().fencing_token() == theirs->version + 1);
  CHECK_FALSE(plain.release());
  theirs->state = "late";
  CHECK_THROWS_AS(r.update(*theirs), odb::object_changed);
}

TEST_CASE("shared table: the expiry column is renewed, and the version stays", "[rows][T73]") {
  rows r;
  r.add(job{.id = 1, .state = "new"});
  plain_program plain{r};
  auto mine = lock_row<job>(r.locks, r.db, 1, {.ttl = 5s});
  const auto version = r.load<job>(1)->version;
  const auto end = std::chrono::steady_clock::now() + 6500ms;  // longer than the ttl and the column's second
  while (std::chrono::steady_clock::now() < end) {
    REQUIRE(mine.held().remaining() > 0us);
    REQUIRE_FALSE(plain.take(60));
    std::this_thread::sleep_for(200ms);
  }
  CHECK(r.load<job>(1)->version == version);
  mine->state = "done";
  CHECK_NOTHROW(mine.commit());
}

TEST_CASE("shared table: a ttl that the column's seconds can't tell is refused", "[rows]") {
  rows r;
  r.add(job{.id = 1, .state = "new"});
  CHECK_THROWS_AS(lock_row<job>(r.locks, r.db, 1, {.ttl = 2s}), std::invalid_argument);
}

TEST_CASE("shared table: an update that keeps a row of such a table locked is followed by a commit", "[rows]") {
  rows r;
  r.add(job{.id = 1, .state = "new"});
  auto mine = lock_row<job>(r.locks, r.db, 1);
  mine->state = "half";
  mine.update();  // raises the version, which is the fence
  mine->state = "done";
  mine.commit();
  CHECK(r.load<job>(1)->state == "done");
  CHECK(try_lock_row<job>(r.others, r.db, 1));
}

TEST_CASE("lock columns: a table that exists without them gets them by one script", "[rows]") {
  rows r;
  r.sql("DROP TABLE orders");
  const std::string name = r.fixture->is_sqlite() ? "\"orders\"" : "`orders`";
  r.sql("CREATE TABLE " + name +
        " (id INTEGER NOT NULL PRIMARY KEY, status VARCHAR(40) NOT NULL, amount BIGINT NOT NULL, "
        "version INTEGER NOT NULL)");
  r.sql("INSERT INTO orders VALUES (1, 'paid', 5, 1)");
  const auto script = dlock::add_lock_columns_sql<order>(r.locks, r.db);
  for (std::size_t at = 0; at < script.size();) {
    const auto end = std::min(script.find(';', at), script.size());
    const auto statement = script.substr(at, end - at);
    if (statement.find("ALTER") != std::string::npos) r.sql(statement);
    at = end + 1;
  }
  auto row = lock_row<order>(r.locks, r.db, 1);
  CHECK(row->amount == 5);
  row->status = "shipped";
  row.commit();
  // Programs that do not know of the columns go on.
  r.sql("INSERT INTO orders (id, status, amount, version) VALUES (2, 'paid', 5, 1)");
  CHECK(try_lock_row<order>(r.others, r.db, 2).held().fencing_token() == 1);
}
