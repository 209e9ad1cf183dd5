// SPDX-License-Identifier: BSL-1.0

/// A server whose defaults, or whose init_connect, would change what our statements mean.

#include <fmt/format.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <list>
#include <string>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/client/connection.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;

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
  const std::array<std::string, 3> keys{name(2), name(3), name(4)};
  std::array<request, 3> asked;
  std::array<reply, 3> replies;
  for (std::size_t i = 0; i != 3; ++i) {
    asked[i] = {.action = verb::take, .resource = keys[i], .session = a.id, .nonce = 100 + i};
  }
  a.store->execute(*a.connection, asked, replies);
  for (const auto& reply : replies) CHECK(reply.result == outcome::yes);
  CHECK(answer(b.store->admin()->revoke(*b.connection, {.resource = name(2)})) == outcome::yes);
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

TEST_CASE("mysql session: a server that chains transactions, limits and refuses statements changes nothing",
          "[mysql][T11]") {
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

TEST_CASE("mysql session: what the server executes for each new connection changes nothing, or is refused in words",
          "[mysql]") {
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

TEST_CASE("mysql session: names are stored and shown as they are, whatever character set a connection begins with",
          "[mysql]") {
  const global_setting setting("init_connect", "\"SET NAMES latin1\"");
  const mysql_fixture fixture;
  lock_service locks(fixture.open(), {.label = "Köln ✓"});
  const auto held = locks.acquire("k");
  CHECK(locks.holder("k").value().label == "Köln ✓");
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  CHECK(raw.one("SELECT HEX(label) FROM " + fixture.table("session")) == "4BC3B66C6E20E29C93");
}

TEST_CASE("mysql session: a variable that the server does not know is left out, any other error counts", "[mysql]") {
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

TEST_CASE("mysql session: a connection that got into a transaction is given up before anything is lost in it",
          "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture), b(fixture);
  a.acquire("k");
  fault why;
  for (const char* strange : {"BEGIN", "SET autocommit=0"}) {
    INFO(strange);
    actor c(fixture);
    auto& native = static_cast<stores::mysql::mysql_connection&>(*c.connection);
    REQUIRE(native.query(strange, "a mistake", nullptr, nullptr, why) == outcome::yes);
    const reply r = c.insert("new");
    CHECK(r.result == outcome::failed);
    CHECK(r.why.connection);
    CHECK(r.why.transient);
    CHECK_THAT(r.why.text, ContainsSubstring("transaction"));
    CHECK_FALSE(c.connection->usable());
    CHECK(answer(b.poll("new")) == outcome::absent);
  }
}

}  // namespace dlock::test
