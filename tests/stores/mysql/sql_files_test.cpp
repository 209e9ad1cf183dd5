// SPDX-License-Identifier: BSL-1.0

/// sql/schema-mysql.sql and sql/grants.sql, which are for people, beside what schema=create makes and what the users of
/// these tests may do.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "support/mysql_user.hpp"
#include "support/sql_file.hpp"

namespace dlock::test {

namespace {

raw_mysql owner() { return raw_mysql(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")); }

/// All that is there of the tables with that prefix, one line for each table and row. The short id of the tables, which
/// no other prefix has, is shown as that.
std::vector<std::string> contents(raw_mysql& client, const std::string& prefix) {
  std::vector<std::string> lines;
  const auto id =
      client.one("SELECT CONV(LEFT(SHA2(CONCAT(DATABASE(), '." + prefix + "'), 256), 8), 16, 10) & 1048575");
  for (const char* name : {"floor", "lock", "schema_version", "session", "waiter"}) {
    const auto shown = client.rows("SHOW CREATE TABLE `" + prefix + name + "`").at(0).at(1).value_or("");
    lines.push_back(replaced(shown, prefix, "dlock_"));
    for (const auto& row : client.rows("SELECT * FROM `" + prefix + name + "` ORDER BY 1")) {
      lines.push_back(name);
      for (const auto& value : row)
        lines.back() += " " + (value == id ? "the id of the tables" : value.value_or("NULL"));
    }
  }
  return lines;
}

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

TEST_CASE("mysql schema: sql/schema-mysql.sql makes what schema=create makes", "[mysql]") {
  mysql_store_fixture by_hand;
  auto raw = owner();
  for (const auto& statement : statements_of("schema-mysql.sql")) {
    raw.run(replaced(statement, "dlock_", by_hand.tables.prefix()));
  }
  mysql_store_fixture created;
  created.open();
  CHECK(contents(raw, by_hand.tables.prefix()) == contents(raw, created.tables.prefix()));
  by_hand.more = "&schema=verify";
  actor a(by_hand), b(by_hand);
  CHECK(a.acquire("k") == 1);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(a.release("k", 1)) == outcome::yes);
}

TEST_CASE("mysql schema: the users of these tests have the rights of sql/grants.sql and no more", "[mysql]") {
  // So what other tests show of them, that they can make the tables and that they can lock, is true of that file.
  CHECK_FALSE(rights_given("OWNER").empty());
  CHECK_FALSE(rights_given("APP").empty());
  CHECK(rights_had("DLOCK_TEST_MYSQL_OWNER_URL") == rights_given("OWNER"));
  CHECK(rights_had("DLOCK_TEST_MYSQL_URL") == rights_given("APP"));
}

TEST_CASE("mysql schema: the narrow rights of sql/grants.sql are enough to lock and to clean up", "[mysql]") {
  mysql_store_fixture fixture;
  fixture.open();
  mysql_user user(fixture.tables.prefix() + "narrow");
  std::ifstream in(DLOCK_TEST_SQL_FOLDER "/grants.sql");
  std::vector<std::string> narrow;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("-- GRANT ", 0) == 0 && line.find("`@LOCKS@`.`dlock_") != std::string::npos)
      narrow.push_back(line.substr(3));
  }
  REQUIRE(narrow.size() == 5);
  for (auto& grant : narrow) {
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
