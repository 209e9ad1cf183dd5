// SPDX-License-Identifier: BSL-1.0

/// scheme=for_update: rows of a team's table, each locked by an open transaction on a connection of its own.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/store_contract.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "support/calls.hpp"
#include "support/eventually.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;

struct row_fixture {
  for_update_fixture fixture{};
  raw_mysql plain{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  raw_mysql root = raw_mysql::root();
  const std::string& table = fixture.table();

  void make_row(const std::string& key) { plain.run("INSERT INTO " + table + " (resource) VALUES ('" + key + "')"); }
  std::string select(const std::string& key) {
    return "SELECT id FROM " + table + " WHERE resource='" + key + "' FOR UPDATE";
  }
  /// The connections that have a transaction open. Not information_schema.innodb_trx, which shows an old state.
  std::vector<std::string> transactions() {
    const auto status = root.rows("SHOW ENGINE INNODB STATUS").at(0).at(2).value_or("");
    std::vector<std::string> found;
    for (auto at = status.find("---TRANSACTION"); at != std::string::npos;) {
      const auto next = status.find("---TRANSACTION", at + 1);
      const auto section = status.substr(at, next == std::string::npos ? next : next - at);
      const auto thread = section.find("thread id ");
      if (section.find(", ACTIVE") < section.find('\n') && thread != std::string::npos) {
        const auto id = thread + std::string("thread id ").size();
        found.push_back(section.substr(id, section.find(',', id) - id));
      }
      at = next;
    }
    return found;
  }
};

/// The error number of a statement beside dlock; 0: none.
int error_of(raw_mysql& by, const std::string& sql) {
  try {
    by.rows(sql);
  } catch (const std::runtime_error& e) {
    return std::string(e.what()).find("Deadlock") != std::string::npos ? 1213 : -1;
  }
  return 0;
}

}  // namespace

TEST_CASE_METHOD(row_fixture, "for_update: a program that locks the row by itself and dlock exclude each other") {
  make_row("k");
  lock_service locks{fixture.url("")};
  plain.run("BEGIN");
  plain.rows(select("k"));
  CHECK_FALSE(locks.try_acquire("k"));
  REQUIRE(locks.holder("k"));
  CHECK_FALSE(locks.holder("k")->session);
  plain.run("COMMIT");
  CHECK_FALSE(locks.holder("k"));
  const auto mine = locks.try_acquire("k");
  REQUIRE(mine);
  CHECK_THROWS(plain.rows(select("k") + " NOWAIT"));
  raw_mysql writer(fixture.url());
  writer.run("SET SESSION innodb_lock_wait_timeout=1");
  CHECK_THROWS(writer.run("UPDATE " + table + " SET description='x' WHERE resource='k'"));
}

TEST_CASE_METHOD(row_fixture, "for_update: a key without a row is an error that names table and column, or gets one") {
  lock_service locks{fixture.url("")};
  const auto text = message_of([&] { return locks.try_acquire("nobody's"); });
  CHECK_THAT(text, ContainsSubstring("`" + table + "` has no row"));
  CHECK_THAT(text, ContainsSubstring("`resource`"));
  CHECK_THAT(text, ContainsSubstring("nobody's"));
  CHECK_THAT(text, ContainsSubstring("make_rows=1"));
  CHECK(thrown([&] { return locks.acquire("nobody's", {.wait = 20s}); }) == errc::store_failed);  // at once
  lock_service maker{fixture.url("&make_rows=1")};
  CHECK(maker.try_acquire("nobody's"));
  CHECK(plain.one("SELECT COUNT(*) FROM " + table) == "1");
  CHECK(locks.try_acquire("nobody's"));
}

TEST_CASE_METHOD(row_fixture,
                 "for_update: more locks than it may hold are refused with the limit, and harm none of them") {
  for (const char* key : {"1", "2", "3"}) make_row(key);
  lock_service locks{fixture.url("&held=2")};
  auto one = locks.acquire("1"), two = locks.acquire("2");
  const auto text = message_of([&] { return locks.try_acquire("3"); });
  CHECK_THAT(text, ContainsSubstring("held=2"));
  CHECK(thrown([&] { return locks.acquire("3", {.wait = 20s}); }) == errc::store_failed);  // at once
  CHECK_NOTHROW(one.ensure_held());
  CHECK(transactions().size() == 2);
  one.release();
  const auto three = locks.try_acquire("3");
  CHECK(three);
  lock_service others{fixture.url("")};
  CHECK(others.try_acquire("1"));
  CHECK_FALSE(others.try_acquire("2"));
  CHECK_FALSE(others.try_acquire("3"));
}

TEST_CASE_METHOD(row_fixture, "for_update: nothing but a held lock has a transaction open") {
  make_row("k");
  make_row("l");
  lock_service locks{fixture.url(""), {.release_limit = 20s}}, others{fixture.url(""), {.release_limit = 20s}};
  CHECK(transactions().empty());
  auto held = locks.acquire("k");
  const auto holder = transactions();
  REQUIRE(holder.size() == 1);
  CHECK(others.try_acquire("l"));
  CHECK(transactions() == holder);
  CHECK_FALSE(others.try_acquire("k"));
  CHECK(transactions() == holder);
  held.release();
  CHECK(transactions().empty());
  // What was refused has not even locked the table's definition.
  plain.run("SET SESSION lock_wait_timeout=1");
  CHECK_NOTHROW(plain.run("ALTER TABLE " + table + " ADD COLUMN note int"));
  CHECK_THROWS_AS(others.try_acquire("no row"), store_error);
  CHECK_NOTHROW(plain.run("ALTER TABLE " + table + " ADD COLUMN remark int"));
}

TEST_CASE_METHOD(row_fixture, "for_update: a free key of a table that an ALTER TABLE waits for is not called held",
                 "[mariadb]") {
  make_row("k");
  make_row("l");
  lock_service locks{fixture.url("")}, others{fixture.url("")};
  auto held = locks.acquire("k");
  REQUIRE(others.try_acquire("l"));
  CHECK_FALSE(others.try_acquire("k"));  // a locked row
  plain.run("SET SESSION lock_wait_timeout=60");
  auto alter = plain.start("ALTER TABLE " + table + " ADD COLUMN note int");
  REQUIRE(eventually([&] {
    return root.one(
               "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '%metadata lock%' AND INFO LIKE "
               "'ALTER TABLE " +
               table + "%'") == "1";
  }));
  const auto text = message_of([&] { return others.try_acquire("l"); });
  held.release();
  alter.get();
  CHECK_THAT(text, ContainsSubstring("table `" + table + "` is locked: an ALTER TABLE"));
  CHECK(others.try_acquire("l"));
}

TEST_CASE_METHOD(row_fixture, "for_update: a killed connection loses its own lease at once, and no other", "[T62]") {
  make_row("k");
  make_row("other");
  lock_service locks{fixture.url("")}, others{fixture.url("")};
  const auto mine = locks.acquire("k", {.ttl = 10min});  // no renewal is due for minutes
  const auto of_mine = transactions();
  const auto other = locks.acquire("other", {.ttl = 30s});
  root.run("KILL " + of_mine.at(0));
  const auto theirs = others.acquire("k", {.wait = 20s});
  CHECK(eventually([&] { return mine.lost_token().stop_requested(); }));
  CHECK(mine.loss() == loss_reason::taken_over);
  CHECK_NOTHROW(other.ensure_held());
  CHECK_FALSE(others.try_acquire("other"));
}

TEST_CASE_METHOD(row_fixture, "for_update: a server that has become a replica keeps no lease", "[T59]") {
  make_row("k");
  lock_service locks{fixture.url("")};
  const auto held = locks.acquire("k", {.ttl = 1s});
  const global_setting replica("read_only", "1");
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(eventually([&] { return transactions().empty(); }));
}

TEST_CASE_METHOD(row_fixture, "for_update: a key that was held while its server took no writes can be had again",
                 "[T59]") {
  actor by(fixture);
  const auto fence = by.acquire("held");
  REQUIRE(answer(by.release("idle", by.acquire("idle"))) == outcome::yes);
  {
    // What finds it out is another connection than the one that holds the key.
    const global_setting replica("read_only", "1");
    REQUIRE(by.take("idle").result == outcome::failed);
  }
  std::this_thread::sleep_for(50ms);  // a connection that has rested for 10 ms is looked at before its next statement
  SECTION("by who releases it") { CHECK(by.release("held", fence).result == outcome::no); }
  SECTION("by who renews it") { CHECK(by.extend("held", fence, for_long).result == outcome::no); }
  CHECK(eventually([&] { return by.take("held").result == outcome::yes; }));
  CHECK(eventually([&] { return by.take("idle").result == outcome::yes; }));
}

TEST_CASE_METHOD(row_fixture, "for_update: a server's limit for resting transactions does not end a lock") {
  if (!plain.is_mariadb()) return;  // MySQL has none
  make_row("k");
  const global_setting limit("idle_transaction_timeout", "1");
  lock_service locks{fixture.url("")};
  const auto held = locks.acquire("k", {.ttl = 9s});
  raw_mysql resting(fixture.url());
  resting.run("BEGIN");
  resting.rows("SELECT * FROM " + table);
  // By then the server has ended the other one.
  CHECK(eventually([&] { return transactions().size() == 1; }));
  CHECK_NOTHROW(held.ensure_held());
  CHECK_THROWS(plain.rows(select("k") + " NOWAIT"));
}

TEST_CASE_METHOD(row_fixture, "for_update: a row that is made on demand deadlocks by hand, and not by dlock", "[T51]") {
  // The published way: the row is looked for by a locking read and then inserted. Under REPEATABLE READ both get the
  // gap.
  make_row("zzz");
  raw_mysql one(fixture.url()), two(fixture.url());
  for (auto* each : {&one, &two}) {
    each->run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    each->run("BEGIN");
    CHECK(each->rows(select("new")).empty());
  }
  const std::string insert = "INSERT INTO " + table + " (resource) VALUES ('new')";
  auto waits = std::async(std::launch::async, [&] { return error_of(one, insert); });
  wait_until_blocked(root, one.id());
  const int second = error_of(two, insert);
  CHECK((waits.get() == 1213) != (second == 1213));
  one.run("ROLLBACK");
  two.run("ROLLBACK");
  // Ours, at the same moment, with the same missing row.
  actor a(fixture), b(fixture);
  const auto takes = [](actor& by) {
    return by.take("new").result;
  };  // not answer(): Catch2's messages are for one thread
  auto other = std::async(std::launch::async, takes, std::ref(a));
  takes(b);
  other.get();
  CHECK(plain.one("SELECT COUNT(*) FROM " + table + " WHERE resource='new'") == "1");
  const bool taken = a.at("new").holder || b.at("new").holder;
  CHECK((taken || answer(a.take("new")) == outcome::yes));
}

TEST_CASE_METHOD(row_fixture, "for_update: what will not do is refused with the reason") {
  const auto owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const auto complaint = [&](const std::string& url) -> std::string {
    try {
      open_store(url)->prepare();
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  };
  CHECK_THAT(complaint("mysql://u@one,two/db?scheme=for_update"), ContainsSubstring("one host"));
  CHECK_THAT(complaint(fixture.url("&held=0")), ContainsSubstring("held=0"));
  CHECK_THAT(complaint(fixture.url("&make_rows=2")), ContainsSubstring("make_rows=2"));
  CHECK_THAT(complaint(fixture.url("&key=description")), ContainsSubstring("no unique index"));
  CHECK_THAT(complaint(owner + "?scheme=for_update&table=nowhere"), ContainsSubstring("no such table"));
  lock_service locks{fixture.url("")};
  CHECK_THROWS_AS(locks.try_acquire("k", {.renewal = renewal::none}), std::invalid_argument);
  CHECK_THROWS_AS(locks.try_acquire(std::string(65, 'x')), std::invalid_argument);
}

}  // namespace dlock::test
