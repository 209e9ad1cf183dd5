// SPDX-License-Identifier: BSL-1.0

/// Takers who meet a transaction that verified, and whose it is.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <odb/mysql/database.hxx>
#include <odb/transaction.hxx>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "dlock/odb/verify.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/sql/application_database.hpp"
#include "support/calls.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/mysql_user.hpp"

namespace dlock::test {

using steady = std::chrono::steady_clock;

namespace {

raw_mysql& raw_of(row_scene& s) { return static_cast<mysql_application&>(*s.app).raw; }

mysql_fixture& tables_of(row_scene& s) { return static_cast<mysql_row_fixture&>(*s.fixture).locks; }

/// Which connection has a transaction open that verified the key; 0: none.
std::uint64_t blocker_of(row_actor& actor, const lock_key& key) {
  connection_identity found;
  const reply r = actor.store->transactions()->blocker(*actor.connection, actor.about(verb::poll, key), found);
  return answer(r) == outcome::yes ? found.id : 0;
}

/// A user of the database with few rights.
struct few_rights : mysql_user {
  few_rights(row_scene& s, const std::string& name, const std::vector<std::string>& grants)
      : mysql_user(tables_of(s).prefix() + name) {
    for (const auto& each : grants) grant(each);
  }
};

}  // namespace

TEST_CASE_METHOD(two_row_actors,
                 "mysql verify: whoever wants a verified key is told within milliseconds where the server can") {
  const auto fence = a.acquire(row);
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  --a.nonce;
  s.app->begin();
  REQUIRE(s.app->run(a.verify_text(row, fence)) == 1);
  REQUIRE(s.app->run(a.verify_text("k", 1)) == 1);
  const bool waits = b.store->takes_wait();
  CHECK(waits == !raw_of(s).is_mariadb());
  const int rounds = waits ? 1 : 50;
  std::vector<std::chrono::steady_clock::duration> took;
  for (int i = 0; i != rounds; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    CHECK(b.take(row).why.contended);
    CHECK(b.take("k").why.contended);
    took.push_back((std::chrono::steady_clock::now() - begun) / 2);
  }
  std::sort(took.begin(), took.end());
  CHECK(took.front() < (waits ? 3s : 20ms));  // the least: the others show how busy the machine is
  // Reading waits nowhere.
  CHECK(answer(b.poll(row)) == outcome::yes);
  CHECK(b.at("k").holder == a.id);
  s.app->commit();
}

TEST_CASE_METHOD(one_row_actor, "mysql verify: the wait limit of one take is no other statement's") {
  const auto row = s.make(1);
  a.acquire(row);
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  CHECK(answer(a.take("k")) == outcome::no);
  // A release that may wait does so for a row that is locked for a moment.
  s.app->begin();
  s.app->run("SELECT * FROM locks." + tables_of(s).table("lock") + " WHERE lock_key='k' FOR UPDATE");
  auto root = raw_mysql::root();
  CHECK(a.release("k", 1).why.contended);
  auto asked = a.about(verb::release, "k");
  asked.fence = 1;
  asked.if_locked = row_wait::accept;
  auto release = std::async(std::launch::async, [&] { return a.run(asked); });
  wait_until_blocked(root, connection_id(a));
  s.app->commit();
  CHECK(answer(release.get()) == outcome::yes);
}

TEST_CASE("mysql verify: a transaction that verified and is still open is found, and can be ended") {
  row_scene s;
  row_actor a(s), b(s);
  const lock_key key("k");
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  CHECK(blocker_of(b, key) == 0);
  CHECK(blocker_of(b, lock_key("never used")) == 0);
  s.app->begin();
  CHECK(blocker_of(b, key) == 0);
  REQUIRE(s.app->run(a.verify_text(key, 1)) == 1);
  CHECK(blocker_of(b, key) == raw_of(s).id());
  s.app->commit();
  CHECK(blocker_of(b, key) == 0);
  s.app->begin();
  REQUIRE(s.app->run(a.verify_text(key, 1)) == 1);
  REQUIRE(s.app->run(a.verify_text(key, 1)) == 1);
  CHECK(blocker_of(b, key) == raw_of(s).id());
  s.app->rollback();
  CHECK(blocker_of(b, key) == 0);
  // What another isolation level was set for is that one statement.
  CHECK(answer(b.take("k")) == outcome::no);

  // The dirty read names the connection; a user with the same name ends it. The lab's application has another one.
  row_actor same(s);
  raw_mysql stopped(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  stopped.run("BEGIN");
  REQUIRE(stopped.run(a.verify_text(key, 1)) == 1);
  a.close();
  connection_identity found;
  REQUIRE(same.store->transactions()->blocker(*same.connection, same.about(verb::poll, key), found).result ==
          outcome::yes);
  CHECK(found.id == stopped.id());
  const seen dead = b.at("k");
  CHECK(b.take_over("k", dead).why.contended);
  REQUIRE(same.store->terminate(*same.connection, found));
  CHECK(blocker_of(b, key) == 0);
  CHECK(answer(b.take_over("k", dead)) == outcome::yes);
  CHECK_THROWS(stopped.run("COMMIT"));
}

TEST_CASE("mysql verify: the connection of another user can't be ended without the right to") {
  row_scene s;
  row_actor a(s), b(s);
  const lock_key key("k");
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  s.app->begin();
  REQUIRE(s.app->run(a.verify_text(key, 1)) == 1);
  connection_identity found;
  REQUIRE(b.store->transactions()->blocker(*b.connection, b.about(verb::poll, key), found).result == outcome::yes);
  CHECK_FALSE(b.store->terminate(*b.connection, found));
  CHECK(b.connection->usable());
  CHECK_NOTHROW(s.app->commit());
}

TEST_CASE_METHOD(one_row_actor, "mysql verify: the documented rights are enough, and less is said") {
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  --a.nonce;
  const auto lock = "`locks`." + tables_of(s).table("lock");
  // The application's connections.
  const few_rights application_user(s, "app",
                                    {"SELECT, UPDATE ON " + lock, "SELECT ON `locks`." + tables_of(s).table("session"),
                                     "SELECT, UPDATE ON " + s.table->table});
  mysql_application app(application_user.url(mysql_setting("DLOCK_TEST_MYSQL_APP_URL")));
  app.begin();
  CHECK(app.run(a.verify_text("k", 1)) == 1);
  CHECK(app.run(a.verify_text(row, fence)) == 1);
  CHECK(app.run(a.release_text(row, fence)) == 1);
  CHECK(app.run(a.release_text("k", 1)) == 1);
  const auto& sql = *stores::sql::application_database_of(*a.store);
  CHECK(app.all("SELECT id FROM " + s.table->table + " WHERE " + sql.free_rows(*s.table) + " OR " +
                sql.abandoned_rows(*s.table) + sql.lock_and_skip(*s.table)) == std::vector<std::string>{"1"});
  app.commit();

  // The lock user needs the same on the tables whose rows it locks.
  const few_rights lock_user(s, "lock", {"SELECT, INSERT, UPDATE, DELETE ON `locks`.*"});
  auto statement = open_store(lock_user.url(tables_of(s).app_url("&schema=verify")));
  statement->prepare();
  const auto connection = connect(*statement, 10s);
  ++a.nonce;
  const request take = a.about(verb::take, row);
  const reply response = executed(*statement, *connection, take);
  CHECK(response.result == outcome::failed);
  CHECK(response.why.native == 1142);
  CHECK_FALSE(response.why.transient);
  CHECK(response.why.text.find("UPDATE") != std::string::npos);
  CHECK(connection->usable());
}

TEST_CASE("mysql verify: the statement with parameters is the one whose text holds all values") {
  const auto written = [](const verification& from) {
    std::string statement;
    std::string_view rest = from.sql;
    for (const auto& parameter : from.parameters) {
      const auto mark = rest.find('?');
      REQUIRE(mark != std::string_view::npos);
      statement.append(rest.substr(0, mark)).append(stores::mysql::mysql_value_literal(parameter));
      rest.remove_prefix(mark + 1);
    }
    CHECK(rest.find('?') == std::string_view::npos);
    return statement.append(rest);
  };
  for (const auto kind : {row_id_kind::integer, row_id_kind::composite}) {
    row_scene s({.id = kind});
    row_actor a(s);
    const auto row = kind == row_id_kind::integer ? s.make(7) : s.make(7, "it is");
    for (const auto& about : {lock_key("k"), row}) {
      auto grant = a.grant(about, 3);
      for (const auto& statement :
           {a.store->transactions()->verification_of(grant), a.store->transactions()->release_of(grant)}) {
        CHECK(statement.parameters.size() > 2);
        CHECK(written(statement) == statement.text);
      }
      if (about.row() != nullptr) continue;
      grant.min_hold = 5s;
      CHECK(written(a.store->transactions()->release_of(grant)) == a.store->transactions()->release_of(grant).text);
    }
  }
}

TEST_CASE("mysql verify: a take-over concurrent with a check lets exactly one of them commit", "[T71]") {
  row_scene s;
  const auto row = s.make(1);
  std::uint64_t last = 0;
  int refused = 0;
  constexpr int rounds = 40;
  for (int round = 0; round != rounds; ++round) {
    row_actor a(s), b(s);
    seen now = a.at(row);
    const reply granted = now.holder ? a.take_over(row, now) : a.take(row);
    REQUIRE(answer(granted) == outcome::yes);
    last = granted.fence;
    const auto check = a.verify_text(row, last);
    const auto write = [&](std::uint64_t fence) {
      return fmt::format("UPDATE {} SET payload={} WHERE id=1", s.table->table, fence);
    };
    now = b.at(row);
    a.close();  // stopped, and dead by now
    auto taker = std::async(std::launch::async, [&] {
      reply r;
      do r = b.take_over(row, now);
      while (r.result == outcome::failed && r.why.contended);
      return r;
    });
    if (round % 2 != 0) std::this_thread::sleep_for(std::chrono::microseconds{round * 20});
    s.app->begin();
    const bool ours = s.app->run(check) == 1;
    if (ours) {
      s.app->run(write(last));
      CHECK(taker.wait_for(1ms) == std::future_status::timeout);
      s.app->commit();
    } else {
      ++refused;
      s.app->rollback();
    }
    const reply taken = taker.get();
    REQUIRE(answer(taken) == outcome::yes);
    CHECK(taken.fence == last + 1);
    CHECK((s.number("payload", row) == last) == ours);
    last = taken.fence;
    s.app->run(write(last));
    REQUIRE(answer(b.release(row, last)) == outcome::yes);
  }
  CHECK(refused < rounds);
  CHECK(s.number(s.table->fence, row) == last);
}

// What MySQL and MariaDB do that a check inside a transaction could fall for (docs/measurements.md tells of each). An
// application's connection verifies here by the text of the statement, as a program without ODB does.

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

TEST_CASE("mysql facts: a verified row is written again in the same transaction without a deadlock", "[e07]") {
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

TEST_CASE("mysql facts: a prepared XA transaction keeps what it verified", "[e12]") {
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
                      : s.b.take_over("k", {.holder = s.a.id, .fence = 1, .kind = lease_kind::session, .gone = true});
      };
      CHECK(contended_or_no(take_over()));
      s.app->run("XA COMMIT " + xid);
      CHECK(answer(take_over()) == outcome::yes);
    }
  }
}

TEST_CASE("mysql facts: a prepared XA transaction keeps a member that it verified on MySQL, and not on MariaDB") {
  row_scene s;
  const auto row = s.make(1);
  row_actor a(s), b(s);
  auto asked = a.about(verb::insert, "k");
  asked.units = 1;
  asked.nonce = ++a.nonce;
  REQUIRE(answer(a.run(asked)) == outcome::yes);
  const auto check = a.store->transactions()->verification_of(asked).text;
  auto& raw = raw_of(s);
  const auto found = [&] { return raw.rows(check).size(); };
  asked.fence = 1;
  raw.run("XA START 'member'");
  CHECK(found() == 0);  // of another fence
  REQUIRE(raw.rows(a.store->transactions()->verification_of(asked).text).size() == 1);
  REQUIRE(s.set("payload=1", row) == 1);
  raw.run("XA END 'member'");
  raw.run("XA PREPARE 'member'");
  a.close();
  const seen dead{.holder = a.id, .kind = lease_kind::session, .gone = true, .shared = membership::open};
  const reply removed = b.take_over("k", dead);
  CHECK(removed.why.contended == !raw.is_mariadb());
  raw.run("XA COMMIT 'member'");
  CHECK(answer(b.take_over("k", dead)) == outcome::no);  // it removes, and grants nothing
  CHECK_FALSE(b.sees_held("k"));
}

TEST_CASE_METHOD(one_row_actor, "mysql verify: for members the right to read their table is enough") {
  auto asked = a.about(verb::insert, "k");
  asked.units = 1;
  asked.nonce = ++a.nonce;
  REQUIRE(answer(a.run(asked)) == outcome::yes);
  asked.fence = 1;
  const few_rights user(s, "app", {"SELECT ON `locks`." + tables_of(s).table("member"), "SELECT ON `app`.*"});
  mysql_application app(user.url(mysql_setting("DLOCK_TEST_MYSQL_APP_URL")));
  app.begin();
  CHECK(app.raw.rows(a.store->transactions()->verification_of(asked).text).size() == 1);
  app.commit();
}

TEST_CASE("mysql facts: a batch of takes never makes a verifier the victim of a deadlock", "[e15]") {
  fact_scene s;
  std::vector<std::string> keys;
  for (int i = 1; i != 9; ++i) {
    keys.push_back("k" + std::to_string(i));
    REQUIRE(answer(s.a.insert(keys.back())) == outcome::yes);
  }
  for (std::size_t i = 1; i != 7; ++i) REQUIRE(answer(s.a.release(keys[i], 1)) == outcome::yes);
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

TEST_CASE("mysql facts: a check in a snapshot older than the take-over sees it all the same", "[e16]") {
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

TEST_CASE("mysql facts: a scan for abandoned rows decides nothing, so it steals from nobody", "[e21]") {
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

TEST_CASE("mysql facts: a savepoint older than the check may take it back, a new check tells", "[e27]") {
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

// What MySQL alone does: an UPDATE can't be told to wait for less than a second, so rows are asked for first.

namespace {

constexpr int nowait = 3572;
constexpr int waited = 1205;

/// A key and a row that `a` holds, and whose lock rows a transaction of the application's has locked by verifying.
struct verified_scene : row_scene {
  verified_scene() {
    REQUIRE(answer(a.insert("k")) == outcome::yes);
    key_nonce = a.nonce;
    fence = a.acquire(row);
  }
  void verify() {
    app->begin();
    REQUIRE(app->run(a.verify_text(row, fence)) == 1);
    REQUIRE(app->run(a.verify_text("k", 1)) == 1);
  }
  reply take(row_actor& actor, const lock_key& about, bool polled) {
    ++actor.nonce;
    auto q = actor.about(verb::take, about);
    q.polled = polled;
    return actor.run(q);
  }

  const lock_key key{"k"};
  const lock_key row = make(1);
  row_actor a{*this}, b{*this};
  std::uint64_t key_nonce = 0;
  std::uint64_t fence = 0;
};

steady::duration time_of(const std::function<void()>& call) {
  const auto began = steady::now();
  call();
  return steady::now() - began;
}

}  // namespace

TEST_CASE("mysql waits: a take waits a second for a locked row, one that follows a poll does not wait", "[mysql9]") {
  verified_scene s;
  CHECK(s.b.store->takes_wait());
  s.verify();
  for (const auto& about : {s.key, s.row}) {
    reply r;
    CHECK(time_of([&] { r = s.take(s.b, about, false); }) > 900ms);
    CHECK(r.why.native == waited);
    CHECK(r.why.contended);
    CHECK(undisturbed(700ms, [&] { r = s.take(s.b, about, true); }) < 700ms);
    CHECK(r.result == outcome::failed);
    CHECK(r.why.native == nowait);
    CHECK(r.why.contended);
    CHECK(r.statements == 1);
  }
  CHECK(s.b.connection->usable());
  s.app->rollback();
  // Nothing of it is left: no lock on the row, no transaction.
  CHECK(answer(s.take(s.b, s.key, true)) == outcome::no);
  CHECK(answer(s.a.release("k", 1)) == outcome::yes);
  const reply free = s.take(s.b, s.key, true);
  CHECK(free.fence == 2);
  CHECK(free.statements == 2);
  CHECK(answer(s.a.release(s.row, s.fence)) == outcome::yes);
  CHECK(s.take(s.b, s.row, true).fence == s.fence + 1);
  CHECK(answer(s.take(s.a, lock_key("never made"), true)) == outcome::no);
}

TEST_CASE("mysql waits: a take over from a dead holder whose transaction is open does not wait", "[mysql9]") {
  verified_scene s;
  s.verify();
  s.a.close();
  for (const auto& about : {s.key, s.row}) {
    const seen dead = s.b.at(about);
    REQUIRE(dead.gone);
    reply r;
    CHECK(undisturbed(700ms, [&] { r = s.b.take_over(about, dead); }) < 700ms);
    CHECK(r.why.native == nowait);
  }
  s.app->commit();
  for (const auto& about : {s.key, s.row}) CHECK(answer(s.b.take_over(about, s.b.at(about))) == outcome::yes);
}

TEST_CASE("mysql waits: who has little time is told at once that a verified key is busy", "[mysql9]") {
  verified_scene s;
  s.verify();
  lock_service locks(s.fixture->open(), {.cleanup_interval = 0ms});
  { const lease warms_up = locks.acquire("other"); }
  CHECK(undisturbed(700ms, [&] { CHECK_FALSE(granted(locks.try_acquire("k"))); }) < 700ms);
  CHECK(undisturbed(700ms, [&] { CHECK_FALSE(granted(locks.try_acquire(s.row))); }) < 700ms);
  CHECK(undisturbed(900ms, [&] { CHECK_THROWS_AS(locks.acquire("k", {.wait = 200ms}), lock_timeout); }) < 900ms);
  CHECK(undisturbed(900ms, [&] {
          CHECK_THROWS_AS(locks.acquire_all({"k", "other"}, {.wait = 200ms}), lock_timeout);
        }) < 900ms);
  s.app->commit();
}

TEST_CASE("mysql waits: who has time takes at once, and who has not looks first", "[mysql9]") {
  row_scene s;
  lock_service locks(s.fixture->open(), {.cleanup_interval = 0ms});
  { const lease makes_the_row = locks.acquire("k"); }
  const auto statements_of = [&](auto&& call) {
    const auto before = locks.statements();
    call();
    return locks.statements() - before;
  };
  lease held;
  CHECK(statements_of([&] { held = locks.acquire("k"); }) == 1);
  CHECK(statements_of([&] { held.release(); }) == 1);
  CHECK(statements_of([&] { held = locks.try_acquire("k"); }) == 3);  // look, ask, take
  CHECK(held);
}

TEST_CASE("mysql waits: a server whose binary log has statements is refused in words", "[mysql9]") {
  const mysql_fixture fixture;
  fixture.open();
  const global_setting statements("binlog_format", "'STATEMENT'");
  const auto e = caught<store_error>([&] { fixture.open(); });
  CHECK_THAT(std::string(e.what()), Catch::Matchers::ContainsSubstring("binlog_format is STATEMENT") &&
                                        Catch::Matchers::ContainsSubstring("1665"));
  CHECK_FALSE(e.transient());
}

// A primary that steps down by read_only while a user has locks there who may write all the same; and statements that
// are too large for the server.

namespace {

/// The lock tables of a place, by root, who may write in spite of read_only.
struct root_fixture final : url_fixture {
  explicit root_fixture(const mysql_fixture& tables)
      : url_fixture("mysql://root@/locks?socket=" + mysql_setting("DLOCK_TEST_MYSQL_ROOT_SOCKET") +
                    "&prefix=" + tables.prefix()) {}
};

}  // namespace

TEST_CASE("mysql demoted: a server that steps down renews no session and grants no key, whoever asks") {
  mysql_store_fixture fixture;
  root_fixture by_root(fixture.tables);
  actor a(by_root);
  a.release("one", a.acquire("one"));
  REQUIRE(a.renew(1h) == outcome::yes);
  {
    const global_setting demoted("read_only", "1");
    SECTION("renewal") {
      fault why;
      const auto said = a.store->session(*a.connection, session_verb::renew, {.id = a.id, .ttl = 1h});
      CHECK(said.result == outcome::failed);
      CHECK(said.why.native == 1290);
      CHECK_FALSE(a.connection->usable());
    }
    SECTION("take") {
      CHECK(a.take("one").result == outcome::no);
      const auto again =
          a.run({.action = verb::take, .resource = "one", .session = a.id, .nonce = 1ULL << 40U, .polled = true});
      CHECK(again.result == outcome::failed);
      CHECK(again.why.native == 1290);
    }
  }
  actor b(by_root);
  CHECK(answer(b.take("one")) == outcome::yes);
}

TEST_CASE("mysql large: releases that are too large for one statement are done one by one") {
  mysql_store_fixture fixture;
  std::vector<std::string> keys;
  for (int i = 0; i != 64; ++i) keys.push_back(std::to_string(100 + i) + std::string(252, 'k'));
  const global_setting small("max_allowed_packet", "16384");
  actor a(fixture);
  std::vector<request> asked;
  for (const auto& key : keys) {
    asked.push_back({.action = verb::release, .resource = key, .session = a.id, .fence = a.acquire(key)});
  }
  const auto replies = a.run(asked);
  for (const auto& each : replies) CHECK(answer(each) == outcome::yes);
}

// A program that uses ODB itself: its transactions are its own.

TEST_CASE("mysql odb: a transaction of the caller stays current and untouched by prepare, inspect and list") {
  mysql_store_fixture fixture;
  actor a(fixture);
  a.acquire("k");
  const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  odb::mysql::database theirs(url.user, url.password, url.path, url.hosts.at(0).host, url.hosts.at(0).port);
  const auto table = "`" + fixture.tables.prefix() + "theirs`";
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  raw.run("CREATE TABLE " + table + " (id INT PRIMARY KEY) ENGINE=InnoDB");
  {
    odb::transaction outer(theirs.begin());
    theirs.execute("INSERT INTO " + table + " VALUES (1)");
    fixture.open();  // prepares
    std::vector<holder_info> found;
    CHECK(answer(a.store->admin()->inspect(*a.connection, {.resource = "k"}, found)) == outcome::yes);
    CHECK(found.size() == 1);
    CHECK(answer(a.store->admin()->list(*a.connection, "", 10, found)) == outcome::yes);
    REQUIRE(odb::transaction::has_current());
    CHECK(&odb::transaction::current() == &outer);
    CHECK(raw.one("SELECT COUNT(*) FROM " + table) == "0");  // not committed by us
    outer.rollback();
  }
  CHECK(raw.one("SELECT COUNT(*) FROM " + table) == "0");
  CHECK_FALSE(odb::transaction::has_current());
  raw.run("DROP TABLE " + table);
}

}  // namespace dlock::test
