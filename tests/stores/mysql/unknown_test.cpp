// SPDX-License-Identifier: BSL-1.0

/// Connections that break in mid-statement: what is unknown is said to be unknown, and it can be cleaned up.

#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/on_connection.hpp"
#include "support/calls.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/tcp_proxy.hpp"

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

TEST_CASE_METHOD(waiting_grant,
                 "mysql unknown: an interrupted grant is unknown at once, and its ghost is settled and cancelled") {
  const auto began = std::chrono::steady_clock::now();
  victim->connection->interrupt();
  const reply r = grant.get();
  INFO(r.why.text);
  CHECK(std::chrono::steady_clock::now() - began < 15s);
  CHECK(r.result == outcome::unknown);
  CHECK(r.why.connection);
  CHECK_FALSE(victim->connection->usable());
  // The server has not noticed that the client is gone: the statement waits on.
  CHECK(first->store->terminate(*first->connection, lost));
  let_go();
  CHECK_FALSE(holder());
  request q{.action = verb::cancel, .resource = "k", .session = victim->id, .nonce = victim->nonce};
  CHECK(answer(first->run(q)) == outcome::no);
  CHECK(first->acquire("k") == 1);
}

TEST_CASE_METHOD(waiting_grant, "mysql unknown: a ghost that was granted is freed by its nonce") {
  victim->connection->interrupt();
  CHECK(grant.get().result == outcome::unknown);
  let_go();
  pass_until(fixture, [&] { return bool(holder()); });  // the dead client's statement was done
  CHECK(holder() == victim->id);
  CHECK(first->store->terminate(*first->connection, lost));
  request q{.action = verb::cancel, .resource = "k", .session = victim->id, .nonce = victim->nonce + 1};
  CHECK(answer(first->run(q)) == outcome::no);  // another attempt's name
  q.nonce = victim->nonce;
  CHECK(answer(first->run(q)) == outcome::yes);
  CHECK(answer(first->take("k")) == outcome::yes);
}

TEST_CASE_METHOD(waiting_grant, "mysql unknown: a connection killed in mid-statement is unknown and of no more use") {
  root.run("KILL " + std::to_string(lost.id));
  const reply r = grant.get();
  INFO(r.why.text);
  CHECK(r.result == outcome::unknown);
  CHECK_FALSE(victim->connection->usable());
  CHECK(first->store->terminate(*first->connection, lost));  // gone already
  let_go();
  CHECK_FALSE(holder());
}

TEST_CASE_METHOD(waiting_grant, "mysql unknown: a query killed in mid-statement was certainly not done") {
  root.run("KILL QUERY " + std::to_string(lost.id));
  const reply r = grant.get();
  INFO(r.why.text);
  CHECK(r.result == outcome::failed);
  CHECK(r.why.transient);
  CHECK(victim->connection->usable());
  let_go();
  CHECK_FALSE(holder());
}

TEST_CASE("mysql unknown: no answer within the statement timeout is unknown") {
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

TEST_CASE("mysql unknown: a connection that the server closed while idle gives failed, not unknown") {
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

TEST_CASE("mysql unknown: after an interrupt nothing is sent any more") {
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

TEST_CASE("mysql unknown: settling says no where it can't be certain") {
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

TEST_CASE("mysql unknown: each real error says what it is", "[T49]") {
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

TEST_CASE("mysql unknown: a host's name and a label of any bytes are stored") {
  mysql_store_fixture fixture;
  actor a(fixture);
  const auto id = id128::random();
  const std::string host(400, '\xff'), label = std::string(70, 'x') + "\xc3\xa4";
  const session_record record{.id = id, .ttl = 60s, .host = host, .pid = 1, .label = label};
  CHECK(answer(a.store->session(*a.connection, session_verb::open, record)) == outcome::yes);
}

// Servers that refuse what they usually do: no more prepared statements, offline, a handshake that breaks.

namespace {

std::string server_name() {
  const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  return fmt::format("{}:{}", url.hosts.at(0).host, url.hosts.at(0).port);
}

}  // namespace

TEST_CASE("mysql refusals: where the server prepares nothing more, the statements are sent as text") {
  mysql_store_fixture fixture;
  fixture.open();
  actor before(fixture);
  before.acquire("before");
  const global_setting none_left("max_prepared_stmt_count", "0");
  actor a(fixture, for_long, "K\xc3\xb6ln"), b(fixture);
  CHECK(a.take("before").result == outcome::no);
  const std::string key("a?'\\\0\xff", 6);
  const auto fence = a.acquire(key);
  CHECK(fence == 1);
  const seen held = b.at(key);
  CHECK(held.holder == a.id);
  CHECK(held.kind == lease_kind::session);
  CHECK_FALSE(held.gone);
  CHECK(held.remaining > for_long - 5min);
  CHECK(held.who == "host-a/4242 K\xc3\xb6ln");
  CHECK(answer(b.poll("never")) == outcome::absent);
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(answer(a.release(key, fence, 1h)) == outcome::yes);  // min_hold
  CHECK(b.at(key).kind == lease_kind::expiring);
  CHECK(answer(b.take(key)) == outcome::no);
  CHECK(answer(b.insert("own", 10s)) == outcome::yes);
  CHECK(b.at("own").remaining > 5s);
  CHECK(answer(b.extend("own", 1, 20s)) == outcome::yes);
  CHECK(answer(b.cancel("own", b.nonce)) == outcome::yes);
  CHECK(answer(a.insert("own")) == outcome::no);
  CHECK(answer(a.take("own")) == outcome::yes);
  CHECK(b.kill(a.id) == outcome::no);
  CHECK(a.close() == outcome::yes);
  const reply over = b.take_over("own", b.at("own"));
  CHECK(over.fence == 3);
  CHECK(a.connection->usable());
  lock_service locks(fixture.url(), {.cleanup_interval = 0ms});
  auto lease = locks.acquire("service", {.ttl = 10s});
  CHECK(eventually([&] { return lease.remaining() > 8s; }));
  lease.release();
}

TEST_CASE("mysql refusals: a server that has room again is asked to prepare again") {
  mysql_store_fixture fixture;
  fixture.open();
  fixture.more = "&schema=none";
  auto root = raw_mysql::root();
  const auto prepared = [&] { return root.rows("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").at(0).at(1); };
  std::optional<global_setting> none_left;
  none_left.emplace("max_prepared_stmt_count", "0");
  actor a(fixture);
  const auto before = prepared();
  a.acquire("k");
  none_left.reset();
  for (int i = 0; i != 120; ++i) a.at("k");
  CHECK(prepared() != before);
}

TEST_CASE("mysql refusals: every fault says which server it was") {
  mysql_store_fixture fixture;
  actor a(fixture), b(fixture);
  a.acquire("k");
  auto root = raw_mysql::root();
  root.run("BEGIN");
  root.run("SELECT * FROM " + fixture.tables.table("lock") + " FOR UPDATE");
  CHECK_THAT(b.take("k").why.text, ContainsSubstring(server_name() + ": take"));
  CHECK_THAT(a.release("k", 1).why.text, ContainsSubstring(server_name() + ": release") && ContainsSubstring("(1205)"));
  root.run("COMMIT");
  raw_mysql(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")).run("DROP TABLE " + fixture.tables.table("lock"));
  CHECK_THAT(a.take("k").why.text, ContainsSubstring(server_name()));
  std::vector<holder_info> found;
  CHECK_THAT(a.store->admin()->inspect(*a.connection, {.resource = "k"}, found).why.text,
             ContainsSubstring(server_name()));
  CHECK_THAT(a.store->admin()->cleanup(*a.connection, 1h, 1).why.text, ContainsSubstring(server_name()));
  root.run("KILL " + std::to_string(connection_id(b)));
  reply lost;
  pass_until(fixture, [&] {
    lost = b.poll("k");
    return lost.why.connection;
  });
  CHECK_THAT(lost.why.text, ContainsSubstring(server_name()));
}

TEST_CASE("mysql refusals: a server that goes offline is left, and may come back", "[mysql9]") {
  mysql_store_fixture fixture;
  actor a(fixture);
  a.acquire("k");
  const auto url = fixture.tables.url();
  {
    const global_setting offline("offline_mode", "1");
    fault why;
    CHECK(open_store(url)->connect(5s, why) == nullptr);
    INFO(why.text);
    CHECK(why.transient);
    CHECK(why.connection);
    CHECK_THAT(why.text, ContainsSubstring("offline"));
    const reply ended = a.take("k");
    INFO(ended.why.text);
    CHECK(ended.result == outcome::failed);
    CHECK(ended.why.connection);
    CHECK(ended.why.transient);
  }
  fault why;
  CHECK(open_store(url)->connect(5s, why) != nullptr);
}

TEST_CASE("mysql refusals: a TLS handshake that breaks is tried again, a certificate that is refused is not",
          "[mysql9]") {
  const mysql_fixture fixture;
  const auto parts = store_url::parse(fixture.url());
  const auto with = [&](std::uint16_t port, const std::string& mode) {
    return fmt::format("mysql://{}:{}@127.0.0.1:{}/{}?tls={}", parts.user, parts.password, port, parts.path, mode);
  };
  for (const bool reset : {false, true}) {
    tcp_proxy proxy(parts.hosts.at(0).port);
    proxy.lose_next(reset ? tcp_proxy::loss::by_reset : tcp_proxy::loss::request);  // the answer to the greeting
    fault why;
    CHECK(open_store(with(proxy.port(), "require"))->connect(5s, why) == nullptr);
    INFO(why.text);
    CHECK((why.native == 2026 || why.native == 2013));
    CHECK(why.transient);
    CHECK(why.connection);
  }
  fault why;
  // With the system's authorities as a file: without one, newer libraries of MariaDB trust a server on this machine.
  const std::string verify = "verify&tls_ca=/etc/ssl/certs/ca-certificates.crt";
  CHECK(open_store(with(parts.hosts.at(0).port, verify))->connect(5s, why) == nullptr);
  INFO(why.text);
  CHECK(why.native == 2026);
  CHECK_FALSE(why.transient);
  CHECK(open_store(with(parts.hosts.at(0).port, "require"))->connect(5s, why) != nullptr);
}

}  // namespace dlock::test
