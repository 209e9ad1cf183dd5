// SPDX-License-Identifier: BSL-1.0

/// A row that somebody's transaction has locked, in a batch.

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/long_lock_wait.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

namespace {

constexpr std::size_t many = 16, locked = 7;
const id128 somebody{{7, 7}};

/// Sixteen keys, and another program who can lock the row of one.
struct batch_scene {
  batch_scene() {
    for (std::size_t i = 0; i != many; ++i) {
      keys.push_back("k" + std::string(i < 10 ? "0" : "") + std::to_string(i));
      REQUIRE(answer(a.release(keys[i], a.acquire(keys[i]))) == outcome::yes);
    }
  }

  void lock_one() {
    foreign.run("BEGIN");
    foreign.run("SELECT fence FROM " + fixture.tables.table("lock") + " WHERE lock_key='" + keys[locked] +
                "' FOR UPDATE");
  }

  /// Nonces are 1000 and more.
  std::vector<request> about_all(verb action, std::uint64_t fence) const {
    std::vector<request> requests;
    for (std::size_t i = 0; i != many; ++i) {
      requests.push_back(
          {.action = action, .resource = keys[i], .session = a.id, .nonce = 1000 + i, .fence = fence, .ttl = 0us});
    }
    return requests;
  }

  /// Sends one batch, and sees that nobody waited for the row that is locked.
  std::vector<reply> at_once(verb action, std::uint64_t fence) {
    auto replies = without_waiting(*a.connection, [&] { return a.run(about_all(action, fence)); });
    CHECK(statements(replies) <= 3);
    return replies;
  }

  /// In the session of the connection that sends the batches.
  void a_session(const char* sql) {
    fault why;
    auto& native = static_cast<stores::mysql::mysql_connection&>(*a.connection);
    REQUIRE(native.query(sql, "", nullptr, nullptr, why) == outcome::yes);
  }

  /// What a waiter does, at the moment that key i is released.
  void take_when_free(std::size_t i) {
    make_trigger("`locks`." + fixture.tables.table("lock"), "BEFORE UPDATE",
                 "IF NEW.lock_key='" + keys[i] + "' AND NEW.session_id IS NULL THEN SET NEW.session_id=" +
                     hex(somebody) + ", NEW.nonce=7, NEW.fence=NEW.fence+1; END IF");
  }

  /// All were done but the locked one, which counts as busy.
  void check(const std::vector<reply>& replies) {
    for (std::size_t i = 0; i != many; ++i) {
      INFO("key " << i << ": " << replies[i].why.text);
      CHECK(replies[i].result == (i == locked ? outcome::failed : outcome::yes));
      CHECK(replies[i].why.contended == (i == locked));
      CHECK_FALSE(replies[i].why.connection);
    }
  }

  mysql_store_fixture fixture;
  actor a{fixture};
  raw_mysql foreign{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  std::vector<std::string> keys{};
};

}  // namespace

TEST_CASE("mysql batch: takes beside a row that another program's transaction has locked are answered at once",
          "[mysql]") {
  batch_scene s;
  s.lock_one();
  const auto replies = s.at_once(verb::take, 0);
  s.check(replies);
  for (std::size_t i = 0; i != many; ++i) CHECK(replies[i].fence == (i == locked ? 0u : 2u));
  s.foreign.run("ROLLBACK");
  CHECK_FALSE(s.a.at(s.keys[locked]).holder);
  CHECK(s.a.at(s.keys[locked]).fence == 1);
}

TEST_CASE("mysql batch: another program's lock on a held row makes a batch of takes no less exact", "[mysql]") {
  batch_scene s;
  actor b(s.fixture);
  b.acquire(s.keys[locked]);
  b.acquire(s.keys[3]);
  s.lock_one();
  const auto replies = s.at_once(verb::take, 0);
  for (std::size_t i = 0; i != many; ++i) {
    if (i == locked || i == 3) {
      CHECK(replies[i].result != outcome::yes);
      CHECK(replies[i].result != outcome::unknown);
    } else {
      CHECK(replies[i].result == outcome::yes);
    }
  }
  s.foreign.run("ROLLBACK");
  CHECK(s.a.at(s.keys[locked]).holder == b.id);
}

TEST_CASE("mysql batch: releases and cancels beside a locked row are done at once, and that one is not told to be free",
          "[mysql]") {
  for (const verb action : {verb::release, verb::cancel}) {
    batch_scene s;
    for (const auto& each : s.at_once(verb::take, 0)) REQUIRE(each.result == outcome::yes);
    s.lock_one();
    s.check(s.at_once(action, 2));
    for (std::size_t i = 0; i != many; ++i) CHECK(s.a.at(s.keys[i]).holder == (i == locked ? s.a.id : id128{}));
    s.foreign.run("ROLLBACK");
    CHECK(answer(s.a.release(s.keys[locked], 2)) == outcome::yes);
  }
}

TEST_CASE("mysql batch: a key that others take as soon as it is released counts as released", "[mysql][triggers]") {
  for (const verb action : {verb::release, verb::cancel}) {
    batch_scene s;
    for (const auto& each : s.at_once(verb::take, 0)) REQUIRE(each.result == outcome::yes);
    s.take_when_free(3);
    s.lock_one();
    auto asked = s.about_all(action, 2);
    if (action == verb::release) asked[1].fence = 9;  // never ours
    const auto replies = s.a.run(asked);
    for (std::size_t i = 0; i != many; ++i) {
      INFO(i << ": " << replies[i].why.text);
      const bool wrong = i == 1 && action == verb::release;
      CHECK(replies[i].result == (i == locked ? outcome::failed : wrong ? outcome::no : outcome::yes));
      CHECK(replies[i].why.contended == (i == locked));
    }
    CHECK(statements(replies) <= 3);
    CHECK(s.a.connection->usable());
  }
}

TEST_CASE("mysql batch: a key that has no row counts as not released", "[mysql]") {
  batch_scene s;
  for (const auto& each : s.at_once(verb::take, 0)) REQUIRE(each.result == outcome::yes);
  auto asked = s.about_all(verb::release, 2);
  asked[3].resource = "never made";
  const auto replies = s.a.run(asked);
  for (std::size_t i = 0; i != many; ++i) CHECK(answer(replies[i]) == (i == 3 ? outcome::no : outcome::yes));
}

TEST_CASE("mysql batch: of two keys that others have, one released just now, neither is told that it was lost",
          "[mysql][triggers]") {
  batch_scene s;
  for (const auto& each : s.at_once(verb::take, 0)) REQUIRE(each.result == outcome::yes);
  s.foreign.run("UPDATE " + s.fixture.tables.table("lock") + " SET session_id=" + hex(somebody) +
                ", fence=fence+1 WHERE lock_key='" + s.keys[1] + "'");
  s.take_when_free(3);
  const auto replies = s.a.run(s.about_all(verb::release, 2));
  for (std::size_t i = 0; i != many; ++i) {
    CHECK(replies[i].result == (i == 1 || i == 3 ? outcome::unknown : outcome::yes));
  }
  CHECK_FALSE(s.a.connection->usable());
  // As after any answer that did not come: once more, on another connection.
  const auto other = connect(*s.a.store, 5s);
  const auto all = s.about_all(verb::release, 2);
  for (const auto& each : executed(*s.a.store, *other, {all[1], all[3]})) CHECK(answer(each) == outcome::no);
}

TEST_CASE("mysql batch: what was done and can't be read is in doubt, and ends the connection", "[mysql][triggers]") {
  for (const verb action : {verb::take, verb::release}) {
    batch_scene s;
    if (action == verb::release) {
      for (const auto& each : s.at_once(verb::take, 0)) REQUIRE(each.result == outcome::yes);
    }
    // After the change a SELECT of more than a row is refused, and nothing else of that connection.
    s.a_session("SET SESSION sql_big_selects=0");
    const auto table = "`locks`." + s.fixture.tables.table("lock");
    make_trigger(table, "AFTER UPDATE", "SET SESSION max_join_size=1");
    raw_mysql::root().rows("ANALYZE TABLE " + table);  // else it may take the table for empty
    auto asked = s.about_all(action, 2);
    if (action == verb::release) asked[1].fence = 9;  // else nothing is read
    for (const auto& each : s.a.run(asked)) {
      INFO(each.why.text);
      CHECK(each.result == outcome::unknown);
      CHECK(each.why.native == 1104);
      CHECK(each.why.connection);
      CHECK(each.why.transient);
    }
    // Whoever settles it ends that connection at the server: nobody may go on with it.
    CHECK_FALSE(s.a.connection->usable());
  }
}

}  // namespace dlock::test
