// SPDX-License-Identifier: BSL-1.0
// Who holds a row: what a service says, and what an operator reads by the SQL of docs/row-locks.md.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "dlock/error.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/stores/memory.hpp"
#include "support/eventually.hpp"

using namespace std::chrono_literals;
using namespace dlock::test;
using dlock::lock_row;
using dlock::try_lock_row;

namespace {

/// The block of the page after the line <!-- sql: name -->, about the tables of this place.
std::string sql_of_page(const rows& r, const std::string& name) {
  std::ifstream page(DLOCK_TEST_SOURCES "/docs/row-locks.md");
  std::string line;
  while (std::getline(page, line) && line != "<!-- sql: " + name + " -->") continue;
  std::getline(page, line);
  REQUIRE(line == "```sql");
  std::string sql;
  while (std::getline(page, line) && line != "```") sql += line + "\n";
  for (std::size_t at = 0; (at = sql.find("dlock_session", at)) != std::string::npos;) {
    const auto table = r.fixture->prefix() + "session";
    sql.replace(at, std::string("dlock_session").size(), table);
    at += table.size();
  }
  return sql.substr(0, sql.rfind(';'));
}

}  // namespace

TEST_CASE("row holder: a service tells who holds a row, and that nobody does", "[rows]") {
  rows r;
  r.add(order{.id = 42});
  r.add(line{.id = {"a:1", 2}});
  const auto key = dlock::row<order>(r.others, r.db, 42);
  CHECK_FALSE(r.others.holder(key));
  CHECK_FALSE(r.others.holder(dlock::row<order>(r.others, r.db, 7)));  // there is no such row
  const auto mine = lock_row<order>(r.locks, r.db, 42);
  const auto pair = lock_row<line>(r.locks, r.db, {"a:1", 2});
  const auto holder = r.others.holder(key);
  REQUIRE(holder);
  CHECK(holder->key == key.view());
  CHECK(holder->label == "one");
  CHECK(holder->fence == 1);
  CHECK(holder->pid > 0);
  CHECK(holder->kind == dlock::lease_kind::session);
  CHECK_FALSE(holder->dead);
  CHECK(holder->remaining > 0us);
  CHECK(r.others.holder(dlock::row<line>(r.others, r.db, {"a:1", 2}))->session == holder->session);
  CHECK_FALSE(r.others.holder(dlock::row<line>(r.others, r.db, {"a:1", 3})));
  CHECK(r.others.held_keys().empty());  // rows are in the application's tables
}

TEST_CASE("row holder: a dead one is called dead", "[rows]") {
  rows r;
  r.add(order{.id = 1});
  r.take_over(1);  // by a session that is not there
  const auto holder = r.locks.holder(dlock::row<order>(r.locks, r.db, 1));
  REQUIRE(holder);
  CHECK(holder->dead);
  CHECK(holder->host.empty());
  CHECK(try_lock_row<order>(r.locks, r.db, 1));
}

TEST_CASE("row holder: a row is forced by its session, and its holder is told", "[rows]") {
  paid_order r;
  const auto key = dlock::row<order>(r.others, r.db, 1);
  CHECK_FALSE(r.others.force_release(key));  // nobody holds it
  auto mine = lock_row<order>(r.locks, r.db, 1, {.ttl = 10s});
  CHECK(r.others.force_release(key));
  CHECK(r.others.holder(key)->revoked);
  REQUIRE(eventually([&] { return mine.held().loss() == dlock::loss_reason::renewal_refused; }));
  CHECK_THROWS_AS(mine.commit(), dlock::lock_lost);
  CHECK(lock_row<order>(r.others, r.db, 1, {.wait = 60s})->status == "paid");
}

TEST_CASE("row holder: a row that an expiry keeps is forced at once, and its holder finds out", "[rows]") {
  paid_order r;
  const auto key = dlock::row<order>(r.others, r.db, 1);
  auto mine = lock_row<order>(r.locks, r.db, 1, {.ttl = 60s, .renewal = dlock::renewal::none});
  CHECK(r.others.force_release(key));
  CHECK_FALSE(r.others.holder(key));
  CHECK(try_lock_row<order>(r.others, r.db, 1));
  mine->status = "late";
  CHECK_THROWS_AS(mine.commit(), dlock::lock_lost);
  CHECK(r.load<order>(1)->status == "paid");

  r.add(job{.id = 1});
  const auto theirs = lock_row<job>(r.locks, r.db, 1, {.ttl = 10s});
  CHECK(r.others.force_release(dlock::row<job>(r.others, r.db, 1)));
  CHECK(try_lock_row<job>(r.others, r.db, 1));
  CHECK(eventually([&] { return theirs.held().loss() == dlock::loss_reason::taken_over; }));  // by the next renewal
}

TEST_CASE("row holder: what a program without dlock has locked is not forced", "[rows]") {
  rows r;
  r.add(job{.id = 1});
  const auto key = dlock::row<job>(r.locks, r.db, 1);
  r.sql("UPDATE job SET lock_owner = 'plain', lock_expire_time = " + r.fixture->time_from_now(60) + " WHERE id = 1");
  REQUIRE(r.locks.holder(key));
  CHECK_FALSE(r.locks.force_release(key));
  CHECK(r.locks.holder(key));
  CHECK_FALSE(try_lock_row<job>(r.locks, r.db, 1));
}

TEST_CASE("row holder: a service on another store knows no rows, and says so", "[rows]") {
  rows r;
  const auto key = dlock::row<order>(r.locks, r.db, 1);
  dlock::stores::virtual_clock clock;
  dlock::lock_service elsewhere(std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock});
  CHECK_THROWS_AS(elsewhere.holder(key), std::invalid_argument);
  CHECK_THROWS_AS(elsewhere.force_release(key), std::invalid_argument);
}

TEST_CASE("row holder: the page's SQL finds the session behind lock_owner, and revokes it", "[rows][docs]") {
  rows r;
  for (int id = 1; id <= 4; ++id) r.add(order{.id = id});
  const auto mine = lock_row<order>(r.locks, r.db, 1, {.ttl = 10s});
  const auto theirs = lock_row<order>(r.others, r.db, 2);
  r.take_over(3);
  const auto sql = sql_of_page(r, r.fixture->is_sqlite() ? "sqlite" : "mysql");
  const auto found = r.fixture->select(sql);
  REQUIRE(found.size() == 3);
  CHECK(found[0].at(0) == "1");
  CHECK(found[0].at(5) == "one");
  CHECK(found[1].at(5) == "two");
  CHECK(found[2].at(3).empty());  // no host: its session is gone
  const auto session = found[0].at(1).substr(0, 32);
  CHECK(session == r.others.holder(dlock::row<order>(r.others, r.db, 1))->session.hex());
  auto force = sql_of_page(r, "force");
  const std::string example = "0123456789abcdef0123456789abcdef";
  if (r.fixture->is_sqlite()) {
    force.replace(force.find("WHERE"), std::string::npos, "WHERE lower(hex(id)) = '" + session + "'");
  } else {
    force.replace(force.find(example), example.size(), session);
  }
  CHECK(r.sql(force) == 1);
  CHECK(eventually([&] { return mine.held().loss() == dlock::loss_reason::renewal_refused; }));
  CHECK_NOTHROW(theirs.held().ensure_held());
}
