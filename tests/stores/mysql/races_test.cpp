// SPDX-License-Identifier: BSL-1.0

/// Statements that meet in the server. A connection beside dlock holds a row for a moment, so that the order is
/// certain; docs/measurements.md says which rule each of these scenes is the reason for.

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/lease_table/batch.hpp"
#include "stores/mysql/on_connection.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

using namespace stores::mysql::lease_table;

/// A scene: actors, and a connection of the owner that can hold rows.
struct stage {
  stage() { fixture.open(); }

  std::string lock() const { return fixture.tables.table("lock"); }
  std::string session() const { return fixture.tables.table("session"); }
  /// Holds the lock row of a key until commit().
  void hold(const std::string& key) {
    other.run("BEGIN");
    other.run("SELECT * FROM " + lock() + " WHERE lock_key='" + key + "' FOR UPDATE");
  }
  void commit() { other.run("COMMIT"); }
  /// Starts a call of an actor and waits until it waits in the server.
  template <class Call>
  auto blocked(const actor& who, Call call) {
    auto reply = std::async(std::launch::async, std::move(call));
    wait_until_blocked(root, connection_id(who));
    return reply;
  }

  mysql_store_fixture fixture{};
  raw_mysql other{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  raw_mysql root = raw_mysql::root();
};

/// Whether a take of this server waits for a row that somebody has locked; otherwise it is busy at once.
bool takes_wait(const actor& actor) { return actor.store->takes_wait(); }

/// Busy: not had in time. MySQL has a number of its own for a row that it was told not to wait for.
void check_contended(const reply& r) {
  CHECK(r.result == outcome::failed);
  CHECK((r.why.native == 1205 || r.why.native == 3572));
  CHECK(r.why.contended);
  CHECK(r.why.transient);
}

}  // namespace

// The members are counted after the row of the key was locked, whatever the optimizer thinks of the sub-query.
TEST_CASE_METHOD(stage, "mysql races: a caller for a permit that waited for the key counts who came meanwhile") {
  actor a(fixture), b(fixture);
  const auto join = [](actor& by, verb action) {
    auto asked = by.about(action, "k");
    asked.nonce = action == verb::take ? ++by.nonce : by.nonce;
    asked.units = 1;
    asked.permits = 1;
    asked.polled = true;
    return by.run(asked);
  };
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  REQUIRE(answer(join(a, verb::take)) == outcome::yes);  // opens it
  REQUIRE(answer(join(a, verb::release)) == outcome::yes);
  const bool comes = GENERATE(true, false);
  CAPTURE(comes);
  hold("k");
  auto late = blocked(b, [&] { return join(b, verb::take); });
  if (comes) {
    root.run("INSERT INTO locks." + fixture.tables.table("member") + " VALUES ('k', X'" + a.id.hex() +
             "', 77, 1, 1, 0, 0, 0)");
  }
  commit();
  CHECK(answer(late.get()) == (comes ? outcome::no : outcome::yes));
}

// Where the server can't pass over locked rows.
TEST_CASE_METHOD(stage, "mysql races: a batch that waited does not steal a key granted meanwhile", "[T57]") {
  const lease_sql sql(stores::sql::make_table_names(fixture.tables.prefix(), '`'));
  const mysql_row_sql row_sql(sql.names(), "");
  actor a(fixture), b(fixture), c(fixture);
  for (const char* key : {"k0", "k1", "k2"}) REQUIRE(answer(a.release(key, a.acquire(key))) == outcome::yes);
  hold("k1");
  std::array<request, 3> asked;
  std::array<reply, 3> replies;
  const std::array<const char*, 3> keys{"k0", "k1", "k2"};
  for (std::size_t i = 0; i != 3; ++i) {
    asked[i] = {.action = verb::take, .resource = keys[i], .session = b.id, .nonce = 100 + i};
  }
  const auto execute = [&] {
    execute_in_one(static_cast<lease_connection&>(*b.connection), sql, row_sql, asked, replies, false);
  };
  if (!takes_wait(b)) {
    execute();
    for (const auto& reply : replies) check_contended(reply);
    commit();
    for (const char* key : {"k0", "k1", "k2"}) CHECK(b.at(key).fence == 1);  // nothing of the batch was done
    return;
  }
  auto batch = blocked(b, execute);
  // The batch holds k0 and waits at k1; it has not reached k2.
  CHECK(answer(c.take("k2")) == outcome::yes);
  commit();
  batch.get();
  CHECK(answer(replies[0]) == outcome::yes);
  CHECK(replies[0].fence == 2);
  CHECK(answer(replies[1]) == outcome::yes);
  CHECK(answer(replies[2]) == outcome::no);
  CHECK(c.at("k2").holder == c.id);
}

namespace {

/// A dead holder's key is taken over by somebody else while a take over of ours finds its row locked: neither server
/// makes it wait for that.
void overtaken() {
  stage s;
  actor dead(s.fixture), b(s.fixture), c(s.fixture);
  const auto fence = dead.acquire("k");
  dead.close();
  const seen holder = b.at("k");
  REQUIRE(holder.gone);
  s.hold("k");
  check_contended(without_waiting(*b.connection, [&] { return b.take_over("k", holder); }));
  s.other.run("UPDATE " + s.lock() + " SET session_id=" + hex(c.id) + ", fence=fence+1, nonce=9 WHERE lock_key='k'");
  s.commit();
  CHECK(answer(b.take_over("k", holder)) == outcome::no);
  CHECK(c.at("k").holder == c.id);
  CHECK(c.at("k").fence == fence + 1);
}

}  // namespace

TEST_CASE("mysql races: a take over of a locked row is busy at once, and the next try checks holder and fence again",
          "[T57]") {
  overtaken();
}

TEST_CASE("mysql races: a take over of a locked row is busy under snapshot isolation too", "[mariadb][T57]") {
  if (raw_mysql::root().rows("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").empty()) {
    SKIP("this server has no innodb_snapshot_isolation");
  }
  const global_setting newer_default("innodb_snapshot_isolation", "1");
  overtaken();
}

TEST_CASE_METHOD(stage, "mysql races: a kill waits for a renewal in flight and then finds a live session") {
  actor holder(fixture, for_moments), b(fixture);
  pass_until(fixture, [&] {
    return other.one("SELECT expires_at_us<=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) FROM " +
                     session() + " WHERE id=" + hex(holder.id)) == "1";
  });
  other.run("BEGIN");
  other.run("UPDATE " + session() + " SET expires_at_us=expires_at_us+60000000 WHERE id=" + hex(holder.id));
  auto kill = blocked(b, [&] { return b.kill(holder.id); });
  commit();
  CHECK(kill.get() == outcome::no);
  CHECK(holder.renew(for_long) == outcome::yes);
}

TEST_CASE_METHOD(stage, "mysql races: a renewal waits for a kill in flight and then is lost") {
  actor holder(fixture);
  other.run("BEGIN");
  other.run("DELETE FROM " + session() + " WHERE id=" + hex(holder.id));
  auto renewal = blocked(holder, [&] { return holder.renew(for_long); });
  commit();
  CHECK(renewal.get() == outcome::no);
}

TEST_CASE_METHOD(stage, "mysql races: the time of a grant is when it was asked for, so less is left after a wait") {
  actor a(fixture), b(fixture);
  const auto floor = fixture.tables.table("floor");
  other.run("BEGIN");
  other.run("SELECT * FROM " + floor + " WHERE id=1 FOR UPDATE");
  auto first = blocked(b, [&] { return b.insert("k", 20s); });
  std::this_thread::sleep_for(300ms);  // what passes here is what is missing at the end
  commit();
  REQUIRE(answer(first.get()) == outcome::yes);
  CHECK(a.at("k").remaining < 20s - 300ms);
}

TEST_CASE_METHOD(stage, "mysql races: an insert waits for clean-up in flight and starts above the deleted fence",
                 "[T58]") {
  actor a(fixture), b(fixture);
  for (int i = 0; i != 5; ++i) REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  other.run("BEGIN");
  other.run("UPDATE " + fixture.tables.table("floor") + " SET fence=GREATEST(fence, 5) WHERE id=1");
  other.run("DELETE FROM " + lock() + " WHERE lock_key='k' AND session_id IS NULL AND fence<=5");
  auto insert = blocked(b, [&] { return b.insert("k"); });
  commit();
  const reply r = insert.get();
  REQUIRE(answer(r) == outcome::yes);
  CHECK(r.fence == 6);
}

TEST_CASE_METHOD(stage, "mysql races: first inserts behind one that rolls back give one grant and no error", "[T48]") {
  constexpr std::size_t many = 6;
  std::vector<std::unique_ptr<actor>> actors;
  for (std::size_t i = 0; i != many; ++i) actors.push_back(std::make_unique<actor>(fixture));
  for (int round = 0; round != 5; ++round) {
    const auto key = "k" + std::to_string(round);
    other.run("BEGIN");
    other.run("INSERT INTO " + lock() +
              " (lock_key, session_id, nonce, fence, acquired_at_us, expires_at_us, verified_by, verifies) VALUES ('" +
              key + "', NULL, 1, 1, 1, NULL, 0, 0)");
    std::vector<std::future<reply>> inserts;
    for (auto& actor : actors) inserts.push_back(blocked(*actor, [&] { return actor->insert(key); }));
    other.run("ROLLBACK");
    int granted = 0;
    for (auto& insert : inserts) granted += answer(insert.get()) == outcome::yes ? 1 : 0;
    CHECK(granted == 1);
  }
}

TEST_CASE_METHOD(stage, "mysql races: clean-up does not wait for the renewal of a live session") {
  actor live(fixture), dead(fixture, 1us), b(fixture);
  other.run("BEGIN");
  other.run("UPDATE " + session() + " SET beat=beat+1 WHERE id=" + hex(live.id));
  pass_until(fixture, [&] {
    const reply r = b.store->admin()->cleanup(*b.connection, 1h, 100);
    CHECK(answer(r) == outcome::yes);
    return r.fence == 1;
  });
  commit();
  CHECK(live.renew(for_long) == outcome::yes);
  CHECK(dead.renew(for_long) == outcome::no);
}

TEST_CASE_METHOD(stage, "mysql races: no verb leaves a transaction open") {
  actor a(fixture), b(fixture);
  const auto idle = [&] {
    return root.one("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id IN (" +
                    std::to_string(connection_id(a)) + "," + std::to_string(connection_id(b)) + ")") == "0";
  };
  const auto fence = a.acquire("k");
  CHECK(idle());
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(idle());
  b.at("k");
  CHECK(idle());
  std::vector<holder_info> found;
  CHECK(answer(b.store->admin()->list(*b.connection, "", 10, found)) == outcome::yes);
  CHECK(idle());
  CHECK(answer(a.release("k", fence)) == outcome::yes);
  CHECK(answer(b.store->admin()->cleanup(*b.connection, 1us, 10)) == outcome::yes);
  CHECK(idle());
}

TEST_CASE_METHOD(stage, "mysql races: a renewal that changes no time counts as one", "[T55]") {
  actor a(fixture, for_long);
  for (int i = 0; i != 3; ++i) CHECK(a.renew(1s) == outcome::yes);
  CHECK(other.one("SELECT beat FROM " + session() + " WHERE id=" + hex(a.id)) == "3");
}

TEST_CASE_METHOD(stage, "mysql races: a row that stays locked is busy, at once where the server can, and nothing broke",
                 "[T53]") {
  actor a(fixture), b(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  hold("k");
  if (!takes_wait(b)) wait_long_for_locks(*b.connection);
  const auto began = std::chrono::steady_clock::now();
  const reply r = b.take("k");
  const auto took = std::chrono::steady_clock::now() - began;
  check_contended(r);
  CHECK(took < 15s);
  // What only reads does not wait at all.
  CHECK(answer(b.poll("k")) == outcome::yes);
  CHECK(b.connection->usable());
  commit();
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(stage, "mysql races: a locked table is busy, not for ever", "[T53]") {
  actor a(fixture);
  a.acquire("k");
  root.run("LOCK TABLES " + lock() + " WRITE");
  const reply r = a.take("k");
  root.run("UNLOCK TABLES");
  CHECK(r.result == outcome::failed);
  CHECK(r.why.contended);
  CHECK(a.connection->usable());
}

TEST_CASE_METHOD(stage, "mysql races: two batches in opposite need of the same keys do not fail") {
  actor a(fixture), b(fixture);
  std::vector<std::string> keys;
  for (int i = 10; i != 30; ++i) keys.push_back("k" + std::to_string(i));
  for (const auto& key : keys) REQUIRE(answer(a.release(key, a.acquire(key))) == outcome::yes);
  const auto work = [&](actor& who) {
    std::vector<request> asked;
    for (const auto& key : keys) asked.push_back({.action = verb::take, .resource = key, .session = who.id});
    std::vector<reply> replies(asked.size());
    int grants = 0;
    for (std::uint64_t round = 1; round != 30; ++round) {
      for (auto& request : asked) request.nonce = round;
      who.store->execute(*who.connection, asked, replies);
      for (std::size_t i = 0; i != replies.size(); ++i) {
        if (replies[i].result != outcome::yes) continue;
        ++grants;
        // It may meet a row that the other batch has locked for a moment.
        request back{.action = verb::release,
                     .resource = keys[i],
                     .session = who.id,
                     .fence = replies[i].fence,
                     .if_locked = row_wait::accept};
        const reply done = executed(*who.store, *who.connection, back);
        if (done.result != outcome::yes) return -1;
      }
    }
    return grants;
  };
  auto beside = std::async(std::launch::async, [&] { return work(b); });
  const int first = work(a);
  const int second = beside.get();
  REQUIRE(first >= 0);
  REQUIRE(second >= 0);
  CHECK(first + second > 0);
  std::uint64_t fences = 0;
  for (const auto& key : keys) fences += a.at(key).fence - 1;
  CHECK(fences == static_cast<std::uint64_t>(first + second));
}

// ---- members --------------------------------------------------------------------------------------------------------

namespace {

struct shared_stage : stage {
  shared_stage() {
    // Makes the key, open to members.
    REQUIRE(answer(b.run(member(verb::insert, 9))) == outcome::yes);
    REQUIRE(answer(b.run(member(verb::release, 9))) == outcome::yes);
    wait_long_for_locks(*b.connection);
  }
  request member(verb action, std::uint64_t nonce, std::uint32_t permits = 0) const {
    auto asked = b.about(action, "k");
    asked.nonce = nonce;
    asked.units = 1;
    asked.permits = permits;
    return asked;
  }
  /// Somebody joins, and has not committed yet.
  void join_slowly(const char* lock_row) {
    other.run("BEGIN");
    other.run("SELECT * FROM " + lock() + " WHERE lock_key='k' " + lock_row);
    other.run("INSERT INTO " + fixture.tables.table("member") + " VALUES ('k', " + hex(id128::random()) +
              ", 1, 1, 1, 0, 0, 0)");
  }

  actor b{fixture};
};

}  // namespace

TEST_CASE_METHOD(shared_stage, "mysql races: a permit is refused that another one has taken in a transaction before") {
  join_slowly("FOR UPDATE");
  auto joins = blocked(b, [&] { return b.run(member(verb::take, 10, 1)); });
  commit();
  CHECK(answer(joins.get()) == outcome::no);
  CHECK(answer(b.run(member(verb::take, 11, 2))) == outcome::yes);
}

TEST_CASE_METHOD(shared_stage, "mysql races: a key that is being closed takes no reader") {
  const auto id = other.one("SELECT HEX(session_id) FROM " + lock() + " WHERE lock_key='k'");
  other.run("BEGIN");
  other.run("UPDATE " + lock() + " SET verifies=verifies+1, session_id='dlock:closed:now' WHERE lock_key='k'");
  auto joins = blocked(b, [&] { return b.run(member(verb::take, 10)); });
  commit();
  CHECK(answer(joins.get()) == outcome::no);
  CHECK(b.at("k").shared == membership::closed);
  CHECK(id != other.one("SELECT HEX(session_id) FROM " + lock() + " WHERE lock_key='k'"));
}

TEST_CASE_METHOD(shared_stage, "mysql races: to close a key waits for a reader that joins, and sees it") {
  join_slowly("LOCK IN SHARE MODE");
  // Readers do not wait for each other.
  REQUIRE(answer(without_waiting(*b.connection, [&] { return b.run(member(verb::take, 10)); })) == outcome::yes);
  REQUIRE(answer(b.run(member(verb::release, 10))) == outcome::yes);
  auto closes = blocked(b, [&] {
    auto asked = b.about(verb::close, "k");
    asked.if_locked = row_wait::accept;
    return b.run(asked);
  });
  commit();
  REQUIRE(answer(closes.get()) == outcome::yes);
  const seen shown = b.at("k");
  CHECK(shown.shared == membership::closed);
  CHECK(shown.holder);
}

}  // namespace dlock::test
