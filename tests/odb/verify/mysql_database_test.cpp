// SPDX-License-Identifier: BSL-1.0
// The application's database by a URL with hosts.
#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <odb/exception.hxx>
#include <odb/mysql/connection.hxx>
#include <stdexcept>
#include <string>

#include "dlock/odb/database.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"
#include "odb/verify/bank.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

namespace {

std::string value(odb::database& db, const std::string& sql) {
  const auto connection = db.connection();
  auto* const handle = static_cast<odb::mysql::connection&>(*connection).handle();
  REQUIRE(mysql_query(handle, sql.c_str()) == 0);
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(handle), mysql_free_result);
  return mysql_fetch_row(result.get())[0];
}

}  // namespace

TEST_CASE("mysql database: the hosts of the URL are tried in turn, and the session is the server's own", "[mysql]") {
  const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_APP_URL"));
  const auto& at = url.hosts.at(0);
  const auto db = open_database(
      fmt::format("mysql://{}:{}@127.0.0.1:1,{}:{}/{}", url.user, url.password, at.host, at.port, url.path));
  CHECK(value(*db, "SELECT DATABASE()") == url.path);
  CHECK(value(*db,
              "SELECT @@session.time_zone = @@global.time_zone AND @@session.innodb_lock_wait_timeout = "
              "@@global.innodb_lock_wait_timeout AND @@session.sql_mode = @@global.sql_mode") == "1");
  CHECK(value(*db, "SELECT @@character_set_client") == "utf8mb4");
  CHECK(value(*db, "SELECT CONNECTION_ID()") == value(*db, "SELECT CONNECTION_ID()"));  // of a pool
  // ODB counts rows that match.
  const auto connection = db->connection();
  connection->execute("CREATE TEMPORARY TABLE matches (id INT)");
  connection->execute("INSERT INTO matches VALUES (1)");
  CHECK(connection->execute("UPDATE matches SET id = 1") == 1);
}

TEST_CASE("mysql database: by a socket, and an error that names no password", "[mysql]") {
  const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_APP_URL"));
  const auto socket = mysql_setting("DLOCK_TEST_MYSQL_SOCKET");
  const auto db = open_database(fmt::format("mysql://{}:{}@/{}?socket={}", url.user, url.password, url.path, socket));
  CHECK(value(*db, "SELECT 1") == "1");
  const auto wrong = open_database(fmt::format("mysql://{}:wr0ng@/{}?socket={}", url.user, url.path, socket));
  try {
    static_cast<void>(wrong->connection());
    FAIL("connected with a wrong password");
  } catch (const odb::exception& error) {
    CHECK(std::string(error.what()).find("wr0ng") == std::string::npos);
    CHECK(std::string(error.what()).find("1045") != std::string::npos);
  }
}

TEST_CASE("mysql database: a program that has no SQLite store can't begin for writing in SQLite, and is told why",
          "[mysql]") {
  const auto file = open_bank("sqlite::memory:");
  CHECK_THROWS_AS(begin_write(*file), std::logic_error);
}

}  // namespace dlock::test
