// SPDX-License-Identifier: BSL-1.0

/// Clean-up beyond what the contract says of every store.

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/on_connection.hpp"
#include "support/calls.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

namespace {

std::uint64_t sweep(actor& actor, microseconds idle, std::size_t limit) {
  const reply r = actor.store->admin()->cleanup(*actor.connection, idle, limit);
  CHECK(answer(r) == outcome::yes);
  return r.fence;
}

/// Tables of a test, and a connection of root's beside dlock.
struct cleanup_fixture {
  cleanup_fixture() { fixture.open(); }

  std::string lock() const { return fixture.tables.table("lock"); }
  std::string session() const { return fixture.tables.table("session"); }
  std::string floor() const { return fixture.tables.table("floor"); }
  bool has(const std::string& table, const std::string& condition) {
    return root.one("SELECT COUNT(*) FROM " + table + " WHERE " + condition) == "1";
  }
  bool has_session(const id128& id) { return has(session(), "id=" + hex(id)); }
  /// A free key of that fence, granted long ago.
  void add_key(const std::string& key, int fence = 1) {
    root.run("INSERT INTO " + lock() + " VALUES ('" + key + "', NULL, 1, " + std::to_string(fence) +
             ", 1, NULL, 0, 0)");
  }
  /// The holder died long ago.
  void kill(const actor& holder) {
    root.run("UPDATE " + session() + " SET expires_at_us=1, ttl_us=1 WHERE id=" + hex(holder.id));
    root.run("UPDATE " + lock() + " SET acquired_at_us=1 WHERE session_id=" + hex(holder.id));
  }

  /// From now on the server waits where such a statement comes to a row of that table, until open_gate().
  void close_gate(const std::string& table, const std::string& when) {
    make_trigger("`locks`." + table, when, "DO GET_LOCK(" + gate + ", 20)");
    REQUIRE(root.one("SELECT GET_LOCK(" + gate + ", 0)") == "1");
  }
  void open_gate() { root.run("DO RELEASE_LOCK(" + gate + ")"); }
  /// Begins a sweep, which then waits there.
  std::future<std::uint64_t> sweep_to_gate(actor& by) {
    auto sweeping = std::async(std::launch::async, [&by] { return sweep(by, 1us, 10); });
    REQUIRE(eventually([&] {
      return root.one("SELECT COUNT(*) FROM information_schema.processlist WHERE state='User lock' AND id=" +
                      std::to_string(connection_id(by))) == "1";
    }));
    return sweeping;
  }

  mysql_store_fixture fixture{};
  raw_mysql root = raw_mysql::root();
  const std::string gate = "'" + fixture.tables.prefix() + "gate'";
};

}  // namespace

TEST_CASE_METHOD(cleanup_fixture,
                 "mysql sweep: what somebody's transaction has locked is passed over, and all else goes", "[T58]") {
  actor dead(fixture), b(fixture);
  add_key("a");
  dead.acquire("b");
  add_key("c");
  add_key("d");
  kill(dead);
  const auto locked_session = id128::random(), other_session = id128::random();
  for (const auto& id : {locked_session, other_session}) {
    REQUIRE(answer(b.store->session(*b.connection, session_verb::open, {.id = id, .ttl = 1us})) == outcome::yes);
  }
  // A holder that verified stands still in its transaction; somebody has touched another key; somebody a session.
  raw_mysql stopped(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  stopped.run("BEGIN");
  stopped.run("UPDATE " + lock() + " SET verifies=verifies+1 WHERE lock_key IN ('b', 'c')");
  stopped.run("UPDATE " + session() + " SET beat=beat+1 WHERE id=" + hex(locked_session));
  CHECK(without_waiting(*b.connection, [&] { return sweep(b, 1us, 10); }) == 3);  // a, d and a session
  CHECK(answer(b.poll("a")) == outcome::absent);
  CHECK(answer(b.poll("d")) == outcome::absent);
  CHECK(b.at("b").holder == dead.id);
  CHECK_FALSE(has_session(other_session));
  CHECK(has_session(locked_session));
  stopped.run("COMMIT");
  pass_until(fixture, [&] { return sweep(b, 1us, 10) == 0; });
  CHECK(root.one("SELECT COUNT(*) FROM " + lock()) == "0");
  CHECK_FALSE(has_session(locked_session));
  CHECK_FALSE(has_session(dead.id));
}

TEST_CASE_METHOD(cleanup_fixture, "mysql sweep: locked rows at the front do not keep it from those behind", "[T58]") {
  actor b(fixture);
  for (const char* key : {"a", "b", "c"}) add_key(key);
  raw_mysql other(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  other.run("BEGIN");
  other.run("SELECT * FROM " + lock() + " WHERE lock_key IN ('a', 'b') FOR UPDATE");
  CHECK(sweep(b, 1us, 1) + sweep(b, 1us, 1) == 1);
  CHECK(answer(b.poll("c")) == outcome::absent);
  other.run("COMMIT");
}

TEST_CASE_METHOD(cleanup_fixture, "mysql sweep: rows that are locked while it is at work make it wait once at most",
                 "[mysql9][T58]") {
  actor b(fixture);
  for (const char* key : {"a", "b", "c", "d", "e"}) add_key(key);
  wait_long_for_locks(*b.connection, 4);
  close_gate(floor(), "BEFORE UPDATE");
  auto sweeping = sweep_to_gate(b);
  raw_mysql other(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  other.run("BEGIN");
  other.run("SELECT * FROM " + lock() + " FOR UPDATE");
  const auto began = std::chrono::steady_clock::now();
  open_gate();
  CHECK(sweeping.get() == 0);
  CHECK(std::chrono::steady_clock::now() - began < 16s);
  other.run("COMMIT");
  CHECK(sweep(b, 1us, 10) + sweep(b, 1us, 10) == 5);
}

TEST_CASE_METHOD(cleanup_fixture, "mysql sweep: a floor that stays locked ends the keys' turn, not the sessions'",
                 "[T58]") {
  actor dead(fixture), b(fixture);
  add_key("a");
  kill(dead);
  raw_mysql other(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  other.run("BEGIN");
  other.run("SELECT * FROM " + floor() + " FOR UPDATE");
  CHECK(sweep(b, 1us, 10) == 1);
  CHECK_FALSE(has_session(dead.id));
  CHECK(answer(b.poll("a")) == outcome::yes);
  other.run("COMMIT");
  CHECK(sweep(b, 1us, 10) == 1);
}

TEST_CASE("mysql sweep: a key that was granted after the poll stays", "[T58]") {
  for (const bool held : {true, false}) {
    INFO((held ? "still held" : "and is free again"));
    cleanup_fixture s;
    actor other(s.fixture), b(s.fixture);
    s.add_key("k", 4);
    s.add_key("l", 2);
    // The floor is raised after the poll and before anything is deleted.
    make_trigger("`locks`." + s.floor(), "BEFORE UPDATE",
                 held ? "UPDATE " + s.lock() + " SET session_id=" + hex(other.id) + ", nonce=9 WHERE lock_key='k'"
                      : "UPDATE " + s.lock() + " SET fence=5 WHERE lock_key='k'");
    CHECK(sweep(b, 1us, 10) == 1);
    const seen now = b.at("k");
    CHECK(now.fence == (held ? 4 : 5));
    CHECK(bool(now.holder) == held);
    CHECK(answer(b.poll("l")) == outcome::absent);
  }
}

TEST_CASE("mysql sweep: a dead holder's key that changed after the poll is left to whom it belongs", "[T58]") {
  for (const std::string change : {"renewed", "taken over", "extended"}) {
    INFO(change);
    cleanup_fixture s;
    actor holder(s.fixture), other(s.fixture), b(s.fixture);
    const bool own = change == "extended";
    REQUIRE(answer(holder.insert("k", own ? 1h : 0us)) == outcome::yes);
    s.kill(holder);
    if (own) s.root.run("UPDATE " + s.lock() + " SET expires_at_us=1");
    const auto later = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))+60000000";
    make_trigger("`locks`." + s.floor(), "BEFORE UPDATE",
                 change == "renewed"
                     ? "UPDATE " + s.session() + " SET expires_at_us=" + later + " WHERE id=" + hex(holder.id)
                 : own ? "UPDATE " + s.lock() + " SET expires_at_us=" + later
                       : "UPDATE " + s.lock() + " SET session_id=" + hex(other.id) + ", fence=2");
    sweep(b, 1us, 10);
    const seen now = b.at("k");
    CHECK(now.holder == (change == "taken over" ? other.id : holder.id));
    CHECK_FALSE(now.gone);
    CHECK_FALSE(now.expired);
    CHECK(now.fence == (change == "taken over" ? 2 : 1));
  }
}

TEST_CASE_METHOD(cleanup_fixture, "mysql sweep: a session that was renewed after the poll stays", "[T58]") {
  actor b(fixture);
  std::vector<id128> ids{id128::random(), id128::random()};
  std::sort(ids.begin(), ids.end());
  for (const auto& id : ids) {
    REQUIRE(answer(b.store->session(*b.connection, session_verb::open, {.id = id, .ttl = 1us})) == outcome::yes);
  }
  fixture.pass(2ms);
  // Where a session is deleted, the server waits for us.
  close_gate(session(), "BEFORE DELETE");
  auto sweeping = sweep_to_gate(b);
  // A renewal that began in time may come so late.
  CHECK(root.run("UPDATE " + session() + " SET expires_at_us=expires_at_us+60000000 WHERE id=" + hex(ids[1])) == 1);
  open_gate();
  CHECK(sweeping.get() == 1);
  CHECK_FALSE(has_session(ids[0]));
  CHECK(has_session(ids[1]));
}

TEST_CASE_METHOD(cleanup_fixture,
                 "mysql sweep: of two services with one store the second does not wait for the first") {
  actor b(fixture);
  add_key("k");
  close_gate(floor(), "BEFORE UPDATE");
  auto first = sweep_to_gate(b);
  const auto other = connect(*b.store, 5s);
  const reply second = b.store->admin()->cleanup(*other, 1us, 10);
  CHECK(answer(second) == outcome::yes);
  CHECK(second.fence == 0);
  CHECK(second.statements == 0);
  open_gate();
  CHECK(first.get() == 1);
}

TEST_CASE_METHOD(cleanup_fixture, "mysql sweep: a great table is gone through in steps, and nothing in it is forgotten",
                 "[T58]") {
  actor holding(fixture), b(fixture);
  const auto idle_session = id128::random();
  REQUIRE(answer(b.store->session(*b.connection, session_verb::open, {.id = idle_session, .ttl = 1us})) ==
          outcome::yes);
  // 16384 keys granted just now, each 700th long ago.
  root.run("INSERT INTO " + lock() + " VALUES ('00000', NULL, 1, 1, 1000000000000000000, NULL, 0, 0)");
  for (int n = 1; n != 16384; n *= 2) {
    root.run("INSERT INTO " + lock() + " SELECT LPAD(lock_key+" + std::to_string(n) +
             ",5,'0'), NULL, 1, 1, acquired_at_us, NULL, 0, 0 FROM " + lock());
  }
  root.run("UPDATE " + lock() + " SET acquired_at_us=1 WHERE lock_key MOD 700=350");
  holding.acquire("12000x");
  kill(holding);
  root.run("UPDATE " + lock() + " SET acquired_at_us=1000000000000000000 WHERE lock_key='12000x'");
  std::uint64_t gone = 0;
  int steps = 0;
  while (gone < 24 && ++steps < 20) gone += sweep(b, 1us, 5);
  CHECK(gone == 24);  // 23 keys, and the session that holds nothing
  CHECK(steps < 12);
  CHECK_FALSE(has_session(idle_session));
  CHECK(has_session(holding.id));
  CHECK(root.one("SELECT COUNT(*) FROM " + lock()) == "16362");
}

TEST_CASE("mysql sweep: never lets a fence go back while others lock", "[T50][T58]") {
  mysql_store_fixture fixture;
  actor cleaner(fixture);
  std::atomic<bool> stop{false};
  std::thread sweeping([&] {
    while (!stop) cleaner.store->admin()->cleanup(*cleaner.connection, 1us, 100);
  });
  actor a(fixture);
  std::uint64_t last = 0, swept = 0;
  bool rose = true;
  for (int i = 0; i < 300 || (swept < 3 && i < 20'000); ++i) {
    reply r = a.take("k");
    if (r.result == outcome::failed && r.why.contended) continue;  // the cleaner's statement has the row just now
    if (r.result == outcome::no) {
      r = a.insert("k");
      ++swept;
    }
    if (r.result != outcome::yes || r.fence <= last) rose = false;
    last = r.fence;
    do r = a.release("k", last);
    while (r.result == outcome::failed && r.why.contended);  // likewise
    if (r.result != outcome::yes) rose = false;
  }
  stop = true;
  sweeping.join();
  CHECK(rose);
  CHECK(swept >= 3);
}

}  // namespace dlock::test
