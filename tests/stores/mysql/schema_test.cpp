// SPDX-License-Identifier: BSL-1.0

/// What MySQL's lock tables lack, and users with few privileges. What is the same on every database is in
/// contract/schema.

#include <fmt/format.h>
#include <fstream>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/schema/schema_contract.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "support/calls.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/mysql_user.hpp"
#include "support/sql_file.hpp"

namespace dlock::test {

namespace {

raw_mysql owner() { return raw_mysql(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")); }

/// Tables that are there, whole.
struct made_tables : mysql_fixture {
  made_tables() { REQUIRE(complaint(url()).empty()); }
  raw_mysql raw = owner();
};

}  // namespace

TEST_CASE("mysql schema: a migration that can't be finished says the way out, which works") {
  mysql_store_fixture fixture;
  const auto& tables = fixture.tables;
  actor a(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  auto raw = owner();
  raw.run("UPDATE " + tables.table("schema_version") + " SET migration=1");
  CHECK_THAT(complaint(tables.url("&schema=verify")), ContainsSubstring("start one program with schema=create"));
  raw.run("ALTER TABLE " + tables.table("lock") + " DROP COLUMN verifies");
  CHECK_THAT(complaint(tables.url()), ContainsSubstring("version 1 was begun and not finished") &&
                                          ContainsSubstring("drop the tables " + tables.prefix() + "*"));
  raw.run("UPDATE " + tables.table("schema_version") + " SET version=7");
  CHECK_THAT(complaint(tables.url()), ContainsSubstring("knows version 7"));
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

TEST_CASE("mysql schema: a table that somebody dropped is not made anew in silence", "[T58]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  owner().run("DROP TABLE " + fixture.tables.table("lock"));
  CHECK_THAT(complaint(fixture.tables.url()),
             ContainsSubstring("somebody dropped it"));  // its fences would begin again
}

TEST_CASE("mysql schema: none looks at no table until one is used") {
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

TEST_CASE("mysql schema: a table without one of its columns is refused, by the name of that") {
  made_tables fixture;
  fixture.raw.run("ALTER TABLE " + fixture.table("session") + " CHANGE revoked doomed TINYINT(1) NOT NULL");
  for (const char* mode : {"create", "verify"}) {
    CHECK_THAT(complaint(fixture.url(std::string("&schema=") + mode)), ContainsSubstring("revoked"));
  }
}

TEST_CASE("mysql schema: a table of another engine is refused") {
  made_tables fixture;
  fixture.raw.run("ALTER TABLE " + fixture.table("lock") + " ENGINE=MyISAM");
  CHECK_THAT(complaint(fixture.url()), ContainsSubstring("MyISAM") && ContainsSubstring("InnoDB"));
}

TEST_CASE("mysql schema: a user who may only read and write rows can lock once the tables are there") {
  const mysql_fixture fixture;
  const auto e = caught<store_error>([&] { open_store(fixture.app_url())->prepare(); });
  CHECK(e.code() == errc::store_failed);
  CHECK(e.native_code() == 1142);
  CHECK_FALSE(e.transient());
  CHECK_THAT(std::string(e.what()), ContainsSubstring("CREATE command denied") && ContainsSubstring("REFERENCES"));
  REQUIRE(complaint(fixture.url()).empty());
  CHECK(complaint(fixture.app_url()).empty());
  CHECK(complaint(fixture.app_url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: a missing privilege is said in words") {
  made_tables fixture;
  const auto tables = store_url::parse(fixture.url()).path + ".*";
  mysql_user user(fixture.prefix() + "reader");
  user.grant("SELECT ON " + tables);
  const auto url = user.url(fixture.url("&schema=verify"));
  const auto said = complaint(url);
  CHECK_THAT(said, ContainsSubstring("denied") && ContainsSubstring("SELECT, INSERT, UPDATE and DELETE"));
  user.grant("UPDATE, DELETE ON " + tables);
  CHECK_THAT(complaint(url), ContainsSubstring("INSERT command denied"));
}

TEST_CASE("mysql schema: the tables can be made where a server that was upgraded has short index columns") {
  struct long_texts {
    long_texts() { root.run("ALTER DATABASE CHARACTER SET utf8mb4"); }
    ~long_texts() { root.run("ALTER DATABASE CHARACTER SET " + before); }
    raw_mysql root = raw_mysql::root();
    const std::string before =
        root.one("SELECT DEFAULT_CHARACTER_SET_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = DATABASE()");
  };
  const long_texts of_the_database;
  const global_setting old("innodb_default_row_format", "'compact'");
  mysql_store_fixture fixture;
  actor who(fixture);
  CHECK(who.acquire("k") == 1);
}

// sql/grants.sql, which is for people, beside what the users of these tests may do.

namespace {

/// "GRANT a, b ON `locks`.* TO ..." as {"a", "b"}; nothing if it is about another place.
std::set<std::string> rights_in(const std::string& statement, const std::string& where) {
  const auto end = statement.find(" ON " + where + " TO ");
  if (statement.rfind("GRANT ", 0) != 0 || end == std::string::npos) return {};
  std::set<std::string> rights;
  for (std::size_t at = 6; at < end;) {
    const auto comma = std::min(statement.find(", ", at), end);
    rights.insert(statement.substr(at, comma - at));
    at = comma + 2;
  }
  return rights;
}

/// What grants.sql gives to @OWNER@ or @APP@.
std::set<std::string> rights_given(const std::string& role) {
  std::set<std::string> rights;
  for (const auto& statement : statements_of("grants.sql")) {
    if (statement.find("TO '@" + role + "@'@'@HOST@'") != std::string::npos) {
      rights.merge(rights_in(statement, "`@LOCKS@`.*"));
    }
  }
  return rights;
}

/// What the server says that the user of that URL may do with the lock tables.
std::set<std::string> rights_had(const char* variable) {
  const auto url = mysql_setting(variable);
  raw_mysql as(url);
  std::set<std::string> rights;
  for (const auto& row : as.rows("SHOW GRANTS FOR CURRENT_USER()")) {
    rights.merge(rights_in(row.at(0).value_or(""), "`" + store_url::parse(url).path + "`.*"));
  }
  return rights;
}

}  // namespace

TEST_CASE("mysql schema: the users of these tests have the rights of sql/grants.sql and no more") {
  // So what other tests show of them, that they can make the tables and that they can lock, is true of that file.
  CHECK_FALSE(rights_given("OWNER").empty());
  CHECK_FALSE(rights_given("APP").empty());
  CHECK(rights_had("DLOCK_TEST_MYSQL_OWNER_URL") == rights_given("OWNER"));
  CHECK(rights_had("DLOCK_TEST_MYSQL_URL") == rights_given("APP"));
}

TEST_CASE("mysql schema: the narrow rights of sql/grants.sql are enough to lock and to clean up") {
  // Who uses no once(), and no shared locks, may leave the lines of their tables away.
  const bool all = GENERATE(true, false);
  CAPTURE(all);
  mysql_store_fixture fixture;
  fixture.open();
  mysql_user user(fixture.tables.prefix() + "narrow");
  std::ifstream in(DLOCK_TEST_SQL_FOLDER "/grants.sql");
  std::vector<std::string> narrow;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("-- GRANT ", 0) == 0 && line.find("`@LOCKS@`.`dlock_") != std::string::npos)
      narrow.push_back(line.substr(3));
  }
  REQUIRE(narrow.size() == 7);
  for (auto& grant : narrow) {
    const auto is_about = [&](const char* table) { return grant.find(table) != std::string::npos; };
    if (!all && (is_about("`dlock_done`") || is_about("`dlock_member`"))) continue;
    grant.pop_back();
    grant = replaced(replaced(grant, "@LOCKS@", store_url::parse(fixture.url()).path), "@HOST@", "%");
    user.root().run(replaced(replaced(grant, "@APP@", user.name()), "dlock_", fixture.tables.prefix()));
  }
  const auto as_narrow = [&](const std::string& more) {
    auto store = open_store(user.url(fixture.tables.url(more)));
    store->prepare();
    return store;
  };
  as_narrow("&schema=verify");
  const auto store = as_narrow("");
  {
    lock_service locks(store, {.label = "narrow"});
    CHECK(locks.acquire("k", {.ttl = 1s}).fencing_token() == 1);
    CHECK(locks.acquire("k", {.ttl = 1s, .renewal = renewal::manual}).fencing_token() == 2);
    CHECK(locks.held_keys().empty());
  }
  const auto connection = connect(*store, 5s);
  const auto swept = store->admin()->cleanup(*connection, microseconds{1}, 10);
  CHECK(swept.result == outcome::yes);
  CHECK(swept.fence > 0);
}

}  // namespace dlock::test
