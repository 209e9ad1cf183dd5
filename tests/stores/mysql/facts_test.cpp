// SPDX-License-Identifier: BSL-1.0

/// What MySQL and MariaDB do that a check inside a transaction could fall for (docs/measurements.md tells of each). An
/// application's connection verifies here by the text of the statement, as a program without ODB does.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <future>
#include <odb/mysql/database.hxx>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/odb/verify.hpp"
#include "stores/sql/application_database.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

bool contended_or_no(const reply& r) {
  return r.result == outcome::no || (r.result == outcome::failed && r.why.contended);
}

/// A row and a key that `a` holds, and two connections of the application.
struct fact_scene : row_scene {
  fact_scene() {
    fence = a.acquire(row);
    const auto nonce = a.nonce;
    REQUIRE(answer(a.insert("k")) == outcome::yes);
    a.nonce = nonce;
  }
  /// The holder's session ends; somebody else wants the row, and then the key.
  seen dead() {
    a.close();
    return b.at(row);
  }
  raw_mysql& raw() { return static_cast<mysql_application&>(*app).raw; }

  const lock_key row = make(1);
  const lock_key key{"k"};
  row_actor a{*this}, b{*this};
  std::uint64_t fence = 0;
  mysql_application second{mysql_setting("DLOCK_TEST_MYSQL_APP_URL")};
  raw_mysql root = raw_mysql::root();
};

}  // namespace

TEST_CASE("mysql facts: a verified row is written again in the same transaction without a deadlock",
          "[mysql][verify][e07]") {
  fact_scene s;
  const auto verify = s.a.verify_text(s.row, s.fence);
  s.app->begin();
  REQUIRE(s.app->run(verify) == 1);
  s.second.begin();
  auto other = s.second.raw.start(verify);  // a second transaction of the same holder
  wait_until_blocked(s.root, s.second.raw.id());
  CHECK(contended_or_no(s.b.take(s.row)));  // and another program
  CHECK(s.app->run(verify) == 1);           // with a shared lock, one of them would die here
  CHECK(s.app->run(s.a.release_text(s.row, s.fence)) == 1);
  CHECK_NOTHROW(s.app->commit());
  CHECK(other.get() == 0);  // freed meanwhile
  s.second.rollback();
  CHECK(s.b.acquire(s.row) == s.fence + 1);
}

TEST_CASE("mysql facts: a prepared XA transaction keeps what it verified", "[mysql][verify][e12]") {
  for (const char* isolation : {"READ COMMITTED", "REPEATABLE READ"}) {
    for (const bool of_row : {true, false}) {
      INFO(isolation << (of_row ? ", a row" : ", a key"));
      fact_scene s;
      const auto xid = "'" + s.table->label + "'";
      s.app->run(std::string("SET SESSION TRANSACTION ISOLATION LEVEL ") + isolation);
      s.app->run("XA START " + xid);
      REQUIRE(s.app->run(of_row ? s.a.verify_text(s.row, s.fence) : s.a.verify_text(s.key, 1)) == 1);
      s.app->run("XA END " + xid);
      s.app->run("XA PREPARE " + xid);
      const seen dead = s.dead();
      const auto take_over = [&] {
        return of_row ? s.b.take_over(s.row, dead)
                      : s.b.actor::take_over("k",
                                             {.holder = s.a.id, .fence = 1, .kind = lease_kind::session, .gone = true});
      };
      CHECK(contended_or_no(take_over()));
      s.app->run("XA COMMIT " + xid);
      CHECK(answer(take_over()) == outcome::yes);
    }
  }
}

TEST_CASE("mysql facts: a batch of takes never makes a verifier the victim of a deadlock", "[mysql][verify][e15]") {
  fact_scene s;
  std::vector<std::string> keys;
  for (int i = 1; i != 9; ++i) {
    keys.push_back("k" + std::to_string(i));
    REQUIRE(answer(s.a.actor::insert(keys.back())) == outcome::yes);
  }
  for (std::size_t i = 1; i != 7; ++i) REQUIRE(answer(s.a.actor::release(keys[i], 1)) == outcome::yes);
  s.app->begin();
  REQUIRE(s.app->run(s.a.verify_text(lock_key(keys[7]), 1)) == 1);  // nothing written yet: the lightest
  std::vector<request> asked;
  for (const auto& key : keys) {
    asked.push_back({.action = verb::take, .resource = key, .session = s.b.id, .nonce = ++s.b.nonce});
  }
  std::vector<reply> replies(asked.size());
  // It passes over the row that is verified: who waits for nobody is in no deadlock.
  auto batch = std::async(std::launch::async, [&] { s.b.store->execute(*s.b.connection, asked, replies); });
  batch.wait();
  // In the other order than the batch.
  CHECK(s.app->run(s.a.verify_text(lock_key(keys[0]), 1)) == 1);
  CHECK_NOTHROW(s.app->commit());
  batch.get();
  CHECK(contended_or_no(replies[0]));
  CHECK(contended_or_no(replies[7]));
  for (std::size_t i = 1; i != 7; ++i) CHECK(answer(replies[i]) == outcome::yes);
}

TEST_CASE("mysql facts: a check in a snapshot older than the take-over sees it all the same", "[mysql][verify][e16]") {
  const bool has_setting = !raw_mysql::root().rows("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").empty();
  for (const std::string setting : {"0", "1"}) {
    if (!has_setting && setting == "1") break;
    INFO("innodb_snapshot_isolation " << setting);
    fact_scene s;
    if (has_setting) s.app->run("SET SESSION innodb_snapshot_isolation=" + setting);
    s.app->run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    s.app->begin();
    REQUIRE(s.value("payload", s.row) == "0");  // the snapshot is made here
    const seen dead = s.dead();
    REQUIRE(answer(s.b.take_over(s.row, dead)) == outcome::yes);
    CHECK(s.owner(s.row) == s.a.text());  // a plain read proves nothing
    try {
      const auto rows = s.app->run(s.a.verify_text(s.row, s.fence));
      CHECK(rows == 0);
    } catch (const application::failed& e) {
      CHECK(std::string(e.what()).find("1020") != std::string::npos);
    }
    s.app->rollback();

    // A check that is right, though renewals wrote sessions meanwhile.
    s.app->begin();
    REQUIRE(s.value("payload", s.row) == "0");
    CHECK(s.b.renew(for_long) == outcome::yes);
    CHECK(s.app->run(s.b.verify_text(s.row, s.fence + 1)) == 1);
    s.app->commit();
  }
}

TEST_CASE("mysql facts: a scan for abandoned rows decides nothing, so it steals from nobody", "[mysql][rows][e21]") {
  fact_scene s;
  row_actor c(s);
  const auto& sql = *stores::sql::application_database_of(*s.b.store);
  const seen dead = s.dead();
  const auto found = s.app->all("SELECT id FROM " + s.table->table + " WHERE " + sql.abandoned_rows(*s.table));
  REQUIRE(found == std::vector<std::string>{"1"});
  // A session born meanwhile takes the row that the scan has found.
  REQUIRE(answer(c.take_over(s.row, dead)) == outcome::yes);
  CHECK(answer(s.b.take_over(s.row, dead)) == outcome::no);
  ++s.b.nonce;
  const auto* const id = s.row.row();
  CHECK(s.app->run(sql.claim({*s.table, {&id, 1}, s.b.id, s.b.nonce, {}})) == 0);
  CHECK(s.b.at(s.row).holder == c.id);
  CHECK(s.b.at(s.row).fence == s.fence + 1);
}

TEST_CASE("mysql facts: a savepoint older than the check may take it back, a new check tells", "[mysql][verify][e27]") {
  for (const char* before : {"SELECT 1", "read", "write"}) {
    INFO(before);
    fact_scene s;
    const auto other = s.make(2);
    s.app->begin();
    if (before == std::string("read")) s.value("payload", other);
    if (before == std::string("write")) s.set("payload=1", other);
    s.app->run("SAVEPOINT s");
    REQUIRE(s.app->run(s.a.verify_text(s.row, s.fence)) == 1);
    s.app->run("ROLLBACK TO SAVEPOINT s");
    const seen dead = s.dead();
    const reply taken = s.b.take_over(s.row, dead);
    CHECK(s.app->run(s.a.verify_text(s.row, s.fence)) == (taken.result == outcome::yes ? 0u : 1u));
    s.app->rollback();
  }
  // A check before the savepoint outlives it.
  fact_scene s;
  s.app->begin();
  REQUIRE(s.app->run(s.a.verify_text(s.row, s.fence)) == 1);
  s.app->run("SAVEPOINT s");
  s.set("payload=1", s.row);
  s.app->run("ROLLBACK TO SAVEPOINT s");
  const seen dead = s.dead();
  CHECK(contended_or_no(s.b.take_over(s.row, dead)));
  s.app->commit();
  CHECK(answer(s.b.take_over(s.row, dead)) == outcome::yes);
}

namespace {

/// An application on ODB whose lease is verified on its transactions.
struct odb_scene : row_scene {
  odb_scene() {
    const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_APP_URL"));
    bank = std::make_unique<odb::mysql::database>(url.user, url.password, url.path, url.hosts.at(0).host,
                                                  url.hosts.at(0).port);
    held.emplace(locks.acquire("k"));
    where_k = " FROM " + lock_table + " WHERE lock_key='k'";
  }
  mysql_fixture& tables() { return static_cast<mysql_row_fixture&>(*fixture).locks; }

  const lock_key first = make(1), second = make(2);
  lock_service locks{tables().url()};
  std::string lock_table = "locks." + tables().table("lock");
  std::string where_k{};
  std::optional<lease> held{};
  std::unique_ptr<odb::mysql::database> bank{};
  mysql_application other{mysql_setting("DLOCK_TEST_MYSQL_APP_URL")};
  raw_mysql root = raw_mysql::root();
};

}  // namespace

TEST_CASE("mysql facts: a check that waited in vain leaves nothing to commit", "[mysql][verify][e17]") {
  odb_scene s;
  s.other.begin();
  s.other.run("SELECT *" + s.where_k + " FOR UPDATE");
  {
    odb::transaction t(s.bank->begin());
    s.bank->execute("SET SESSION innodb_lock_wait_timeout=1");
    s.bank->execute("UPDATE " + s.table->table + " SET payload=7 WHERE id=1");
    CHECK_THROWS_AS(verify(t, *s.held), store_error);
    CHECK(t.finalized());
    CHECK_THROWS(t.commit());
  }
  s.other.rollback();
  CHECK(s.value("payload", s.first) == "0");
  CHECK_NOTHROW(s.held->ensure_held());
}

TEST_CASE("mysql facts: after a deadlock in a check no later write commits by itself", "[mysql][verify][e17]") {
  odb_scene s;
  s.other.begin();
  s.other.run("SELECT *" + s.where_k + " FOR UPDATE");
  for (std::int64_t id = 20; id != 40; ++id) s.make(id);
  s.other.run("UPDATE " + s.table->table +
              " SET payload=1 WHERE id>=20");  // heavier than what we do: we are the victim
  {
    odb::transaction t(s.bank->begin());
    s.bank->execute("UPDATE " + s.table->table + " SET payload=7 WHERE id=1");
    auto waiting = s.other.raw.start("UPDATE " + s.table->table + " SET payload=8 WHERE id=1");
    wait_until_blocked(s.root, s.other.raw.id());
    try {
      verify(t, *s.held);
      FAIL("there was no deadlock");
    } catch (const store_error& e) {
      CHECK(e.native_code() == 1213);
      CHECK(e.transient());
    }
    CHECK(t.finalized());
    CHECK(waiting.get() == 1);
  }
  s.other.rollback();
  CHECK(s.value("payload", s.first) == "0");
}

}  // namespace dlock::test
