// SPDX-License-Identifier: BSL-1.0

/// Takers who meet a transaction that verified, and whose it is.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/sql/application_database.hpp"
#include "support/mysql_user.hpp"

namespace dlock::test {

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

TEST_CASE("mysql verify: whoever wants a verified key is told within milliseconds where the server can", "[mysql]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  --a.nonce;
  s.app->begin();
  REQUIRE(s.app->run(a.verify_text(row, fence)) == 1);
  REQUIRE(s.app->run(a.verify_text(lock_key("k"), 1)) == 1);
  const bool waits = b.store->takes_wait();
  CHECK(waits == !raw_of(s).is_mariadb());
  const int rounds = waits ? 1 : 50;
  std::vector<std::chrono::steady_clock::duration> took;
  for (int i = 0; i != rounds; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    CHECK(b.take(row).why.contended);
    CHECK(b.actor::take("k").why.contended);
    took.push_back((std::chrono::steady_clock::now() - begun) / 2);
  }
  std::sort(took.begin(), took.end());
  CHECK(took.front() < (waits ? 3s : 20ms));  // the least: the others show how busy the machine is
  // Reading waits nowhere.
  CHECK(answer(b.poll(row)) == outcome::yes);
  CHECK(b.actor::at("k").holder == a.id);
  s.app->commit();
}

TEST_CASE("mysql verify: the wait limit of one take is no other statement's", "[mysql]") {
  row_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  a.acquire(row);
  REQUIRE(answer(a.insert("k")) == outcome::yes);
  CHECK(answer(a.actor::take("k")) == outcome::no);
  // A release still waits for a row that is locked for a moment.
  s.app->begin();
  s.app->run("SELECT * FROM locks." + tables_of(s).table("lock") + " WHERE lock_key='k' FOR UPDATE");
  auto root = raw_mysql::root();
  auto release = std::async(std::launch::async, [&] { return a.actor::release("k", 1); });
  wait_until_blocked(root, connection_id(a));
  s.app->commit();
  CHECK(answer(release.get()) == outcome::yes);
}

TEST_CASE("mysql verify: a transaction that verified and is still open is found, and can be ended", "[mysql]") {
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
  CHECK(answer(b.actor::take("k")) == outcome::no);

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
  const seen dead = b.actor::at("k");
  CHECK(b.actor::take_over("k", dead).why.contended);
  REQUIRE(same.store->terminate(*same.connection, found));
  CHECK(blocker_of(b, key) == 0);
  CHECK(answer(b.actor::take_over("k", dead)) == outcome::yes);
  CHECK_THROWS(stopped.run("COMMIT"));
}

TEST_CASE("mysql verify: the connection of another user can't be ended without the right to", "[mysql]") {
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

TEST_CASE("mysql verify: the documented rights are enough, and less is said", "[mysql]") {
  row_scene s;
  row_actor a(s);
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
  CHECK(app.run(a.verify_text(lock_key("k"), 1)) == 1);
  CHECK(app.run(a.verify_text(row, fence)) == 1);
  CHECK(app.run(a.release_text(row, fence)) == 1);
  CHECK(app.run(a.release_text(lock_key("k"), 1)) == 1);
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

TEST_CASE("mysql verify: the statement with parameters is the one whose text holds all values", "[mysql]") {
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

TEST_CASE("mysql verify: a take-over concurrent with a check lets exactly one of them commit", "[mysql][T71]") {
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

}  // namespace dlock::test
