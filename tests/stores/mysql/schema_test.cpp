// SPDX-License-Identifier: BSL-1.0

/// schema=create|verify|none, the prefix, and users with few privileges.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <thread>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/error.hpp"
#include "support/mysql_user.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;

/// What prepare() says; empty: nothing.
std::string complaint(const std::string& url) {
  try {
    open_store(url)->prepare();
  } catch (const store_error& e) {
    CHECK_THAT(std::string(e.what()), !ContainsSubstring("owner-pw") && !ContainsSubstring("app-pw"));
    return e.what();
  }
  return {};
}

raw_mysql owner() { return raw_mysql(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")); }

/// Tables that are there, whole.
struct made_tables : mysql_fixture {
  made_tables() { REQUIRE(complaint(url()).empty()); }
  raw_mysql raw = owner();
};

}  // namespace

TEST_CASE("mysql schema: create makes all tables as InnoDB, with one floor and the version", "[mysql]") {
  const mysql_fixture fixture;
  CHECK(complaint(fixture.url()).empty());
  auto raw = owner();
  CHECK(raw.one("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND engine='InnoDB' AND "
                "table_name LIKE '" +
                fixture.prefix() + "%'") == "5");
  CHECK(raw.one("SELECT fence FROM " + fixture.table("floor") + " WHERE id=1") == "0");
  CHECK(raw.one("SELECT version FROM " + fixture.table("schema_version") + " WHERE name='dlock'") == "1");
  CHECK(complaint(fixture.url()).empty());
  CHECK(complaint(fixture.url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: many processes may create at once", "[mysql]") {
  const mysql_fixture fixture;
  std::vector<std::string> said(12);
  std::vector<std::thread> threads;
  for (auto& text : said) threads.emplace_back([&, url = fixture.url()] { text = complaint(url); });
  for (auto& thread : threads) thread.join();
  for (const auto& text : said) CHECK(text.empty());
}

TEST_CASE("mysql schema: create finishes what a crash left half done, at every step", "[mysql]") {
  // The version is written last: each of these is a creation that ended early.
  const std::vector<std::vector<const char*>> missing{
      {"schema_version"},
      {"schema_version", "session"},
      {"schema_version", "session", "lock"},
      {"schema_version", "floor"},
      {"schema_version", "floor", "lock", "session"},
  };
  for (const auto& tables : missing) {
    made_tables fixture;
    for (const char* table : tables) fixture.raw.run("DROP TABLE " + fixture.table(table));
    CHECK_FALSE(complaint(fixture.url("&schema=verify")).empty());
    CHECK(complaint(fixture.url()).empty());
    CHECK(complaint(fixture.url("&schema=verify")).empty());
  }
  // The version's table is there, its row is not.
  made_tables fixture;
  fixture.raw.run("DELETE FROM " + fixture.table("schema_version"));
  CHECK(complaint(fixture.url()).empty());
  CHECK(complaint(fixture.url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: a migration that was interrupted is finished where the tables are complete", "[mysql]") {
  made_tables fixture;
  const auto flag = "SELECT migration FROM " + fixture.table("schema_version");
  fixture.raw.run("UPDATE " + fixture.table("schema_version") + " SET migration=1");
  CHECK_THAT(complaint(fixture.url("&schema=verify")), ContainsSubstring("start one program with schema=create"));
  CHECK(fixture.raw.one(flag) == "1");
  CHECK(complaint(fixture.url()).empty());
  CHECK(fixture.raw.one(flag) == "0");
  CHECK(complaint(fixture.url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: a migration that can't be finished says the way out, which works", "[mysql]") {
  mysql_store_fixture fixture;
  const auto& tables = fixture.tables;
  actor a(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  auto raw = owner();
  raw.run("UPDATE " + tables.table("schema_version") + " SET migration=1");
  raw.run("ALTER TABLE " + tables.table("lock") + " DROP COLUMN verifies");
  CHECK_THAT(complaint(tables.url()), ContainsSubstring("version 1 was begun and not finished") &&
                                          ContainsSubstring("drop the tables " + tables.prefix() + "*"));
  const auto highest = raw.one("SELECT GREATEST((SELECT IFNULL(MAX(fence), 0) FROM " + tables.table("lock") +
                               "), (SELECT fence FROM " + tables.table("floor") + " WHERE id=1))");
  CHECK(highest == "2");
  for (const char* table : {"lock", "session", "floor", "waiter", "schema_version"})
    raw.run("DROP TABLE " + tables.table(table));
  REQUIRE(complaint(tables.url()).empty());
  raw.run("UPDATE " + tables.table("floor") + " SET fence=" + highest + " WHERE id=1");
  actor b(fixture);
  CHECK(b.acquire("k") == 3);
}

TEST_CASE("mysql schema: a table that somebody dropped is not made anew in silence", "[mysql][T58]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  owner().run("DROP TABLE " + fixture.tables.table("lock"));
  CHECK_THAT(complaint(fixture.tables.url()),
             ContainsSubstring("somebody dropped it"));  // its fences would begin again
}

TEST_CASE("mysql schema: a missing floor is made far above all fences, and only by create", "[mysql][T58]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  for (int i = 0; i != 3; ++i) REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  auto raw = owner();
  raw.run("DELETE FROM " + fixture.tables.table("floor"));
  const reply r = a.insert("new");
  CHECK(r.result == outcome::failed);
  CHECK_THAT(r.why.text, ContainsSubstring("floor") && ContainsSubstring("schema=create"));
  CHECK_THAT(complaint(fixture.tables.url("&schema=verify")), ContainsSubstring("schema=create"));
  CHECK(complaint(fixture.tables.url()).empty());
  CHECK(raw.one("SELECT fence FROM " + fixture.tables.table("floor") + " WHERE id=1") ==
        "1000003");  // those that were deleted were higher
}

TEST_CASE("mysql schema: verify makes nothing and says what is missing", "[mysql]") {
  const mysql_fixture fixture;
  CHECK_THAT(complaint(fixture.url("&schema=verify")), ContainsSubstring(fixture.prefix() + "schema_version"));
  CHECK(
      owner().one("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name LIKE '" +
                  fixture.prefix() + "%'") == "0");
}

TEST_CASE("mysql schema: none looks at no table until one is used", "[mysql]") {
  const mysql_fixture fixture;
  CHECK(complaint(fixture.url("&schema=none")).empty());
  mysql_store_fixture empty;
  empty.more = "&schema=none";
  const auto store = empty.open();
  const auto connection = connect(*store, 5s);
  const request q{.action = verb::take, .resource = "k", .session = id128::random(), .nonce = 1};
  const reply r = executed(*store, *connection, q);
  CHECK(r.result == outcome::failed);
  CHECK(r.why.native == 1146);
  CHECK_THAT(r.why.text, ContainsSubstring("open the store once with schema=create"));
  const request two[]{{.action = verb::take, .resource = "a", .session = q.session, .nonce = 2},
                      {.action = verb::take, .resource = "b", .session = q.session, .nonce = 3}};
  reply answers[2];
  store->execute(*connection, two, answers);
  for (const auto& each : answers) CHECK_THAT(each.why.text, ContainsSubstring("schema=create"));
  CHECK_THAT(store->session(*connection, session_verb::open, {.id = id128::random(), .ttl = 1s, .host = "h"}).why.text,
             ContainsSubstring("schema=create"));
  CHECK_FALSE(r.why.transient);
  CHECK(connection->usable());
}

TEST_CASE("mysql schema: tables of a later version are refused", "[mysql]") {
  made_tables fixture;
  fixture.raw.run("UPDATE " + fixture.table("schema_version") + " SET version=7");
  CHECK_THAT(complaint(fixture.url()), ContainsSubstring("version 7") && ContainsSubstring("only 1"));
  fixture.raw.run("UPDATE " + fixture.table("schema_version") + " SET migration=1");
  CHECK_THAT(complaint(fixture.url()),
             ContainsSubstring("version 7 was begun") && ContainsSubstring("knows version 7"));
}

TEST_CASE("mysql schema: tables of a development version are refused with the statement that renames their column",
          "[mysql]") {
  made_tables fixture;
  fixture.raw.run("ALTER TABLE " + fixture.table("session") + " CHANGE revoked doomed TINYINT(1) NOT NULL");
  const auto way_out = "ALTER TABLE `" + fixture.prefix() + "session` RENAME COLUMN doomed TO revoked";
  for (const char* mode : {"create", "verify"}) {
    CHECK_THAT(complaint(fixture.url(std::string("&schema=") + mode)), ContainsSubstring(way_out));
  }
  fixture.raw.run(way_out);
  CHECK(complaint(fixture.url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: a table of another engine is refused", "[mysql]") {
  made_tables fixture;
  fixture.raw.run("ALTER TABLE " + fixture.table("lock") + " ENGINE=MyISAM");
  CHECK_THAT(complaint(fixture.url()), ContainsSubstring("MyISAM") && ContainsSubstring("InnoDB"));
}

TEST_CASE("mysql schema: a user who may only read and write rows can lock once the tables are there", "[mysql]") {
  const mysql_fixture fixture;
  try {
    open_store(fixture.app_url())->prepare();
    FAIL("it was prepared");
  } catch (const store_error& e) {
    CHECK(e.code() == errc::store_failed);
    CHECK(e.native_code() == 1142);
    CHECK_FALSE(e.transient());
    CHECK_THAT(std::string(e.what()), ContainsSubstring("lacks the right CREATE") && ContainsSubstring("REFERENCES"));
  }
  REQUIRE(complaint(fixture.url()).empty());
  CHECK(complaint(fixture.app_url()).empty());
  CHECK(complaint(fixture.app_url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: a missing privilege is said in words", "[mysql]") {
  made_tables fixture;
  const auto tables = store_url::parse(fixture.url()).path + ".*";
  mysql_user user(fixture.prefix() + "reader");
  user.grant("SELECT ON " + tables);
  const auto url = user.url(fixture.url("&schema=verify"));
  const auto said = complaint(url);
  CHECK_THAT(said, ContainsSubstring("denied") && ContainsSubstring("SELECT, INSERT, UPDATE and DELETE"));
  CHECK_THAT(said, ContainsSubstring("lacks the right UPDATE") || ContainsSubstring("lacks the right INSERT"));
  user.grant("UPDATE, DELETE ON " + tables);
  CHECK_THAT(complaint(url), ContainsSubstring("lacks the right INSERT"));
}

TEST_CASE("mysql schema: two prefixes in one database know nothing of each other", "[mysql]") {
  mysql_store_fixture here, there;
  actor a(here), b(there);
  CHECK(a.acquire("k") == 1);
  CHECK(b.acquire("k") == 1);
}

}  // namespace dlock::test
