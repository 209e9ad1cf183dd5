// SPDX-License-Identifier: GPL-2.0-or-later

/// schema=create|verify|none, the prefix, and users with few privileges.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <thread>
#include <vector>

#include "dlock/error.hpp"
#include "support/mysql_store_place.hpp"

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

}  // namespace

TEST_CASE("mysql schema: create makes all tables as InnoDB, with one floor and the version", "[mysql]") {
  const mysql_place place;
  CHECK(complaint(place.url()).empty());
  auto raw = owner();
  CHECK(raw.one("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND engine='InnoDB' AND "
                "table_name LIKE '" +
                place.prefix() + "%'") == "4");
  CHECK(raw.one("SELECT fence FROM " + place.table("floor") + " WHERE id=1") == "0");
  CHECK(raw.one("SELECT version FROM " + place.table("schema_version") + " WHERE name='dlock'") == "1");
  CHECK(complaint(place.url()).empty());
  CHECK(complaint(place.url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: many processes may create at once", "[mysql]") {
  const mysql_place place;
  std::vector<std::string> said(12);
  std::vector<std::thread> threads;
  for (auto& one : said) threads.emplace_back([&, url = place.url()] { one = complaint(url); });
  for (auto& thread : threads) thread.join();
  for (const auto& one : said) CHECK(one.empty());
}

TEST_CASE("mysql schema: create finishes what a crash left half done", "[mysql]") {
  const mysql_place place;
  REQUIRE(complaint(place.url()).empty());
  auto raw = owner();
  raw.run("DROP TABLE " + place.table("session"));
  raw.run("DROP TABLE " + place.table("schema_version"));
  CHECK(complaint(place.url()).empty());
  CHECK(complaint(place.url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: a missing floor is made above all fences, and only by create", "[mysql][T58]") {
  mysql_store_place place;
  actor a(place);
  for (int i = 0; i != 3; ++i) REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  auto raw = owner();
  raw.run("DELETE FROM " + place.tables.table("floor"));
  const reply r = a.insert("new");
  CHECK(r.what == outcome::failed);
  CHECK_THAT(r.why.text, ContainsSubstring("floor") && ContainsSubstring("schema=create"));
  CHECK_THAT(complaint(place.tables.url("&schema=verify")), ContainsSubstring("schema=create"));
  CHECK(complaint(place.tables.url()).empty());
  CHECK(raw.one("SELECT fence FROM " + place.tables.table("floor")) == "3");
}

TEST_CASE("mysql schema: verify makes nothing and says what is missing", "[mysql]") {
  const mysql_place place;
  CHECK_THAT(complaint(place.url("&schema=verify")), ContainsSubstring(place.prefix() + "schema_version"));
  CHECK(
      owner().one("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name LIKE '" +
                  place.prefix() + "%'") == "0");
}

TEST_CASE("mysql schema: none looks at no table until one is used", "[mysql]") {
  const mysql_place place;
  CHECK(complaint(place.url("&schema=none")).empty());
  mysql_store_place empty;
  empty.more = "&schema=none";
  const auto where = empty.open();
  fault why;
  const auto on = where->connect(5s, why);
  REQUIRE(on != nullptr);
  const request q{.what = verb::take, .resource = "k", .session = id128::random(), .nonce = 1};
  reply r;
  where->execute(*on, {&q, 1}, {&r, 1});
  CHECK(r.what == outcome::failed);
  CHECK(r.why.native == 1146);
  CHECK_FALSE(r.why.transient);
  CHECK(on->usable());
}

TEST_CASE("mysql schema: tables of a later version are refused", "[mysql]") {
  const mysql_place place;
  REQUIRE(complaint(place.url()).empty());
  auto raw = owner();
  raw.run("UPDATE " + place.table("schema_version") + " SET version=7");
  CHECK_THAT(complaint(place.url()), ContainsSubstring("version 7") && ContainsSubstring("only 1"));
  raw.run("UPDATE " + place.table("schema_version") + " SET version=1, migration=1");
  CHECK_THAT(complaint(place.url()), ContainsSubstring("migration"));
}

TEST_CASE("mysql schema: a table of another engine is refused", "[mysql]") {
  const mysql_place place;
  REQUIRE(complaint(place.url()).empty());
  owner().run("ALTER TABLE " + place.table("lock") + " ENGINE=MyISAM");
  CHECK_THAT(complaint(place.url()), ContainsSubstring("MyISAM") && ContainsSubstring("InnoDB"));
}

TEST_CASE("mysql schema: a user who may only read and write rows can lock once the tables are there", "[mysql]") {
  const mysql_place place;
  try {
    open_store(place.app_url())->prepare();
    FAIL("it was prepared");
  } catch (const store_error& e) {
    CHECK(e.code() == errc::store_failed);
    CHECK(e.native_code() == 1142);
    CHECK_FALSE(e.transient());
    CHECK_THAT(std::string(e.what()), ContainsSubstring("CREATE command denied") && ContainsSubstring("REFERENCES"));
  }
  REQUIRE(complaint(place.url()).empty());
  CHECK(complaint(place.app_url()).empty());
  CHECK(complaint(place.app_url("&schema=verify")).empty());
}

TEST_CASE("mysql schema: a missing privilege is said in words", "[mysql]") {
  const mysql_place place;
  REQUIRE(complaint(place.url()).empty());
  auto root = raw_mysql::root();
  const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  const auto user = "'" + place.prefix() + "'@'127.0.0.1'";
  root.run("CREATE USER " + user + " IDENTIFIED BY 'pw'");
  root.run("GRANT SELECT ON " + url.path + ".* TO " + user);
  const auto said = complaint("mysql://" + place.prefix() + ":pw@127.0.0.1:" + std::to_string(url.hosts.at(0).port) +
                              "/" + url.path + "?schema=verify&prefix=" + place.prefix());
  root.run("DROP USER " + user);
  CHECK_THAT(said, ContainsSubstring("denied") && ContainsSubstring("SELECT, INSERT, UPDATE and DELETE"));
}

TEST_CASE("mysql schema: two prefixes in one database know nothing of each other", "[mysql]") {
  mysql_store_place here, there;
  actor a(here), b(there);
  CHECK(a.acquire("k") == 1);
  CHECK(b.acquire("k") == 1);
}

}  // namespace dlock::test
