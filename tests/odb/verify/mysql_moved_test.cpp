// SPDX-License-Identifier: BSL-1.0
// The application's database has one address, which leads to another server after a while: a failover, or DNS. What
// lies there looks like the locks, and proves nothing.
#include <dlock/detail/odb_compat.hpp>
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>
#include <regex>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "odb/verify/verify_scene.hpp"
#include "support/mysql_fixture.hpp"
#include "support/own_server.hpp"
#include "support/scratch_folder.hpp"
#include "wallet-odb.hxx"

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace dlock::test {

namespace {

/// The table with all its rows, on another server.
void copy_table(raw_mysql& from, raw_mysql& to, const std::string& table) {
  auto statement = from.rows("SHOW CREATE TABLE " + table).at(0).at(1).value();
  // The copy may be of another make, which has other collations.
  statement = std::regex_replace(statement.substr(0, statement.rfind(") ENGINE") + 1), std::regex(" COLLATE \\w+"), "");
  to.run(statement + " ENGINE=InnoDB");
  for (const auto& row : from.rows("SELECT * FROM " + table)) {
    std::string values;
    for (const auto& each : row) {
      values += values.empty() ? "" : ", ";
      if (!each) values += "NULL";
      if (!each) continue;
      values += "UNHEX('";
      for (const char c : *each) values += fmt::format("{:02x}", static_cast<unsigned char>(c));
      values += "')";
    }
    to.run("INSERT INTO " + table + " VALUES (" + values + ")");
  }
}

bool finds_its_row(raw_mysql& client, const std::string& statement) {
  try {
    return client.run(statement) == 1;
  } catch (const std::runtime_error&) {
    return false;  // another make does not even know what the statement asks for
  }
}

/// A bank at a socket whose name leads first to the server of the locks, then to a copy.
struct moving_scene : verify_scene {
  moving_scene() {
    std::filesystem::create_symlink(mysql_setting("DLOCK_TEST_MYSQL_SOCKET"), link);
    const auto url = store_url::parse(fixture->bank());
    moving = open_bank(fmt::format("mysql://{}:{}@/{}?socket={}", url.user, url.password, url.path, link));
  }

  /// Everything that is there now is at the other server, to which the address leads from now on.
  void move() {
    raw_mysql locks_here(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
    raw_mysql locks_there(copy.url());
    for (const char* const name : {"lock", "session", "floor"}) {
      copy_table(locks_here, locks_there, "`" + prefix() + name + "`");
    }
    raw_mysql bank_here(fixture->bank());
    auto bank_url = copy.url();
    bank_url.replace(bank_url.find("/locks?"), 7, "/app?");
    raw_mysql bank_there(bank_url);
    bank_there.run("DROP TABLE IF EXISTS verify_wallet");
    copy_table(bank_here, bank_there, "verify_wallet");
    std::filesystem::remove(link);
    std::filesystem::create_symlink(store_url::parse(copy.url()).params.at("socket"), link);
    // Connections end when a server fails; ODB's pool makes new ones.
    auto root = raw_mysql::root();
    for (const auto id : seen_connections) {
      root.run("KILL " + std::to_string(id));
      const auto left = "SELECT COUNT(*) FROM information_schema.processlist WHERE id=" + std::to_string(id);
      REQUIRE(eventually([&] { return root.one(left) == "0"; }));
    }
    seen_connections.clear();
  }

  void note(odb::connection& connection) {
    seen_connections.push_back(mysql_thread_id(static_cast<odb::mysql::connection&>(connection).handle()));
  }
  std::string prefix() const { return store_url::parse(fixture->locks()).params.at("prefix"); }

  const own_server copy;
  scratch_folder folder;
  const std::string link = folder / "s";
  std::unique_ptr<odb::database> moving;
  std::vector<unsigned long> seen_connections{};
};

}  // namespace

TEST_CASE_METHOD(verify_scene, "mysql verify: a copy of the locks on another server proves nothing",
                 "[verify][mysql][mariadb][T59]") {
  const own_server replica;
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  const auto check = mine.verification().text;  // UPDATE <table> SET ... AND <this is the server of the locks>
  raw_mysql original(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  raw_mysql copy(replica.url());
  copy_table(original, copy, check.substr(7, check.find(' ', 7) - 7));
  REQUIRE(copy.run(check.substr(0, check.rfind(" AND "))) == 1);  // the row alone does not tell
  CHECK_FALSE(finds_its_row(copy, check));

  const auto there = open_bank(replica.url());
  odb::transaction t(there->begin());
  CHECK_THROWS_WITH(mine.verify(t), ContainsSubstring("is not the one that key 'wallet:1' lives in"));
  CHECK(t.finalized());
  CHECK_NOTHROW(mine.ensure_held());
}

TEST_CASE_METHOD(moving_scene,
                 "mysql verify: an address that leads to a copy of the locks after a while proves nothing",
                 "[verify][mysql][mariadb][T59]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  {
    odb::transaction t(moving->begin());
    CHECK_NOTHROW(mine.verify(t));
    note(t.connection());
    t.commit();
  }
  move();
  odb::transaction t(moving->begin());
  write(*moving, 1, 666);
  CHECK_THROWS_WITH(mine.verify(t), ContainsSubstring("is not the one that key 'wallet:1' lives in"));
  CHECK(t.finalized());
  CHECK_NOTHROW(mine.release());
}

TEST_CASE_METHOD(moving_scene,
                 "mysql rows: an address that leads to a copy after a while locks and writes no row there",
                 "[verify][mysql][mariadb][rows][T59]") {
  auto row = lock_row<wallet>(locks, *moving, 2, {.ttl = 60s});
  auto other = lock_row<wallet>(locks, *moving, 4, {.ttl = 60s});
  {
    odb::transaction t(moving->begin());
    note(t.connection());
    t.commit();
  }
  move();
  row->balance = 666;
  other->balance = 666;
  CHECK_THROWS_AS(row.update(), std::invalid_argument);
  CHECK_THROWS_WITH(row.commit(), ContainsSubstring("another place now"));
  odb::transaction t(moving->begin());
  CHECK_THROWS_AS(other.update(t), std::invalid_argument);
  CHECK_THROWS_WITH(claim<wallet>(locks, *moving, odb::query<wallet>::id == 3, 1),
                    ContainsSubstring("another place now"));
  CHECK(read(*moving, 2).balance == balance);
  CHECK(read(*moving, 4).balance == balance);
  // In the place of the locks the row is free, as after any commit that failed.
  CHECK(try_lock_row<wallet>(others, *bank, 2));
  CHECK_NOTHROW(other.release());
}

}  // namespace dlock::test
