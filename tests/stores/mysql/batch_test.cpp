// SPDX-License-Identifier: BSL-1.0

/// Many keys, or many rows of one table, in one statement, where another program, a trigger or the network does not do
/// its part.

#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/on_connection.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

namespace {

using enum outcome;

constexpr std::size_t many = 16, locked = 7, held = 3;
const id128 somebody{{7, 7}};

enum class about { keys, rows, composite_rows };
std::ostream& operator<<(std::ostream& out, about what) {
  constexpr const char* names[] = {"keys", "rows", "rows with an id of two columns"};
  return out << names[static_cast<std::size_t>(what)];
}

/// Sixteen of them, each of which was used once, and another program.
struct batch_scene : row_scene {
  batch_scene() : batch_scene(GENERATE(about::keys, about::rows)) {}
  explicit batch_scene(about of)
      : row_scene({.id = of == about::composite_rows ? row_id_kind::composite : row_id_kind::integer}), what(of) {
    for (std::size_t i = 0; i != many; ++i) {
      all.push_back(what == about::keys ? lock_key(fmt::format("k{:02}", i))
                                        : make_numbered(static_cast<std::int64_t>(i)));
      REQUIRE(answer(a.release(all[i], a.acquire(all[i]))) == yes);
    }
  }

  /// All of them, each in an attempt of its own.
  std::vector<request> taken() {
    auto asked = a.takes(all);
    for (const auto& each : a.run(asked)) REQUIRE(answer(each) == yes);
    return asked;
  }
  /// The same for what they were granted.
  static std::vector<request> freed(std::vector<request> asked, verb action) {
    for (auto& each : asked) {
      each.action = action;
      each.fence = 2;
    }
    return asked;
  }
  /// One batch, for which nobody waits.
  std::vector<reply> at_once(const std::vector<request>& asked) {
    auto replies = without_waiting(*a.connection, [&] { return a.run(asked); });
    CHECK(statements(replies) <= 3);
    return replies;
  }
  std::string place() const {
    const auto& tables = static_cast<mysql_row_fixture&>(*fixture).locks;
    return what == about::keys ? "`locks`." + tables.table("lock") : table->table;
  }
  std::string named(std::size_t i) const {
    return what == about::keys ? "lock_key='" + all[i].str() + "'" : where(all[i]);
  }
  /// A transaction of another program has it locked.
  void lock(std::size_t i) {
    foreign.run("BEGIN");
    foreign.run("SELECT * FROM " + place() + " WHERE " + named(i) + " FOR UPDATE");
  }
  /// Somebody has it.
  std::string somebodys() const {
    return what == about::keys ? "session_id=" + hex(somebody) + ", nonce=7" : "lock_owner='somebody'";
  }
  /// What a waiter does, at the moment that number 3 is released.
  void take_when_free() {
    auto then = somebodys();
    for (auto at = then.find(", "); at != std::string::npos; at = std::string::npos) then.replace(at, 2, ", NEW.");
    make_trigger(place(), "BEFORE UPDATE",
                 what == about::keys
                     ? "IF NEW." + named(held) + " AND NEW.session_id IS NULL THEN SET NEW." + then +
                           ", NEW.fence=NEW.fence+1; END IF"
                     : "IF NEW." + named(held) + " AND NEW.lock_owner IS NULL THEN SET NEW." + then + "; END IF");
  }

  const about what;
  std::vector<lock_key> all{};
  row_actor a{*this};
  raw_mysql foreign = raw_mysql::root();
  Catch::ScopedMessage shown{Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info) << what};
};

}  // namespace

TEST_CASE("mysql batch: what another program's transaction has locked neither stalls nor fails the others", "[T51]") {
  batch_scene s(GENERATE(about::keys, about::rows, about::composite_rows));
  const auto action = GENERATE(verb::take, verb::release, verb::cancel);
  row_actor b(s);
  b.acquire(s.all[held]);
  auto asked = s.a.takes(s.all);
  if (action != verb::take) {
    s.a.run(asked);
    asked = s.freed(asked, action);
  }
  s.lock(locked);
  const auto replies = s.at_once(asked);
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == locked ? failed : i == held ? no : yes));
    CHECK(replies[i].why.contended == (i == locked));
    CHECK_FALSE(replies[i].why.connection);
    if (action == verb::take) CHECK(replies[i].fence == (i == locked || i == held ? 0U : 2U));
    if (i != held) CHECK(s.a.at(s.all[i]).holder == ((i == locked) == (action == verb::take) ? id128{} : s.a.id));
  }
  CHECK(s.a.at(s.all[held]).holder == b.id);
  s.foreign.run("ROLLBACK");
  const auto again = s.a.run({asked[locked], asked[held]});
  CHECK(answer(again[0]) == yes);
  CHECK(answer(again[1]) == no);
}

TEST_CASE("mysql batch: another program's lock on what is held makes takes no less exact") {
  batch_scene s;
  row_actor b(s);
  for (const auto i : {held, locked}) b.acquire(s.all[i]);
  s.lock(locked);
  const auto replies = s.at_once(s.a.takes(s.all));
  for (std::size_t i = 0; i != many; ++i) {
    if (i == held || i == locked) CHECK((replies[i].result == no || replies[i].why.contended));
    if (i != held && i != locked) CHECK(replies[i].result == yes);
  }
  s.foreign.run("ROLLBACK");
  CHECK(s.a.at(s.all[locked]).holder == b.id);
}

TEST_CASE("mysql batch: what others take as soon as it is released counts as released") {
  batch_scene s;
  const auto action = GENERATE(verb::release, verb::cancel);
  auto back = s.freed(s.taken(), action);
  if (action == verb::release) back[1].fence = 9;  // never ours
  s.take_when_free();
  s.lock(locked);
  const auto replies = s.at_once(back);
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    const bool wrong = i == 1 && action == verb::release;
    CHECK(replies[i].result == (i == locked ? failed : wrong ? no : yes));
    CHECK(replies[i].why.contended == (i == locked));
  }
  CHECK(s.a.connection->usable());
}

TEST_CASE("mysql batch: what is not there counts as not released") {
  batch_scene s;
  auto back = s.freed(s.taken(), verb::release);
  const auto never = s.what == about::keys ? lock_key("never made") : s.numbered_key(77);
  back[held].resource = never.view();
  back[held].row = never.row();
  const auto replies = s.a.run(back);
  for (std::size_t i = 0; i != many; ++i) CHECK(answer(replies[i]) == (i == held ? no : yes));
}

TEST_CASE("mysql batch: of two that others have, one released just now, neither is told that it was lost") {
  batch_scene s;
  const auto back = s.freed(s.taken(), verb::release);
  s.foreign.run("UPDATE " + s.place() + " SET " + s.somebodys() + " WHERE " + s.named(1));
  s.take_when_free();
  const auto replies = s.a.run(back);
  for (std::size_t i = 0; i != many; ++i) CHECK(replies[i].result == (i == 1 || i == held ? unknown : yes));
  CHECK_FALSE(s.a.connection->usable());
  // As after any answer that did not come: once more, on another connection.
  const auto other = connect(*s.a.store, 5s);
  for (const auto& each : executed(*s.a.store, *other, {back[1], back[held]})) CHECK(answer(each) == no);
}

TEST_CASE("mysql batch: what was done and can't be read is in doubt, and ends the connection") {
  batch_scene s;
  const auto action = GENERATE(verb::take, verb::release);
  auto asked = action == verb::take ? s.a.takes(s.all) : s.freed(s.taken(), action);
  if (action == verb::release) asked[1].fence = 9;  // else nothing is read
  // After the change a SELECT of more than a row is refused, and nothing else of that connection.
  run_on(*s.a.connection, "SET SESSION sql_big_selects=0");
  make_trigger(s.place(), "AFTER UPDATE", "SET SESSION max_join_size=1");
  s.foreign.rows("ANALYZE TABLE " + s.place());  // else it may take the table for empty
  for (const auto& each : s.a.run(asked)) {
    INFO(each.why.text);
    CHECK(each.result == unknown);
    CHECK(each.why.native == 1104);
    CHECK(each.why.connection);
    CHECK(each.why.transient);
  }
  // Whoever settles it ends that connection at the server: nobody may go on with it.
  CHECK_FALSE(s.a.connection->usable());
}

TEST_CASE("mysql batch: without an answer all are in doubt, ended once and cancelled in one statement") {
  batch_scene s;
  const bool granted = GENERATE(false, true);
  CAPTURE(granted);  // it is done later, or ended
  row_actor other(s);
  const auto lost = s.a.connection->identity();
  auto asked = s.a.takes(s.all);
  s.foreign.run("LOCK TABLES " + s.place() + " WRITE");  // of row locks a batch waits for none
  auto replies = std::async(std::launch::async, [&] { return s.a.run(asked); });
  auto watch = raw_mysql::root();
  pass_until(*s.fixture, [&] {
    return watch.one("SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE '%metadata lock%' AND id=" +
                     std::to_string(lost.id)) == "1";
  });
  s.a.connection->interrupt();
  for (const auto& each : replies.get()) {
    CHECK(each.result == unknown);
    CHECK(each.why.connection);
  }
  if (!granted) CHECK(other.store->terminate(*other.connection, lost));
  s.foreign.run("UNLOCK TABLES");
  if (granted) pass_until(*s.fixture, [&] { return other.at(s.all[many - 1]).holder == s.a.id; });
  CHECK(other.store->terminate(*other.connection, lost));
  for (auto& each : asked) each.action = verb::cancel;
  const auto cancelled = other.run(asked);
  CHECK(statements(cancelled) <= (granted ? 1U : 2U));
  for (std::size_t i = 0; i != many; ++i) {
    CHECK(answer(cancelled[i]) == (granted ? yes : no));
    CHECK_FALSE(other.at(s.all[i]).holder);
  }
  for (const auto& each : other.run(other.takes(s.all))) CHECK(answer(each) == yes);
}

}  // namespace dlock::test
