// SPDX-License-Identifier: BSL-1.0

/// A server whose defaults, or whose init_connect, would change what our statements mean.

#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/broken_connection.hpp"
#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/dst_zone.hpp"
#include "stores/mysql/lease_table/sql.hpp"
#include "stores/mysql/on_connection.hpp"
#include "support/calls.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/mysql_user.hpp"

namespace dlock::test {

namespace {

/// Every kind of statement on one connection, about keys that nobody used before; others see at once what it did.
void use_everything(mysql_store_fixture& fixture) {
  static int rounds = 0;
  const auto name = [round = ++rounds](int number) { return fmt::format("{:03}/k{}", round, number); };
  actor a(fixture), b(fixture);
  const auto fence = a.acquire(name(1));
  std::vector<holder_info> found;
  REQUIRE(answer(a.store->admin()->inspect(*a.connection, {.resource = name(1)}, found)) == outcome::yes);
  CHECK(found.size() == 1);
  for (int i = 2; i != 5; ++i) a.acquire(name(i));
  CHECK(answer(b.take(name(2))) == outcome::no);
  CHECK(b.at(name(2)).holder == a.id);
  REQUIRE(answer(a.store->admin()->list(*a.connection, name(0), 4, found)) == outcome::yes);
  CHECK(found.size() == 4);
  CHECK(answer(b.take(name(3))) == outcome::no);
  CHECK(answer(a.release(name(1), fence)) == outcome::yes);
  CHECK(b.acquire(name(1)) == fence + 1);
  CHECK(answer(b.release(name(1), fence + 1)) == outcome::yes);
  for (int i = 2; i != 5; ++i) CHECK(answer(a.release(name(i), a.at(name(i)).fence)) == outcome::yes);
  for (const auto& reply : take_all(a, {name(2), name(3), name(4)}, 100)) CHECK(reply.result == outcome::yes);
  CHECK(b.revoke(name(2)) == outcome::yes);
  CHECK(a.renew(for_long) == outcome::no);
  fixture.pass(2ms);
  CHECK(answer(b.store->admin()->cleanup(*b.connection, 1us, 100)) == outcome::yes);
  CHECK(answer(b.poll(name(1))) == outcome::absent);
  CHECK(a.close() == outcome::yes);
  CHECK(answer(b.take_over(name(2), b.at(name(2)))) == outcome::yes);
  CHECK(b.close() == outcome::yes);
  CHECK(a.connection->usable());
  CHECK(b.connection->usable());
}

/// What prepare() says.
std::string complaint(const mysql_fixture& fixture) {
  try {
    fixture.open();
  } catch (const store_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("mysql session: a server that chains transactions, limits and refuses statements changes nothing", "[T11]") {
  const bool mariadb = raw_mysql::root().is_mariadb();
  const std::vector<std::pair<const char*, const char*>> odd{
      {"completion_type", "'CHAIN'"},
      {"completion_type", "'RELEASE'"},
      {"autocommit", "0"},
      {"sql_select_limit", "1"},
      {"sql_select_limit", "0"},
      {"sql_safe_updates", "1"},
      {"sql_big_selects", "0"},
      {"sql_auto_is_null", "1"},
      {"lock_wait_timeout", "1"},
      {"sql_mode", "'ANSI,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION'"},
      {mariadb ? "max_statement_time" : "max_execution_time", mariadb ? "0.000001" : "1"},
      {mariadb ? "tx_read_only" : "transaction_read_only", "1"},
  };
  mysql_store_fixture fixture;
  for (const auto& [name, value] : odd) {
    INFO(name << "=" << value);
    const global_setting setting(name, value);
    use_everything(fixture);
  }
  // Several at once.
  std::list<global_setting> settings;
  for (const char* name : {"sql_select_limit", "sql_safe_updates", "sql_auto_is_null"})
    settings.emplace_back(name, "1");
  settings.emplace_back("completion_type", "'CHAIN'");
  settings.emplace_back("max_join_size", "1");
  settings.emplace_back("sql_big_selects", "0");
  use_everything(fixture);
}

TEST_CASE("mysql session: what the server executes for each new connection changes nothing, or is refused in words") {
  mysql_store_fixture fixture;
  for (const char* harmless : {"SET autocommit=0", "SET completion_type=1, sql_select_limit=1", "SET NAMES latin1"}) {
    INFO(harmless);
    const global_setting setting("init_connect", std::string("\"") + harmless + "\"");
    use_everything(fixture);
  }
  const mysql_fixture& tables = fixture.tables;
  for (const auto& [begins, said] : std::vector<std::pair<const char*, const char*>>{
           {"BEGIN", "a transaction is open from the start"},
           {"USE app", "another database"},
           {"SET timestamp=1700000000.5", "clock stands still"},
           {"SET timestamp=1700000000.123456", "clock stands still"},
       }) {
    INFO(begins);
    const global_setting setting("init_connect", std::string("\"") + begins + "\"");
    CHECK_THAT(complaint(tables), ContainsSubstring(said));
  }
  CHECK(complaint(tables).empty());
}

TEST_CASE("mysql session: names are stored and shown as they are, whatever character set a connection begins with") {
  const global_setting setting("init_connect", "\"SET NAMES latin1\"");
  const mysql_fixture fixture;
  lock_service locks(fixture.open(), {.label = "Köln ✓"});
  const auto held = locks.acquire("k");
  CHECK(locks.holder("k").value().label == "Köln ✓");
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  CHECK(raw.one("SELECT HEX(label) FROM " + fixture.table("session")) == "4BC3B66C6E20E29C93");
}

TEST_CASE("mysql session: a variable that the server does not know is left out, any other error counts") {
  mysql_store_fixture fixture;
  actor a(fixture);
  MYSQL* const handle = static_cast<stores::mysql::mysql_connection&>(*a.connection).handle();
  auto variables = stores::mysql::session_variables(handle);
  const auto many = variables.size();
  CHECK(many > 15);
  fault why;
  variables.insert(variables.begin() + 2, {"no_such_variable", "1"});
  variables.push_back({"nor_this_one", "1"});
  CHECK(stores::mysql::set_session(handle, variables, "setting up", why));
  CHECK(why.text.empty());
  variables.push_back({"lock_wait_timeout", "'soon'"});
  CHECK_FALSE(stores::mysql::set_session(handle, variables, "setting up", why));
  CHECK_THAT(why.text, ContainsSubstring("setting up") && ContainsSubstring("lock_wait_timeout"));
}

TEST_CASE("mysql session: a connection that got into a transaction is given up before anything is lost in it") {
  mysql_store_fixture fixture;
  actor a(fixture), b(fixture);
  a.acquire("k");
  for (const char* strange : {"BEGIN", "SET autocommit=0"}) {
    INFO(strange);
    actor c(fixture);
    run_on(*c.connection, strange);
    const reply r = c.insert("new");
    CHECK(r.result == outcome::failed);
    CHECK(r.why.connection);
    CHECK(r.why.transient);
    CHECK_THAT(r.why.text, ContainsSubstring("transaction"));
    CHECK_FALSE(c.connection->usable());
    CHECK(answer(b.poll("new")) == outcome::absent);
  }
}

// The expression that is the time of every statement.

TEST_CASE("mysql time: microseconds since 1970 UTC in every zone, also where a local clock jumps", "[T26][T27]") {
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  const stores::mysql::lease_table::lease_sql sql(stores::sql::make_table_names("dlock_", '`'));
  const auto now = sql.names().expand("SELECT {now}");
  const dst_zone jumping_zone;
  const auto [spring, autumn] = std::pair(dst_zone::to_summer, dst_zone::to_winter);
  raw.run(std::string("SET time_zone='") + dst_zone::name + "'");
  raw.run("SET timestamp=" + std::to_string(autumn - 1800));
  const auto summer = raw.one("SELECT NOW()");
  raw.run("SET timestamp=" + std::to_string(autumn + 1800));
  REQUIRE(raw.one("SELECT NOW()") == summer);  // an hour later, and the clock on the wall says the same
  // Half an hour before, at, and half an hour after both changes.
  for (const std::int64_t second :
       {spring - 1800, spring, spring + 1800, autumn - 1800, autumn, autumn + 1800, std::int64_t{2147483646}}) {
    for (const char* const zone : {"SYSTEM", "+00:00", "+01:00", "+02:00", "-11:30", "+13:00", dst_zone::name}) {
      INFO(second << " in " << zone);
      raw.run(std::string("SET time_zone='") + zone + "'");
      raw.run("SET timestamp=" + std::to_string(second) + ".000001");
      CHECK(raw.one(now) == std::to_string(second) + "000001");
    }
  }
}

// Which server a store talks to, and how: TLS, several hosts, replicas, time zones, timeouts.

namespace {

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

TEST_CASE("mysql connect: TLS that was asked for and is not offered is an error", "[mariadb]") {
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

TEST_CASE("mysql connect: a connection by TLS that broke raises no SIGPIPE", "[mysql9]") {
  // MariaDB's is in tls_test.cpp, because this private server has no certificate.
  const mysql_fixture fixture;
  REQUIRE(attempt(fixture.url("&tls=require")).connected);
  CHECK(use_broken_connections(fixture.url("&tls=require")) == 0);
}

TEST_CASE("mysql connect: a wrong password is told without any password") {
  const auto refusal = attempt(variant(good_host(), "wr0ng"));
  CHECK_FALSE(refusal.connected);
  CHECK(refusal.why.native == 1045);
  CHECK_FALSE(refusal.why.transient);
  CHECK_THAT(refusal.why.text, !ContainsSubstring("wr0ng") && ContainsSubstring("***"));
  const auto e = caught<store_error>([&] { open_store(variant(good_host(), "wr0ng"))->prepare(); });
  CHECK(e.native_code() == 1045);
  CHECK(e.code() == errc::store_failed);
  CHECK_THAT(std::string(e.what()), !ContainsSubstring("reached") && StartsWith("dlock: mysql://"));
  CHECK_THAT(std::string(e.what()), !ContainsSubstring("wr0ng"));
}

TEST_CASE("mysql connect: a database that is not there, or is not for this user, is told as such") {
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

TEST_CASE("mysql connect: nobody there is unreachable and may pass") {
  const auto refusal = attempt(variant("127.0.0.1:1", "x"));
  CHECK_FALSE(refusal.connected);
  CHECK(refusal.why.connection);
  CHECK(refusal.why.transient);
  const auto e = caught<store_error>([&] { open_store(variant("127.0.0.1:1", "x"))->prepare(); });
  CHECK(e.code() == errc::store_unreachable);
  CHECK(e.transient());
}

TEST_CASE("mysql connect: of several hosts the first that answers is used, all failures are told") {
  const auto url = owner_url();
  CHECK(attempt(variant("127.0.0.1:1," + good_host(), url.password)).connected);
  const auto refusal = attempt(variant("127.0.0.1:1,127.0.0.1:2", "x"));
  CHECK_THAT(refusal.why.text, ContainsSubstring("127.0.0.1:1") && ContainsSubstring("127.0.0.1:2"));
  CHECK(refusal.why.text.find("mysql://") == refusal.why.text.rfind("mysql://"));
  CHECK(refusal.why.text.find("dlock:") == refusal.why.text.rfind("dlock:"));
}

TEST_CASE("mysql connect: a value that is longer than its place is cut off") {
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

TEST_CASE("mysql connect: a server that takes no writes is refused in words") {
  mysql_store_fixture fixture;
  actor a(fixture);
  a.acquire("k");
  const global_setting replica("read_only", "1");
  const auto refusal = attempt(fixture.tables.app_url());
  CHECK_FALSE(refusal.connected);
  CHECK(refusal.why.transient);
  CHECK_THAT(refusal.why.text, ContainsSubstring("read_only"));
}

TEST_CASE("mysql connect: a primary that steps down ends the connection, so that another host is tried") {
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

TEST_CASE("mysql connect: connections to one server have one identity and numbers of their own") {
  mysql_store_fixture fixture;
  actor a(fixture), b(fixture);
  CHECK_FALSE(a.connection->identity().server.empty());
  CHECK(a.connection->identity().server == b.connection->identity().server);
  CHECK(a.connection->identity().incarnation == b.connection->identity().incarnation);
  CHECK(a.connection->identity().id != b.connection->identity().id);
  CHECK(a.store->name().find("owner-pw") == std::string::npos);
}

TEST_CASE("mysql connect: the session has the isolation and the bounds of the protocol") {
  const bool mariadb = raw_mysql::root().is_mariadb();
  const global_setting isolation(mariadb ? "tx_isolation" : "transaction_isolation", "'SERIALIZABLE'");
  const global_setting mode("sql_mode", "''");
  mysql_store_fixture fixture;
  // prepare() checks the isolation itself; a row with an oversized label would be cut off in a lax mode.
  actor a(fixture);
  CHECK(a.acquire("k") == 1);
}

TEST_CASE("mysql connect: time zones of server and session change nothing", "[T26]") {
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
