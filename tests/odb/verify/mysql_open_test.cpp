// SPDX-License-Identifier: BSL-1.0

// Which transactions count as open, where there are several ways to begin and to end one.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <catch2/matchers/catch_matchers.hpp>
#include <cstdlib>
#include <filesystem>
#include <odb/exception.hxx>
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>
#include <regex>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/stores/mysql.hpp"
#include "odb/verify/verify_scene.hpp"
#include "support/forked_child.hpp"
#include "support/mysql_fixture.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/own_server.hpp"
#include "support/process_view.hpp"
#include "support/scratch_folder.hpp"
#include "wallet-odb.hxx"

namespace dlock::test {

TEST_CASE_METHOD(verify_scene, "mysql verify: a transaction that DDL has ended is refused as a mistake") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  const bool verified_before = GENERATE(false, true);
  CAPTURE(verified_before);
  if (verified_before) mine.verify(t);
  bank->execute("CREATE TABLE IF NOT EXISTS verify_ended (id INT)");
  CHECK_THROWS_AS(mine.verify(t), std::logic_error);
  CHECK(t.finalized());
  CHECK_THROWS_AS(write(*bank, 1, 666), odb::not_in_transaction);
  bank->connection()->execute("DROP TABLE verify_ended");
  CHECK_NOTHROW(mine.release());
}

TEST_CASE_METHOD(verify_scene, "mysql verify: without autocommit the check itself may begin the transaction") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("SET SESSION autocommit=0");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  CHECK(seen(1) == balance);
  by_hand->execute("COMMIT");
  CHECK(seen(1) == 90);
  by_hand->execute("SET SESSION autocommit=1");
  CHECK_THROWS_AS(verify(*by_hand, mine), std::logic_error);
}

TEST_CASE_METHOD(verify_scene, "mysql verify: an XA transaction is open until its end") {
  auto mine = overslept("wallet:1");
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("XA START 'dlock'");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  by_hand->execute("XA END 'dlock'");
  REQUIRE(expired("wallet:1"));
  by_hand->execute("XA PREPARE 'dlock'");
  CHECK(busy_elsewhere("wallet:1"));  // prepared, it still keeps the others away
  by_hand->execute("XA COMMIT 'dlock'");
  CHECK(seen(1) == 90);
  CHECK_THROWS_AS(verify(*by_hand, mine), std::logic_error);
}

TEST_CASE_METHOD(verify_scene, "mysql verify: an XA transaction whose check fails can't be committed either") {
  auto bad = overslept("wallet:2");
  REQUIRE(expired("wallet:2"));
  const auto theirs = take_elsewhere("wallet:2");
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("XA START 'dlock_bad'");
  by_hand->execute("UPDATE verify_wallet SET balance = 666 WHERE id = 2");
  CHECK_THROWS_AS(verify(*by_hand, bad), lock_lost);
  // It knows no ROLLBACK in this state: its connection was ended instead.
  CHECK_THROWS_AS(by_hand->execute("XA END 'dlock_bad'"), odb::exception);
  CHECK(eventually([&] {
    odb::transaction t(begin(*bank));
    write(*bank, 2, 77);  // nobody has the row locked any more
    t.commit();
    return seen(2) == 77;
  }));
}

namespace {

/// Statements that the server has had on this connection, this question not counted.
long statements_on(odb::connection& connection) {
  auto* const handle = static_cast<odb::mysql::connection&>(connection).handle();
  REQUIRE(mysql_query(handle, "SHOW SESSION STATUS LIKE 'Questions'") == 0);
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(handle), mysql_free_result);
  return std::atol(mysql_fetch_row(result.get())[1]) - 1;
}

}  // namespace

TEST_CASE_METHOD(verify_scene, "mysql verify: costs one statement for a lease, be it of a key or of a row") {
  auto key = locks.acquire("wallet:1", {.ttl = 60s});
  auto row = locks.acquire(wallet_key(locks, *bank, 2), {.ttl = 60s});
  odb::transaction t(begin(*bank));
  auto before = statements_on(t.connection());
  const auto sent = [&] {
    const auto now = statements_on(t.connection());
    return now - std::exchange(before, now) - 1;  // and the question before
  };
  REQUIRE(sent() == 0);
  key.verify(t);
  CHECK(sent() == 1);
  row.verify(t);
  CHECK(sent() == 1);
  verify(t, key, row);
  CHECK(sent() == 2);
}

// The application's database has one address, which leads to another server after a while: a failover, or DNS. What
// lies there looks like the locks, and proves nothing.

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

TEST_CASE_METHOD(verify_scene, "mysql verify: a copy of the locks on another server proves nothing", "[mariadb][T59]") {
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
                 "[mariadb][T59]") {
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
                 "[mariadb][T59]") {
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
  CHECK(granted(try_lock_row<wallet>(others, *bank, 2)));
  CHECK_NOTHROW(other.release());
}

// The application's database by a URL with hosts.

namespace {

std::string value(odb::database& db, const std::string& sql) {
  const auto connection = db.connection();
  auto* const handle = static_cast<odb::mysql::connection&>(*connection).handle();
  REQUIRE(mysql_query(handle, sql.c_str()) == 0);
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(handle), mysql_free_result);
  return mysql_fetch_row(result.get())[0];
}

}  // namespace

TEST_CASE("mysql database: the hosts of the URL are tried in turn, and the session is the server's own") {
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

TEST_CASE("mysql database: texts are utf8mb4 where the server does not heed what a client asks for", "[mariadb]") {
  own_server server("latin", "--character-set-client-handshake=0 --character-set-server=latin1");
  const auto db = open_database(server.url());
  CHECK(value(*db, "SELECT CONCAT(@@character_set_client, @@character_set_connection, @@character_set_results)") ==
        "utf8mb4utf8mb4utf8mb4");
}

TEST_CASE("mysql database: a program that is started inherits no connection, and no file is read for a server") {
  const auto db = open_database(mysql_setting("DLOCK_TEST_MYSQL_APP_URL"));
  const auto before = inheritable_descriptors();
  const auto connection = db->connection();
  CHECK(inheritable_descriptors() == before);
  CHECK_THROWS_WITH(connection->execute("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE verify_wallet"),
                    ContainsSubstring("local", Catch::CaseSensitive::No));
}

TEST_CASE_METHOD(
    verify_scene,
    "mysql verify: the key of a holder that verified, started a program and was killed is free after its ttl",
    "[T91]") {
  forked_child child([&](auto tell) {
    lock_service own(fixture->locks());
    const auto held = own.acquire("child", {.ttl = 2s});
    const auto db = open_database(fixture->bank());
    odb::transaction t(db->begin());
    held.verify(t);
    tell(std::system("sleep 30 <&- >&- 2>&- &") == 0 ? 1 : 0);
    ::pause();
  });
  std::uint64_t started = 0;
  REQUIRE(child.read(started));
  CHECK(started == 1);
  CHECK(child.kill());
  CHECK_NOTHROW(locks.acquire("child", {.wait = 15s}).release());
}

TEST_CASE("mysql database: by a socket, and an error that names no password") {
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

}  // namespace dlock::test
