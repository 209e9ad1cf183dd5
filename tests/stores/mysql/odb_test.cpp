// SPDX-License-Identifier: BSL-1.0

/// A program that uses ODB itself: its transactions and schemas are its own.

#include <dlock/detail/odb_compat.hpp>
//
#include <catch2/catch_test_macros.hpp>
#include <odb/mysql/database.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/transaction.hxx>
#include <string>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"

namespace dlock::test {

namespace {

store_url owner_url() { return store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")); }

}  // namespace

TEST_CASE("mysql odb: a transaction of the caller stays current and untouched by prepare, inspect and list",
          "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  a.acquire("k");
  const auto url = owner_url();
  odb::mysql::database theirs(url.user, url.password, url.path, url.hosts.at(0).host, url.hosts.at(0).port);
  const auto table = "`" + fixture.tables.prefix() + "theirs`";
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  raw.run("CREATE TABLE " + table + " (id INT PRIMARY KEY) ENGINE=InnoDB");
  {
    odb::transaction outer(theirs.begin());
    theirs.execute("INSERT INTO " + table + " VALUES (1)");
    fixture.open();  // prepares
    std::vector<holder_info> found;
    CHECK(answer(a.store->admin()->inspect(*a.connection, {.resource = "k"}, found)) == outcome::yes);
    CHECK(found.size() == 1);
    CHECK(answer(a.store->admin()->list(*a.connection, "", 10, found)) == outcome::yes);
    REQUIRE(odb::transaction::has_current());
    CHECK(&odb::transaction::current() == &outer);
    CHECK(raw.one("SELECT COUNT(*) FROM " + table) == "0");  // not committed by us
    outer.rollback();
  }
  CHECK(raw.one("SELECT COUNT(*) FROM " + table) == "0");
  CHECK_FALSE(odb::transaction::has_current());
  raw.run("DROP TABLE " + table);
}

TEST_CASE("mysql odb: the lock tables are a schema of their own in ODB's catalogue", "[mysql]") {
  CHECK(odb::schema_catalog::exists(odb::id_mysql, "dlock"));
  CHECK_FALSE(odb::schema_catalog::exists(odb::id_mysql, ""));
}

}  // namespace dlock::test
