// SPDX-License-Identifier: BSL-1.0

/// Logins that are refused, and passwords that change. And tables that are away for a moment.

#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/stores/mysql.hpp"
#include "support/calls.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/mysql_user.hpp"

namespace dlock::test {

namespace {

struct login_fixture {
  login_fixture() {
    fixture.open();
    user.grant("ALL ON `locks`.*");
  }
  /// Our place, by this password.
  std::string url(const std::string& password) const {
    auto to = user.url(fixture.url() + "&wake=off");
    return to.replace(to.find(":pw@") + 1, 2, password);
  }
  std::string url_of_others(const std::string& more) const {
    auto to = fixture.url() + more;
    const auto begin = to.find("//") + 2;
    return to.erase(begin, to.find('@') + 1 - begin);
  }
  void set_password(const std::string& password) {
    user.root().run(fmt::format("ALTER USER '{}'@'%' IDENTIFIED BY '{}'", user.name(), password));
  }
  long refused() {
    return std::stol(user.root().rows("SHOW GLOBAL STATUS LIKE 'Aborted_connects'").at(0).at(1).value());
  }
  bool connects(store& at) {
    why = {};
    return at.connect(5s, why) != nullptr;
  }

  mysql_store_fixture fixture{};
  mysql_user user{"login_" + id128::random().hex().substr(0, 8)};
  fault why{};
};

std::string read_secret(const std::string& name) { return name; }

/// As the page has it.
void show_credentials() {
  // [credentials]
  dlock::stores::set_mysql_credentials("vault", [] {
    return dlock::stores::mysql_login{"shop", read_secret("shop-db")};
  });
  dlock::lock_service locks{"mysql://db1/locks?credentials=vault"};
  // [/credentials]
}

}  // namespace

TEST_CASE_METHOD(login_fixture,
                 "mysql login: a process tries a login that was refused once, and not again for a while") {
  const auto to = url("old");
  const auto before = refused();
  std::vector<std::future<fault>> tries;
  for (int i = 0; i != 8; ++i) {
    tries.push_back(std::async(std::launch::async, [&] {
      fault reason;
      CHECK(open_store(to)->connect(5s, reason) == nullptr);
      return reason;
    }));
  }
  for (auto& each : tries) {
    const auto reason = each.get();
    CHECK(reason.native == 1045);
    CHECK_FALSE(reason.transient);
    CHECK_THAT(reason.text, ContainsSubstring("dlock tries this login again in"));
  }
  CHECK(refused() == before + 1);
  const auto right = open_store(url("pw"));
  CHECK(connects(*right));  // another password
}

TEST_CASE_METHOD(login_fixture, "mysql login: a lease of a process with an old password does not use up the account") {
  lock_service locks(url("pw"), {.close_limit = 0ms});
  auto held = locks.acquire("k", {.ttl = 3s});
  set_password("new");
  const auto before = refused();
  for (const auto& row :
       user.root().rows(fmt::format("SELECT id FROM information_schema.processlist WHERE user='{}'", user.name()))) {
    try {
      user.root().run("KILL " + row[0].value());
    } catch (const std::runtime_error& gone) {  // a login that was refused meanwhile
      CHECK_THAT(gone.what(), ContainsSubstring("1094"));
    }
  }
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(refused() <= before + 1);
}

TEST_CASE_METHOD(login_fixture, "mysql login: a function gives the password of each login") {
  std::atomic<const char*> password{"pw"};
  stores::set_mysql_credentials("of a test", [&] { return stores::mysql_login{user.name(), password.load()}; });
  const auto at = open_store(url_of_others("&wake=off&credentials=of a test"));
  CHECK(connects(*at));
  set_password("new");
  CHECK_FALSE(connects(*at));
  CHECK(why.native == 1045);
  password = "new";
  CHECK(connects(*at));
  stores::set_mysql_credentials("of a test",
                                []() -> stores::mysql_login { throw std::runtime_error("the vault is shut"); });
  CHECK_FALSE(connects(*at));
  CHECK_THAT(why.text, ContainsSubstring("the vault is shut"));

  CHECK_THROWS_AS(show_credentials(), store_error);  // there is no such host
  CHECK_THROWS_WITH(open_store(url_of_others("&credentials=nobody")), ContainsSubstring("credentials=nobody"));
  CHECK_THROWS_WITH(open_store(fixture.url() + "&credentials=of a test"), ContainsSubstring("takes the place"));
  CHECK_THROWS_AS(stores::set_mysql_credentials("", [] { return stores::mysql_login{}; }), std::invalid_argument);
  CHECK_THROWS_AS(stores::set_mysql_credentials("none", nullptr), std::invalid_argument);
}

TEST_CASE("mysql tables: a table that a tool takes away for a moment is no error", "[mariadb]") {
  mysql_store_fixture fixture;
  actor who(fixture);
  auto fence = who.acquire("k");
  raw_mysql tool(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  const auto table = fixture.tables.table("lock"), away = fixture.tables.table("lock_away");
  std::atomic<bool> over{false};
  std::thread swaps([&] {
    while (!over) {
      tool.run(fmt::format("BEGIN NOT ATOMIC RENAME TABLE {0} TO {1}; DO SLEEP(0.01); RENAME TABLE {1} TO {0}; END",
                           table, away));
      std::this_thread::sleep_for(1ms);
    }
  });
  for (int i = 0; i != 50; ++i) {
    const auto seen = who.poll("k");
    CHECK(answer(seen) == outcome::yes);
    CHECK(seen.why.native != 1146);
  }
  over = true;
  swaps.join();
  CHECK(answer(who.release("k", fence)) == outcome::yes);
}

TEST_CASE("mysql tables: they can be made where the server leaves out what is not there", "[mariadb]") {
  const global_setting lenient("sql_if_exists", "1");
  mysql_store_fixture fixture;
  actor who(fixture);
  CHECK(who.acquire("k") == 1);
}

}  // namespace dlock::test
