// SPDX-License-Identifier: BSL-1.0

/// Triggers on the lock tables and on rows locked in place: the fence that is handed out is the one in the row.

#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "stores/mysql/on_connection.hpp"
#include "stores/sql/application_database.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

namespace {

constexpr std::array<const char*, 2> moments{"BEFORE", "AFTER"};

/// A lock table and a row's table in which every change is written down.
struct audited_scene : row_scene {
  explicit audited_scene(const char* moment, const row_shape& shape = {}) : row_scene(shape) {
    fixture->open();
    for (const char* change : {"INSERT", "UPDATE"}) log.watch(lock, fmt::format("{} {}", moment, change));
    log.watch(table->table, fmt::format("{} UPDATE", moment));
  }
  mysql_fixture& tables() { return static_cast<mysql_row_fixture&>(*fixture).locks; }
  std::uint64_t stored(const std::string& key) {
    return std::stoull(root.one("SELECT fence FROM " + lock + " WHERE lock_key='" + key + "'"));
  }

  std::string lock = "`locks`." + tables().table("lock");
  audit log{tables()};
  raw_mysql root = raw_mysql::root();
};

}  // namespace

TEST_CASE("mysql triggers: the server says 0 for a fence behind a trigger, and never another number") {
  const mysql_fixture fixture;
  auto root = raw_mysql::root();
  const auto row = fixture.table("row"), log = fixture.table("log"), plain = fixture.table("plain");
  root.run("CREATE TABLE " + log + " (id BIGINT AUTO_INCREMENT PRIMARY KEY, x BIGINT) ENGINE=InnoDB AUTO_INCREMENT=77");
  root.run("CREATE TABLE " + plain + " (x BIGINT) ENGINE=InnoDB");
  root.run("INSERT INTO " + plain + " VALUES (1)");
  for (const std::string& body : {
           std::string("SET @a=1"),
           std::string("SET @a=LAST_INSERT_ID(88)"),
           "INSERT INTO " + log + "(x) VALUES (1)",
           "INSERT INTO " + log + "(x) VALUES (LAST_INSERT_ID(88))",
           "INSERT INTO " + plain + " VALUES (LAST_INSERT_ID())",
           "UPDATE " + plain + " SET x=LAST_INSERT_ID(88)",
           "BEGIN INSERT INTO " + log + "(x) VALUES (1); SET @a=LAST_INSERT_ID(88); END",
       }) {
    for (const char* when : {"BEFORE UPDATE", "AFTER UPDATE", "BEFORE INSERT", "AFTER INSERT"}) {
      INFO(when << " " << body);
      root.run("CREATE TABLE " + row + " (id INT PRIMARY KEY, fence BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB");
      const bool insert = std::string(when).find("INSERT") != std::string::npos;
      if (!insert) root.run("INSERT INTO " + row + " VALUES (1, 4)");
      make_trigger(row, when, body);
      CHECK(root.run(insert ? "INSERT INTO " + row + " SELECT 1, LAST_INSERT_ID(x+4) FROM (SELECT 1 AS x) t"
                            : "UPDATE " + row + " SET fence=LAST_INSERT_ID(fence+1) WHERE id=1") == 1);
      CHECK(root.insert_id() == 0);
      CHECK(root.one("SELECT fence FROM " + row) == "5");
      root.run("DROP TABLE " + row);
    }
  }
  root.run("DROP TABLE " + log + ", " + plain);
}

TEST_CASE("mysql triggers: every grant of a key has the fence that is in its row") {
  for (const char* moment : moments) {
    INFO(moment);
    audited_scene s(moment);
    row_actor a(s), b(s);
    const auto take = [](actor& actor, const char* key, microseconds ttl = 0us) { return actor.take(key, ttl); };
    const reply first = a.insert("k");
    REQUIRE(answer(first) == outcome::yes);
    CHECK(first.fence == 1);
    CHECK(first.statements == 2);
    CHECK(answer(a.release("k", 1)) == outcome::yes);
    const reply again = take(b, "k");
    CHECK(again.fence == 2);
    CHECK(answer(b.release("k", 2)) == outcome::yes);
    CHECK(take(b, "k", 10s).fence == 3);
    CHECK(answer(b.extend("k", 3, 20s)) == outcome::yes);
    CHECK(answer(b.release("k", 3)) == outcome::yes);
    CHECK(take(a, "k").fence == 4);
    a.close();
    const reply over = b.take_over("k", b.at("k"));
    CHECK(over.fence == 5);
    CHECK(s.stored("k") == 5);
    // A batch: two of three are free.
    for (const char* key : {"k1", "k2"}) CHECK(answer(b.release(key, b.acquire(key))) == outcome::yes);
    const auto replies = take_all(b, {"k", "k1", "k2"}, 900);
    CHECK(replies[0].result == outcome::no);
    CHECK(replies[1].fence == 2);
    CHECK(replies[2].fence == 2);
    CHECK(s.log.lines() != "0");
  }
}

TEST_CASE("mysql triggers: leases under an audited lock table are held, verified and released") {
  audited_scene s("AFTER");
  lock_service locks(s.fixture->open(), {.cleanup_interval = 0ms});
  for (std::uint64_t fence = 1; fence != 4; ++fence) {
    auto held = locks.acquire("k");
    CHECK(held.fencing_token() == fence);
    CHECK(s.stored("k") == fence);
    CHECK(s.app->run(held.verification().text) == 1);
    CHECK_NOTHROW(held.release());
  }
  auto several = locks.acquire_all({"k", "l", "m"});
  CHECK(several["k"].fencing_token() == 4);
  CHECK(several["m"].fencing_token() == 1);
  CHECK_NOTHROW(several.release());
  CHECK(locks.count(event::kind::split_brain) == 0);
}

TEST_CASE("mysql triggers: every grant of a row has the fence that is in it") {
  for (const char* moment : moments) {
    for (const bool column : {false, true}) {
      INFO(moment << (column ? ", kept by a column" : ", kept by a session"));
      audited_scene s(moment, {.renewal = column ? row_renewal::column : row_renewal::session,
                               .owner_not_null = column,
                               .fence_is_version = column});
      const auto row = s.make(1);
      const microseconds ttl = column ? 10s : 0s;
      row_actor a(s), b(s);
      const auto fence = a.acquire(row, ttl);
      CHECK(fence == 1);
      CHECK(s.number(s.table->fence, row) == 1);
      CHECK(answer(b.take(row, ttl)) == outcome::no);
      CHECK(s.app->run(a.verify_text(row, fence)) == 1);
      CHECK(answer(a.release(row, fence)) == outcome::yes);
      CHECK(a.acquire(row, ttl) == 2);
      if (column) {
        s.set("lock_expire_time='2001-01-01'", row);
      } else {
        a.close();
      }
      const reply over = b.take_over(row, b.at(row), ttl);
      CHECK(answer(over) == outcome::yes);
      CHECK(over.fence == 3);
      CHECK(s.number(s.table->fence, row) == 3);
      CHECK(answer(b.release(row, 3)) == outcome::yes);
      // A claim's fences are read after it in any case.
      const auto& sql = *stores::sql::application_database_of(*b.store);
      const auto* const id = row.row();
      CHECK(s.app->run(sql.claim({*s.table, {&id, 1}, b.id, ++b.nonce, ttl})) == 1);
      CHECK(b.at(row).fence == 4);
      CHECK(answer(b.release(row, 4)) == outcome::yes);
    }
  }
}

TEST_CASE("mysql triggers: a grant whose fence can't be read is unknown, and freed by its nonce") {
  audited_scene s("AFTER");
  row_actor a(s), b(s);
  // The row is somebody else's before we can read it.
  make_trigger(s.lock, "BEFORE INSERT", "SET NEW.nonce=NEW.nonce+1000000");
  const reply lost = a.insert("k");
  CHECK(lost.result == outcome::unknown);
  CHECK(lost.why.transient);
  CHECK(lost.fence == 0);
  CHECK_FALSE(a.connection->usable());
  CHECK(answer(b.run({.action = verb::cancel, .resource = "k", .session = a.id, .nonce = a.nonce + 1000000})) ==
        outcome::yes);
  CHECK(b.acquire("k") == 2);
}

TEST_CASE("mysql triggers: of a batch, what was granted and can't be seen is unknown") {
  audited_scene s("AFTER");
  row_actor a(s), b(s);
  for (const char* key : {"k1", "k2", "k3"}) REQUIRE(answer(b.release(key, b.acquire(key))) == outcome::yes);
  REQUIRE(b.acquire("k3") == 2);
  make_trigger(s.lock, "BEFORE UPDATE", "IF NEW.lock_key='k2' AND NEW.nonce=801 THEN SET NEW.nonce=9; END IF");
  const auto replies = take_all(a, {"k1", "k2", "k3"}, 800);
  CHECK(replies[0].fence == 2);
  CHECK(replies[1].result == outcome::unknown);
  CHECK(replies[1].why.transient);
  CHECK(replies[2].result == outcome::unknown);  // nobody can tell which it is
  CHECK_FALSE(a.connection->usable());
  CHECK(answer(b.run({.action = verb::cancel, .resource = "k1", .session = a.id, .nonce = 800})) == outcome::yes);
}

}  // namespace dlock::test
