// SPDX-License-Identifier: BSL-1.0

/// Connections that break in mid-statement: what is unknown is said to be unknown, and it can be cleaned up.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/long_lock_wait.hpp"

namespace dlock::test {

namespace {

/// A new key, and an actor whose first grant of it waits for the floor's row, which somebody beside dlock holds. (A
/// take would not wait on every server.)
struct waiting_grant {
  explicit waiting_grant(const std::string& more = {}) {
    fixture.more = more;
    first.emplace(fixture);
    other.run("BEGIN");
    other.run("SELECT * FROM " + fixture.tables.table("floor") + " WHERE id=1 FOR UPDATE");
    victim.emplace(fixture);
    wait_long_for_locks(*victim->connection);
    lost = victim->connection->identity();
    grant = std::async(std::launch::async, [this] { return victim->insert("k"); });
    wait_until_blocked(root, lost.id);
  }

  /// The owner of the row goes; what is left of the grant may happen now.
  void let_go() { other.run("COMMIT"); }
  /// Who holds the key; zero: nobody.
  id128 holder() { return first->poll("k").holder.holder; }

  mysql_store_fixture fixture{};
  raw_mysql other{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  raw_mysql root = raw_mysql::root();
  std::optional<actor> first{};
  std::optional<actor> victim{};
  connection_identity lost{};
  std::future<reply> grant{};
};

}  // namespace

TEST_CASE("mysql unknown: an interrupted grant is unknown at once, and its ghost is settled and cancelled", "[mysql]") {
  waiting_grant w;
  const auto began = std::chrono::steady_clock::now();
  w.victim->connection->interrupt();
  const reply r = w.grant.get();
  INFO(r.why.text);
  CHECK(std::chrono::steady_clock::now() - began < 15s);
  CHECK(r.result == outcome::unknown);
  CHECK(r.why.connection);
  CHECK_FALSE(w.victim->connection->usable());
  // The server has not noticed that the client is gone: the statement waits on.
  CHECK(w.first->store->terminate(*w.first->connection, w.lost));
  w.let_go();
  CHECK_FALSE(w.holder());
  request q{.action = verb::cancel, .resource = "k", .session = w.victim->id, .nonce = w.victim->nonce};
  CHECK(answer(w.first->run(q)) == outcome::no);
  CHECK(w.first->acquire("k") == 1);
}

TEST_CASE("mysql unknown: a ghost that was granted is freed by its nonce", "[mysql]") {
  waiting_grant w;
  w.victim->connection->interrupt();
  CHECK(w.grant.get().result == outcome::unknown);
  w.let_go();
  pass_until(w.fixture, [&] { return bool(w.holder()); });  // the dead client's statement was done
  CHECK(w.holder() == w.victim->id);
  CHECK(w.first->store->terminate(*w.first->connection, w.lost));
  request q{.action = verb::cancel, .resource = "k", .session = w.victim->id, .nonce = w.victim->nonce + 1};
  CHECK(answer(w.first->run(q)) == outcome::no);  // another attempt's name
  q.nonce = w.victim->nonce;
  CHECK(answer(w.first->run(q)) == outcome::yes);
  CHECK(answer(w.first->take("k")) == outcome::yes);
}

TEST_CASE("mysql unknown: a connection killed in mid-statement is unknown and of no more use", "[mysql]") {
  waiting_grant w;
  w.root.run("KILL " + std::to_string(w.lost.id));
  const reply r = w.grant.get();
  INFO(r.why.text);
  CHECK(r.result == outcome::unknown);
  CHECK_FALSE(w.victim->connection->usable());
  CHECK(w.first->store->terminate(*w.first->connection, w.lost));  // gone already
  w.let_go();
  CHECK_FALSE(w.holder());
}

TEST_CASE("mysql unknown: a query killed in mid-statement was certainly not done", "[mysql]") {
  waiting_grant w;
  w.root.run("KILL QUERY " + std::to_string(w.lost.id));
  const reply r = w.grant.get();
  INFO(r.why.text);
  CHECK(r.result == outcome::failed);
  CHECK(r.why.transient);
  CHECK(w.victim->connection->usable());
  w.let_go();
  CHECK_FALSE(w.holder());
}

TEST_CASE("mysql unknown: no answer within the statement timeout is unknown", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  a.acquire("k");
  fixture.more = "&statement_timeout=1000&schema=none";
  actor b(fixture);
  wait_long_for_locks(*b.connection);
  raw_mysql other = raw_mysql::root();                                  // the owner may not lock tables
  other.run("LOCK TABLES " + fixture.tables.table("lock") + " WRITE");  // waited for longer than that
  const auto lost = b.connection->identity();
  const reply r = b.take("k");
  INFO(r.why.text);
  CHECK(r.result == outcome::unknown);
  CHECK_FALSE(b.connection->usable());
  CHECK(a.store->terminate(*a.connection, lost));
  other.run("UNLOCK TABLES");
}

TEST_CASE("mysql unknown: a connection that the server closed while idle gives failed, not unknown", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture), b(fixture);
  raw_mysql root = raw_mysql::root();
  root.run("KILL " + std::to_string(connection_id(b)));
  pass_until(fixture, [&] {
    return root.one("SELECT COUNT(*) FROM information_schema.processlist WHERE id=" +
                    std::to_string(connection_id(b))) == "0";
  });
  const reply r = b.take("k");
  CHECK(r.result == outcome::failed);
  CHECK(r.why.connection);
  CHECK_FALSE(b.connection->usable());
}

TEST_CASE("mysql unknown: after an interrupt nothing is sent any more", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  a.connection->interrupt();
  const reply r = a.take("k");
  CHECK(r.result == outcome::failed);
  CHECK(r.why.connection);
  std::vector<holder_info> found;
  CHECK(a.store->admin()->list(*a.connection, "", 10, found).result == outcome::failed);
  a.connection->interrupt();
}

TEST_CASE("mysql unknown: settling says no where it can't be certain", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture), b(fixture);
  auto elsewhere = b.connection->identity();
  elsewhere.server += "x";
  CHECK_FALSE(a.store->terminate(*a.connection, elsewhere));
  CHECK(b.connection->usable());
  CHECK(b.renew(for_long) == outcome::yes);  // and nobody was killed
  auto never = b.connection->identity();
  never.id = 4'000'000'000;
  CHECK(a.store->terminate(*a.connection, never));
  b.connection->interrupt();
  a.connection->interrupt();
  CHECK_FALSE(a.store->terminate(*a.connection, b.connection->identity()));
}

TEST_CASE("mysql unknown: each real error says what it is", "[mysql][T49]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  const reply empty = a.take("");
  CHECK(empty.result == outcome::failed);
  const reply long_key = a.insert(std::string(256, 'k'));
  CHECK(long_key.result == outcome::failed);
  CHECK_THAT(long_key.why.text, Catch::Matchers::ContainsSubstring("256 bytes"));
  raw_mysql other(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  a.acquire("k");
  other.run("ALTER TABLE " + fixture.tables.table("lock") + " RENAME COLUMN nonce TO noonce");
  const reply no_column = a.take("k");
  CHECK(no_column.result == outcome::failed);
  CHECK(no_column.why.native == 1054);
  CHECK(std::string(no_column.why.sqlstate) == "42S22");
  other.run("DROP TABLE " + fixture.tables.table("lock"));
  const reply no_table = a.take("k");
  CHECK(no_table.result == outcome::failed);
  CHECK(no_table.why.native == 1146);
  CHECK_FALSE(no_table.why.transient);
  CHECK(a.connection->usable());
}

TEST_CASE("mysql unknown: a host's name and a label of any bytes are stored", "[mysql]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  const auto id = id128::random();
  const std::string host(400, '\xff'), label = std::string(70, 'x') + "\xc3\xa4";
  const session_record record{.id = id, .ttl = 60s, .host = host, .pid = 1, .label = label};
  CHECK(answer(a.store->session(*a.connection, session_verb::open, record)) == outcome::yes);
}

}  // namespace dlock::test
