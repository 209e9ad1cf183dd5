// SPDX-License-Identifier: BSL-1.0

/// The statements for transactions of the application's in an SQLite file, in both forms: with parameters, and as text.

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "contract/store/store_contract.hpp"
#include "dlock/stores/sqlite.hpp"
#include "stores/sqlite/bound_statement.hpp"
#include "support/raw_sqlite.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE("sqlite verification: both forms of the statement change the row of a lease that is ours", "[sqlite][T70]") {
  sqlite_file_fixture fixture;
  actor a(fixture), b(fixture);
  const std::string key("k\0'?\xff", 5);
  const auto fence = a.acquire(key);
  const auto ours = a.store->transactions()->verification_of(grant_of(a, key, fence));
  raw_sqlite raw(fixture.path);
  CHECK(run_bound(raw, ours) == 1);
  raw.run(ours.text);
  CHECK(raw.changes() == 1);
  CHECK(raw.text("SELECT verifies || ' ' || (verified_by = " + std::to_string(::getpid()) + ") FROM dlock_lock") ==
        "2 1");
  for (const auto& wrong : {grant_of(a, key, fence + 1), grant_of(b, key, fence), grant_of(a, "other", fence)}) {
    CHECK(run_bound(raw, a.store->transactions()->verification_of(wrong)) == 0);
    raw.run(a.store->transactions()->verification_of(wrong).text);
    CHECK(raw.changes() == 0);
  }
}

TEST_CASE("sqlite verification: both forms say the same of a row with a composite id, and of no other grant or row",
          "[sqlite][T70]") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  raw_sqlite raw(fixture.path);
  raw.run(
      "CREATE TABLE seat(region INTEGER, name TEXT, o TEXT, e INTEGER, f INTEGER, v INTEGER, PRIMARY KEY(region, "
      "name))");
  raw.run("INSERT INTO seat(region, name, f, v) VALUES(1, 'a', 5, 1), (1, 'b', 5, 1), (2, 'a', 5, 1)");
  const auto table = std::make_shared<const row_table>(row_table{.table = "seat",
                                                                 .label = "seat",
                                                                 .id = {"region", "name"},
                                                                 .owner = "o",
                                                                 .expires_at = "e",
                                                                 .fence = "f",
                                                                 .version = "v"});
  const row_id row{table, {std::int64_t{1}, std::string("a")}};
  request grant{.action = verb::take, .resource = "seat:1:a", .session = a.id, .row = &row, .nonce = 7};
  const reply taken = a.run(grant);
  REQUIRE(answer(taken) == outcome::yes);
  REQUIRE(taken.fence == 6);
  const auto expect = [&](const request& request, int rows) {
    for (const auto& statement :
         {a.store->transactions()->verification_of(request), a.store->transactions()->release_of(request)}) {
      raw.run("BEGIN IMMEDIATE");
      CHECK(run_bound(raw, statement) == rows);
      raw.run("ROLLBACK");
      raw.run("BEGIN IMMEDIATE");
      raw.run(statement.text);
      CHECK(raw.changes() == rows);
      raw.run("ROLLBACK");
    }
  };
  grant.fence = 6;
  expect(grant, 1);
  for (const std::uint64_t fence : {5U, 7U}) {
    request other = grant;
    other.fence = fence;
    expect(other, 0);
  }
  request other = grant;
  other.nonce = 8;
  expect(other, 0);
  other = grant;
  other.session = id128::random();
  expect(other, 0);
  for (const row_id& wrong :
       {row_id{table, {std::int64_t{1}, std::string("b")}}, row_id{table, {std::int64_t{2}, std::string("a")}}}) {
    other = grant;
    other.row = &wrong;
    expect(other, 0);
  }
  // Twice: it changes the row each time, and is still ours.
  for (int i = 0; i < 3; ++i) CHECK(run_bound(raw, a.store->transactions()->verification_of(grant)) == 1);
  CHECK(run_bound(raw, a.store->transactions()->release_of(grant)) == 1);
  CHECK(raw.text("SELECT o IS NULL FROM seat WHERE region = 1 AND name = 'a'") == "1");
}
