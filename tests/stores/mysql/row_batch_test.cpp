// SPDX-License-Identifier: BSL-1.0

/// Many rows of one table in one statement, where the server, a trigger or the network does not do its part. What holds
/// on every database is in contract/row.

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/long_lock_wait.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

namespace {

using enum outcome;
using Catch::Matchers::ContainsSubstring;

constexpr std::size_t many = 6;

/// Six rows with the ids 0 to 5, and requests about them.
struct row_batch : row_scene {
  row_batch() {
    for (std::size_t i = 0; i != many; ++i) rows.push_back(make(static_cast<std::int64_t>(i)));
  }
  void trigger(const std::string& body) { make_trigger(table->table, "BEFORE UPDATE", body); }

  std::vector<request> takes() { return a.takes(rows); }
  std::vector<request> frees(std::vector<request> asked, verb action) {
    for (auto& each : asked) {
      each.action = action;
      each.fence = 1;
    }
    return asked;
  }

  row_actor a{*this};
  std::vector<lock_key> rows{};
};

}  // namespace

TEST_CASE("mysql row batch: what a trigger refuses for one row is done for the others, which are told apart",
          "[mysql][rows][triggers]") {
  row_batch s;
  s.trigger("IF NEW.id=3 AND NEW.lock_owner LIKE '%/%' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='no!'; END IF");
  const auto replies = s.a.run(s.takes());
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == 3 ? failed : yes));
    CHECK(replies[i].fence == (i == 3 ? 0u : 1u));
  }
  CHECK_THAT(replies[3].why.text, ContainsSubstring("no!"));
  CHECK(s.number(s.table->fence, s.rows[3]) == 0);
  CHECK(s.number(s.table->fence, s.rows[4]) == 1);
  CHECK(s.a.connection->usable());
}

TEST_CASE("mysql row batch: a grant that a trigger has changed is in doubt, and the others have their fences",
          "[mysql][rows][triggers]") {
  row_batch s;
  s.trigger("IF NEW.id=3 THEN SET NEW.lock_owner='somebody'; END IF");
  const auto replies = s.a.run(s.takes());
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == 3 ? unknown : yes));
    CHECK(replies[i].fence == (i == 3 ? 0u : 1u));
  }
  CHECK(statements(replies) == 2);
  CHECK_FALSE(s.a.connection->usable());
}

TEST_CASE("mysql row batch: the fences behind a trigger are those in the rows", "[mysql][rows][triggers]") {
  row_batch s;
  s.set("lock_fence=40", s.rows[2]);
  audit watching(static_cast<mysql_row_fixture&>(*s.fixture).locks);
  watching.watch(s.table->table, "AFTER UPDATE");
  const auto replies = s.a.run(s.takes());
  for (std::size_t i = 0; i != many; ++i) CHECK(replies[i].fence == (i == 2 ? 41u : 1u));
  CHECK(watching.lines() == std::to_string(many));
}

TEST_CASE("mysql row batch: a row that others take as soon as it is released counts as released",
          "[mysql][rows][triggers]") {
  row_batch s;
  const auto asked = s.takes();
  for (const auto& each : s.a.run(asked)) REQUIRE(answer(each) == yes);
  // What a waiter does, at the moment of the release.
  s.trigger("IF NEW.id=3 THEN SET NEW.lock_owner='somebody'; END IF");
  auto back = s.frees(asked, verb::release);
  back[1].fence = 9;  // never ours
  const auto replies = s.a.run(back);
  for (std::size_t i = 0; i != many; ++i) CHECK(answer(replies[i]) == (i == 1 ? no : yes));
  CHECK(statements(replies) == 2);
}

TEST_CASE("mysql row batch: of two rows that others have, one freed just now, neither is told that it was lost",
          "[mysql][rows][triggers]") {
  row_batch s;
  const auto asked = s.takes();
  for (const auto& each : s.a.run(asked)) REQUIRE(answer(each) == yes);
  s.set("lock_owner='somebody'", s.rows[1]);
  s.trigger("IF NEW.id=3 THEN SET NEW.lock_owner='somebody'; END IF");
  const auto replies = s.a.run(s.frees(asked, verb::release));
  for (std::size_t i = 0; i != many; ++i) CHECK(replies[i].result == (i == 1 || i == 3 ? unknown : yes));
  // As after any answer that did not come: once more, on another connection.
  const auto other = connect(*s.a.store, 5s);
  for (const auto& each : executed(*s.a.store, *other, s.frees({asked[1], asked[3]}, verb::release)))
    CHECK(answer(each) == no);
}

TEST_CASE("mysql row batch: a renewal that must not wait passes over the row that another program has locked",
          "[mysql][rows]") {
  row_batch s;
  auto asked = s.takes();
  for (const auto& each : s.a.run(asked)) REQUIRE(answer(each) == yes);
  for (auto& each : asked) {
    each.action = verb::extend;
    each.fence = 1;
    each.ttl = 60s;
    each.no_wait = true;
  }
  const auto expiring = s.a.run(asked);  // a session keeps them: there is no expiry to be moved
  for (const auto& each : expiring) CHECK(answer(each) == no);
  for (const auto& row : s.rows) s.set("lock_expires_at_us=9000000000000000", row);
  CHECK(statements(s.a.run(asked)) == 1);
  auto other = raw_mysql::root();
  other.run("BEGIN");
  other.run("SELECT * FROM " + s.table->table + " WHERE id=3 FOR UPDATE");
  const auto replies = without_waiting(*s.a.connection, [&] { return s.a.run(asked); });
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == 3 ? failed : yes));
    CHECK(replies[i].why.contended == (i == 3));
  }
  other.run("ROLLBACK");
  for (const auto& each : s.a.run(asked)) CHECK(answer(each) == yes);
}

TEST_CASE("mysql row batch: without an answer all members are in doubt, ended once and cancelled in one statement",
          "[mysql][rows]") {
  for (const bool granted : {false, true}) {
    INFO((granted ? "it was done later" : "it was ended"));
    row_batch s;
    auto root = raw_mysql::root();
    root.run("LOCK TABLES " + s.table->table + " WRITE");  // of row locks a batch waits for none
    const auto asked = s.takes();
    const auto lost = s.a.connection->identity();
    auto replies = std::async(std::launch::async, [&] { return s.a.run(asked); });
    auto watch = raw_mysql::root();
    pass_until(*s.fixture, [&] {
      return watch.one(
                 "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE '%metadata lock%' AND id=" +
                 std::to_string(lost.id)) == "1";
    });
    s.a.connection->interrupt();
    for (const auto& each : replies.get()) {
      CHECK(each.result == unknown);
      CHECK(each.why.connection);
    }
    const auto other = connect(*s.a.store, 5s);
    if (!granted) CHECK(s.a.store->terminate(*other, lost));
    root.run("UNLOCK TABLES");
    if (granted) pass_until(*s.fixture, [&] { return !s.owner(s.rows[many - 1]).empty(); });
    CHECK(s.a.store->terminate(*other, lost));
    const auto cancelled = executed(*s.a.store, *other, s.frees(asked, verb::cancel));
    CHECK(statements(cancelled) <= (granted ? 1u : 2u));
    for (std::size_t i = 0; i != many; ++i) {
      CHECK(answer(cancelled[i]) == (granted ? yes : no));
      CHECK(s.owner(s.rows[i]).empty());
    }
    for (const auto& each : executed(*s.a.store, *other, s.takes())) CHECK(answer(each) == yes);
  }
}

TEST_CASE("mysql row batch: a text id that the column's characters can't write is no row, and spoils no other",
          "[mysql][rows]") {
  row_scene s({.id = row_id_kind::text});
  row_actor a(s);
  s.app->run("ALTER TABLE " + s.table->table + " MODIFY id VARCHAR(60) CHARACTER SET latin1 COLLATE latin1_swedish_ci");
  auto latin = *s.table;
  latin.id_text = {{"latin1", "latin1_swedish_ci"}};
  s.table = std::make_shared<const row_table>(latin);
  const std::vector<lock_key> rows = {s.make("gr\xc3\xbc\xc3\x9f"), s.key({std::string("\xe6\x97\xa5")}), s.make("?"),
                                      s.make("plain")};
  auto asked = a.takes(rows);
  auto replies = a.run(asked);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    INFO(i);
    CHECK(answer(replies[i]) == (i == 1 ? no : yes));
  }
  // MariaDB refuses the statement for all of them then.
  for (auto& each : asked) each.action = verb::release;
  for (auto& each : asked) each.fence = 1;
  replies = a.run(asked);
  for (std::size_t i = 0; i != rows.size(); ++i) CHECK(answer(replies[i]) == (i == 1 ? no : yes));
}

TEST_CASE("mysql row batch: rows of two tables, and other ttls, are never one statement", "[mysql][rows]") {
  row_batch s;
  const auto other = s.fixture->make_table({});
  s.app->run("INSERT INTO " + other->table + " (id) VALUES (0)");
  const auto row = lock_key::of_row(other, {std::int64_t{0}});
  auto asked = s.takes();
  asked.push_back(s.a.about(verb::take, row));
  auto replies = s.a.run(asked);
  for (const auto& each : replies) CHECK(answer(each) == yes);
  CHECK(statements(replies) == many + 1);
  for (const auto& each : s.a.run(s.frees(asked, verb::release))) CHECK(answer(each) == yes);
  asked = s.takes();
  asked[2].kind = lease_kind::expiring;
  asked[2].ttl = for_long;
  replies = s.a.run(asked);
  for (const auto& each : replies) CHECK(answer(each) == yes);
  for (std::size_t i = 0; i != many; ++i) CHECK(s.value(s.table->expires_at, s.rows[i]).empty() == (i != 2));
}

}  // namespace dlock::test
