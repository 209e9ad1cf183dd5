// SPDX-License-Identifier: BSL-1.0

/// Which server a store talks to, and how: TLS, several hosts, replicas, time zones, timeouts.

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/error.hpp"
#include "stores/mysql/client/connection.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/mysql_user.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

struct attempt_result {
  bool connected = false;
  fault why{};
};

attempt_result attempt(const std::string& url, microseconds limit = 5s) {
  attempt_result result;
  result.connected = open_store(url)->connect(limit, result.why) != nullptr;
  return result;
}

store_url owner_url() { return store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")); }

/// The owner's URL with other hosts or another password.
std::string variant(const std::string& hosts, const std::string& password) {
  const auto url = owner_url();
  return "mysql://" + url.user + ":" + password + "@" + hosts + "/" + url.path;
}

std::string good_host() {
  const auto url = owner_url();
  return url.hosts.at(0).host + ":" + std::to_string(url.hosts.at(0).port);
}

}  // namespace

TEST_CASE("mysql connect: TLS that was asked for and is not offered is an error", "[mysql][mariadb]") {
  if (raw_mysql::root().one("SELECT @@have_ssl") == "YES") SKIP("this server offers TLS");
  const mysql_fixture fixture;
  for (const char* const mode : {"&tls=require", "&tls=verify"}) {
    const auto refusal = attempt(fixture.url(mode));
    INFO(refusal.why.text);
    CHECK_FALSE(refusal.connected);
    CHECK_FALSE(refusal.why.transient);
    CHECK(refusal.why.connection);
    CHECK_THAT(refusal.why.text, ContainsSubstring("TLS") || ContainsSubstring("SSL"));
  }
  CHECK(attempt(fixture.url("&tls=prefer")).connected);
  CHECK(attempt(fixture.url("&tls=off")).connected);
}

TEST_CASE("mysql connect: a wrong password is told without any password", "[mysql]") {
  const auto refusal = attempt(variant(good_host(), "wr0ng"));
  CHECK_FALSE(refusal.connected);
  CHECK(refusal.why.native == 1045);
  CHECK_FALSE(refusal.why.transient);
  CHECK_THAT(refusal.why.text, !ContainsSubstring("wr0ng") && ContainsSubstring("***"));
  try {
    open_store(variant(good_host(), "wr0ng"))->prepare();
    FAIL("it was prepared");
  } catch (const store_error& e) {
    CHECK(e.native_code() == 1045);
    CHECK(e.code() == errc::store_failed);
    CHECK_THAT(std::string(e.what()), !ContainsSubstring("reached") && StartsWith("dlock: mysql://"));
    CHECK_THAT(std::string(e.what()), !ContainsSubstring("wr0ng"));
  }
}

TEST_CASE("mysql connect: a database that is not there, or is not for this user, is told as such", "[mysql]") {
  mysql_user user(mysql_fixture().prefix() + "stranger");
  const auto code_of_refusal = [&](const std::string& database) {
    try {
      open_store(user.url("mysql://u:p@" + good_host() + "/" + database))->prepare();
    } catch (const store_error& e) {
      CHECK(e.code() == errc::store_failed);
      CHECK_FALSE(e.transient());
      CHECK_THAT(std::string(e.what()), !ContainsSubstring("reached"));
      return e.native_code();
    }
    return 0;
  };
  CHECK(code_of_refusal(owner_url().path) == 1044);
  user.grant("SELECT ON *.*");
  CHECK(code_of_refusal(user.name() + "_nowhere") == 1049);
}

TEST_CASE("mysql connect: nobody there is unreachable and may pass", "[mysql]") {
  const auto refusal = attempt(variant("127.0.0.1:1", "x"));
  CHECK_FALSE(refusal.connected);
  CHECK(refusal.why.connection);
  CHECK(refusal.why.transient);
  try {
    open_store(variant("127.0.0.1:1", "x"))->prepare();
    FAIL("it was prepared");
  } catch (const store_error& e) {
    CHECK(e.code() == errc::store_unreachable);
    CHECK(e.transient());
  }
}

TEST_CASE("mysql connect: of several hosts the first that answers is used, all failures are told", "[mysql]") {
  const auto url = owner_url();
  CHECK(attempt(variant("127.0.0.1:1," + good_host(), url.password)).connected);
  const auto refusal = attempt(variant("127.0.0.1:1,127.0.0.1:2", "x"));
  CHECK_THAT(refusal.why.text, ContainsSubstring("127.0.0.1:1") && ContainsSubstring("127.0.0.1:2"));
  CHECK(refusal.why.text.find("mysql://") == refusal.why.text.rfind("mysql://"));
  CHECK(refusal.why.text.find("dlock:") == refusal.why.text.rfind("dlock:"));
}

TEST_CASE("mysql connect: a value that is longer than its place is cut off", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  auto& on = static_cast<stores::mysql::mysql_connection&>(*a.connection);
  const std::string sql = "SELECT 'abcdefgh', X'0102030405', 'ab', NULL";
  stores::mysql::mysql_bytes<4> text, bytes, fits, none;
  none.size = 4;
  const std::array row{stores::mysql::mysql_field::text(text), stores::mysql::mysql_field::bytes(bytes),
                       stores::mysql::mysql_field::text(fits), stores::mysql::mysql_field::text(none)};
  stores::mysql::mysql_statement statement(sql, "a long value", {});
  fault why;
  REQUIRE(on.fetch(statement, row, why) == outcome::yes);
  CHECK(text.view() == "abcd");
  CHECK(bytes.view() == "\x01\x02\x03\x04");
  CHECK(fits.view() == "ab");
  CHECK(none.view().empty());
}

TEST_CASE("mysql connect: a server that takes no writes is refused in words", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  a.acquire("k");
  const global_setting replica("read_only", "1");
  const auto refusal = attempt(fixture.tables.app_url());
  CHECK_FALSE(refusal.connected);
  CHECK(refusal.why.transient);
  CHECK_THAT(refusal.why.text, ContainsSubstring("read_only"));
}

TEST_CASE("mysql connect: a primary that steps down ends the connection, so that another host is tried", "[mysql]") {
  const mysql_fixture fixture;
  fixture.open();
  const auto store = open_store(fixture.app_url());
  const auto connection = connect(*store, 5s);
  const request q{.action = verb::insert, .resource = "k", .session = id128::random(), .nonce = 1};
  reply r;
  {
    const global_setting replica("read_only", "1");
    r = executed(*store, *connection, q);
  }
  CHECK(r.result == outcome::failed);
  CHECK(r.why.native == 1290);
  CHECK_FALSE(connection->usable());
  r = executed(*store, *connection, q);
  CHECK(r.result == outcome::failed);
  CHECK(r.why.connection);
}

TEST_CASE("mysql connect: connections to one server have one identity and numbers of their own", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture), b(fixture);
  CHECK_FALSE(a.connection->identity().server.empty());
  CHECK(a.connection->identity().server == b.connection->identity().server);
  CHECK(a.connection->identity().incarnation == b.connection->identity().incarnation);
  CHECK(a.connection->identity().id != b.connection->identity().id);
  CHECK(a.store->name().find("owner-pw") == std::string::npos);
}

TEST_CASE("mysql connect: the session has the isolation and the bounds of the protocol", "[mysql]") {
  const bool mariadb = raw_mysql::root().is_mariadb();
  const global_setting isolation(mariadb ? "tx_isolation" : "transaction_isolation", "'SERIALIZABLE'");
  const global_setting mode("sql_mode", "''");
  mysql_store_fixture fixture;
  // prepare() checks the isolation itself; a row with an oversized label would be cut off in a lax mode.
  actor a(fixture);
  CHECK(a.acquire("k") == 1);
}

TEST_CASE("mysql connect: time zones of server and session change nothing", "[mysql][T26]") {
  mysql_store_fixture fixture;
  actor before(fixture);
  before.acquire("kept");
  before.acquire("own", 20s);
  for (const char* const zone : {"'+13:00'", "'-12:00'"}) {
    const global_setting elsewhere("time_zone", zone);
    actor b(fixture);
    CHECK(answer(b.take("kept")) == outcome::no);
    CHECK(answer(b.take("own")) == outcome::no);
    const seen own = b.at("own");
    CHECK_FALSE(own.expired);
    CHECK(own.remaining <= 20s);
    CHECK(own.remaining > 10s);
    CHECK(b.kill(before.id) == outcome::no);
    CHECK(before.renew(for_long) == outcome::yes);
  }
}

}  // namespace dlock::test
