// SPDX-License-Identifier: BSL-1.0

/// scheme=named_lock: what becomes of its locks with their connection, how many connections there are, and which names
/// they have.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/waiting_store.hpp"
#include "stores/mysql/bound/blocking_waiters.hpp"
#include "stores/mysql/client/statement.hpp"
#include "support/forked_child.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/recording_observer.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

/// The connection that holds a key.
std::string holder_of(raw_mysql& plain, const std::string& name) {
  return plain.one("SELECT COALESCE(IS_USED_LOCK('" + name + "'), 0)");
}

int connections(raw_mysql& root) {
  return std::stoi(root.one("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER='dlock_owner'"));
}

struct named_fixture {
  named_lock_fixture fixture{};
  raw_mysql root = raw_mysql::root();
  const std::string prefix = fixture.prefix();

  const std::uint16_t port = store_url::parse(fixture.url()).hosts.at(0).port;
  tcp_proxy proxy{port};
  const id128 session = id128::random();
  fault why{};

  std::shared_ptr<store> open_through_proxy(const std::string& more = {}) {
    auto url = fixture.url();
    const auto direct = fmt::format(":{}/", port);
    const auto made =
        open_store(url.replace(url.find(direct), direct.size(), fmt::format(":{}/", proxy.port())) + more);
    made->prepare();
    return made;
  }
  void kill(const std::string& name) { root.run("KILL " + holder_of(root, prefix + name)); }
};

}  // namespace

TEST_CASE_METHOD(named_fixture, "named_lock: a connection that is killed loses the leases on it at once, and no others",
                 "[T62]") {
  const auto observer = std::make_shared<recording_observer>();
  lock_service locks{fixture.open(), {.observer = observer}};
  lock_service others{fixture.open()};
  // No renewal is due for minutes.
  const auto one = locks.acquire("one", {.ttl = 10min}), two = locks.acquire("two", {.ttl = 10min});
  const auto apart = locks.acquire("apart", {.ttl = 60s});
  kill("one");
  CHECK(eventually([&] { return granted(others.try_acquire("two")); }));  // at once, for others
  CHECK(observer->wait_for(event::kind::lost, 2));
  for (const auto* lost : {&one, &two}) {
    CHECK(lost->lost_token().stop_requested());
    CHECK(lost->loss() == loss_reason::renewal_refused);
    CHECK(thrown([&] { return lost->ensure_held(), 0; }) == errc::lost);
  }
  CHECK_NOTHROW(apart.ensure_held());  // of another ttl, and so on another connection
  CHECK_FALSE(granted(others.try_acquire("apart")));
  CHECK(granted(locks.acquire("three", {.ttl = 10min, .wait = 20s})));
  CHECK_NOTHROW(apart.ensure_held());  // a new connection ends no lease on another one
}

TEST_CASE_METHOD(named_fixture, "named_lock: a caller who finds the connection lost ends no lease on another one",
                 "[T62]") {
  actor holder(fixture);
  lock_service locks{holder.store};
  const auto held = locks.acquire("held", {.ttl = 10min});
  const auto fence = holder.acquire("k");
  kill("k");
  REQUIRE(eventually([&] { return holder_of(root, prefix + "k") == "0"; }));
  const auto released = holder.release("k", fence).result;
  CHECK((released == outcome::no || released == outcome::unknown));  // the latter: it was just then
  CHECK(holder.take("other").result == outcome::failed);
  CHECK(holder.connection->usable());
  CHECK(granted(locks.acquire("new", {.ttl = 10min, .wait = 20s})));
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(named_fixture, "named_lock: five thousand locks need no more than four connections", "[T65][T69]") {
  const auto before = connections(root);
  lock_service locks{fixture.open()};
  std::vector<lease> held;
  for (int i = 0; i != 5000; ++i) held.push_back(locks.acquire("order:" + std::to_string(i)));
  CHECK(connections(root) - before <= 4);
  CHECK(locks.held_keys(10'000).size() == 5000);
  lock_service others{fixture.open()};
  CHECK_FALSE(granted(others.try_acquire("order:0")));
  CHECK_FALSE(granted(others.try_acquire("order:4999")));
  held.clear();
  CHECK(granted(others.try_acquire("order:4999")));
  CHECK(locks.held_keys(10).empty());
}

TEST_CASE_METHOD(named_fixture, "named_lock: a program that calls GET_LOCK by itself and dlock exclude each other") {
  lock_service locks{fixture.open()};
  raw_mysql plain(fixture.url());
  const std::string hashed = "CONCAT('#', LEFT(SHA2('" + prefix + "Order 17', 256), 63))";
  const std::vector<std::pair<std::string, std::string>> names{{"order:17", "'" + prefix + "order:17'"},
                                                               {"Order 17", hashed}};
  for (const auto& [key, name] : names) {
    INFO(key);
    const lock_key locked(key);
    REQUIRE(plain.one("SELECT GET_LOCK(" + name + ", 0)") == "1");
    CHECK_FALSE(granted(locks.try_acquire(locked)));
    const auto seen = locks.holder(locked);
    REQUIRE(seen);
    CHECK_THAT(seen->label, ContainsSubstring("connection " + std::to_string(plain.id())));
    CHECK(seen->kind == lease_kind::connection);
    CHECK_FALSE(seen->session);
    CHECK_THAT(message_of([&] { return locks.force_release(locked); }),
               ContainsSubstring("KILL " + std::to_string(plain.id())));
    REQUIRE(plain.one("SELECT RELEASE_LOCK(" + name + ")") == "1");
    CHECK_FALSE(locks.holder(locked));
    const auto mine = locks.try_acquire(locked);
    CHECK(mine);
    CHECK(plain.one("SELECT GET_LOCK(" + name + ", 0)") == "0");
  }
}

TEST_CASE_METHOD(named_fixture, "named_lock: names that a server takes for one are different locks, however long",
                 "[T56][T66]") {
  lock_service locks{fixture.open()};
  const std::string longest(255, 'x');
  const std::vector<std::string> keys{"a", "A", "a ", "\xc3\xa9", "\xc3\x89", "#", longest, longest.substr(0, 254)};
  std::vector<lease> held;
  for (const auto& key : keys) {
    INFO(key);
    held.push_back(locks.try_acquire(lock_key(key)));
    CHECK(held.back());
  }
}

TEST_CASE_METHOD(named_fixture, "named_lock: a server that has become a replica keeps no session", "[T59]") {
  lock_service locks{fixture.open()};
  const auto held = locks.acquire("k", {.ttl = 5s});
  const global_setting replica("read_only", "1");
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(held.loss() == loss_reason::renewal_refused);
  CHECK(eventually([&] { return holder_of(root, prefix + "k") == "0"; }));
}

TEST_CASE_METHOD(named_fixture, "named_lock: a caller whose time is up ends no lock, and what it has sent is cancelled",
                 "[T14][T63]") {
  const auto store = open_through_proxy();
  auto by = store->connect(10s, why);
  REQUIRE(by != nullptr);
  REQUIRE(store->session(*by, session_verb::open, {.id = session, .ttl = 60s}).result == outcome::yes);
  const auto ask = [&](connection& on, verb action, std::string_view key, std::uint64_t nonce) {
    const request asked{.action = action, .resource = key, .session = session, .nonce = nonce, .fence = nonce};
    reply answer;
    store->execute(on, {&asked, 1}, {&answer, 1});
    return answer.result;
  };
  REQUIRE(ask(*by, verb::take, "kept", 1) == outcome::yes);
  auto other = store->connect(10s, why);
  REQUIRE(other != nullptr);
  proxy.fall_silent();
  std::thread caller([&] { CHECK(ask(*by, verb::take, "late", 2) == outcome::unknown); });
  by->interrupt();
  caller.join();
  CHECK_FALSE(by->usable());
  proxy.mend();
  CHECK(store->session(*other, session_verb::renew, {.id = session, .ttl = 60s}).result == outcome::yes);
  REQUIRE(holder_of(root, prefix + "late") != "0");  // it had been sent
  CHECK(ask(*other, verb::take, "late", 3) == outcome::no);
  CHECK(ask(*other, verb::cancel, "late", 3) == outcome::no);
  CHECK(ask(*other, verb::cancel, "late", 2) == outcome::yes);
  CHECK(holder_of(root, prefix + "late") == "0");
  CHECK(holder_of(root, prefix + "kept") != "0");
  CHECK(ask(*other, verb::release, "kept", 1) == outcome::yes);
}

TEST_CASE_METHOD(named_fixture, "named_lock: a lock that the server has given, and then reported an error, is freed",
                 "[T14]") {
  const auto store = open_through_proxy("&tls=off");  // the proxy could not replace an answer in TLS
  const auto by = store->connect(10s, why);
  REQUIRE(by != nullptr);
  REQUIRE(store->session(*by, session_verb::open, {.id = session, .ttl = 60s}).result == outcome::yes);
  // As KILL QUERY does that comes when GET_LOCK has been evaluated.
  const std::string text = "#70100Query execution was interrupted";
  std::string packet{static_cast<char>(text.size() + 3), '\0', '\0', '\1', '\xff', '\x25', '\x05'};  // 1317
  proxy.replace_next_answer(packet + text);
  const request asked{.action = verb::take, .resource = "late", .session = session, .nonce = 1};
  const reply answer = executed(*store, *by, asked);
  CHECK(answer.result == outcome::failed);
  CHECK(answer.why.native == 1317);
  CHECK(holder_of(root, prefix + "late") == "0");
}

TEST_CASE_METHOD(named_fixture, "named_lock: what it can't do is refused where it is asked for, with the reason") {
  const auto owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const auto complaint = [&](const std::string& url) { return refusal([&] { return open_store(url); }); };
  CHECK_THAT(complaint("mysql://u@one,two/db?scheme=named_lock"), ContainsSubstring("one host"));
  CHECK_THAT(complaint(owner + "?scheme=named_lock&prefix=\xc3\xa9"), ContainsSubstring("prefix="));
  CHECK_THAT(complaint(owner + "?scheme=named_lock&prefix=" + std::string(65, 'x')), ContainsSubstring("prefix="));
  CHECK_THAT(complaint(owner + "?scheme=named_lock&schema=none"), ContainsSubstring("schema"));
  lock_service locks{fixture.open()};
  CHECK_THROWS_AS(locks.try_acquire("k", {.renewal = renewal::none}), std::invalid_argument);
  CHECK_THROWS_AS(locks.try_acquire("k", {.renewal = renewal::manual}), std::invalid_argument);
  // By default, the database's name.
  lock_service plain{owner + "?scheme=named_lock"};
  const auto key = "k" + id128::random().hex();
  const auto held = plain.acquire(lock_key(key));
  CHECK(holder_of(root, store_url::parse(owner).path + ":" + key) != "0");
}

// scheme=for_update: rows of a team's table, each locked by an open transaction on a connection of its own.

namespace {

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
  CHECK_FALSE(granted(locks.try_acquire("k")));
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
  CHECK(granted(maker.try_acquire("nobody's")));
  CHECK(plain.one("SELECT COUNT(*) FROM " + table) == "1");
  CHECK(granted(locks.try_acquire("nobody's")));
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
  CHECK(granted(others.try_acquire("1")));
  CHECK_FALSE(granted(others.try_acquire("2")));
  CHECK_FALSE(granted(others.try_acquire("3")));
}

TEST_CASE_METHOD(row_fixture, "for_update: nothing but a held lock has a transaction open") {
  make_row("k");
  make_row("l");
  lock_service locks{fixture.url(""), {.release_limit = 20s}}, others{fixture.url(""), {.release_limit = 20s}};
  // The server shows a transaction for a moment after it has answered its end.
  const auto open = [&](const std::vector<std::string>& expected) {
    return eventually([&] { return transactions() == expected; });
  };
  CHECK(open({}));
  auto held = locks.acquire("k");
  REQUIRE(eventually([&] { return transactions().size() == 1; }));
  const auto holder = transactions();
  CHECK(granted(others.try_acquire("l")));
  CHECK(open(holder));
  CHECK_FALSE(granted(others.try_acquire("k")));
  CHECK(open(holder));
  held.release();
  CHECK(open({}));
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
  REQUIRE(granted(others.try_acquire("l")));
  CHECK_FALSE(granted(others.try_acquire("k")));  // a locked row
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
  CHECK(granted(others.try_acquire("l")));
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
  CHECK_FALSE(granted(others.try_acquire("other")));
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

// Who waits for a lock that is bound to a connection: a connection waits at the server in his place, and tells. In
// these tests nobody who waits looks again of his own accord.

namespace {

struct notified_fixture {
  const std::string scheme = GENERATE(as<std::string>{}, "named_lock", "for_update");
  const Catch::ScopedMessage shown{Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info)
                                   << "scheme: " << scheme};
  std::unique_ptr<store_fixture> fixture = make_bound_fixture(scheme);
  raw_mysql root = raw_mysql::root();

  /// The connections that wait at the server for a key of this place.
  std::vector<std::string> waiting() {
    const auto* const table = dynamic_cast<for_update_fixture*>(fixture.get());
    const auto ours = table != nullptr
                          ? "INFO LIKE '%" + table->table() + "%SHARE%' AND INFO NOT LIKE '%NOWAIT%'"
                          : "INFO LIKE '%GET_LOCK(%" + dynamic_cast<named_lock_fixture&>(*fixture).prefix() + "%, 5)%'";
    return connections(ours);
  }
  /// Those that wait behind one of these, for "k".
  std::vector<std::string> queued() {
    const auto* const table = dynamic_cast<for_update_fixture*>(fixture.get());
    const auto name = table != nullptr ? fmt::format("{} `{}` k", store_url::parse(fixture->url()).path, table->table())
                                       : dynamic_cast<named_lock_fixture&>(*fixture).prefix() + "k";
    return connections("INFO LIKE 'SELECT GET_LOCK(''" + stores::mysql::blocking_waiters::queue_lock(name) + "'', 5)'");
  }
  static reply release_of(actor& by, resource_name key, std::uint64_t fence) {
    const auto said = by.release(key, fence);
    CHECK(answer(said) == outcome::yes);
    return said;
  }

 private:
  std::vector<std::string> connections(const std::string& which) {
    std::vector<std::string> found;
    for (auto& row : root.rows("SELECT ID FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND " + which))
      found.push_back(row.at(0).value_or(""));
    return found;
  }
};

}  // namespace

TEST_CASE_METHOD(notified_fixture, "bound: who waits is told when the key is released, and sends nothing before") {
  lock_service other(fixture->url(), patient()), mine(fixture->url(), patient());
  std::optional<lease> held = other.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(mine.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().size() == 1; }));
  // Told that it works, it has asked once more.
  std::uint64_t sent = 0;
  REQUIRE(eventually([&] {
    const auto before = std::exchange(sent, mine.statements());
    ::usleep(50'000);
    return sent != 0 && before == sent;
  }));
  CHECK(mine.statements() == sent);
  held.reset();
  CHECK(waits.get());
  CHECK(granted(other.try_acquire("k")));
}

TEST_CASE_METHOD(notified_fixture, "bound: who waits is told at once when the holder dies") {
  lock_service mine(fixture->url(), patient());
  std::optional<actor> other(*fixture);
  other->acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(mine.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().size() == 1; }));
  other.reset();
  CHECK(waits.get());
}

TEST_CASE_METHOD(notified_fixture, "bound: a connection that waits is lost, told of, and made again") {
  actor holder(*fixture);
  const auto fence = holder.acquire("k");
  const auto store = fixture->open();
  counting_listener listener;
  store->watch("k", {}, listener);
  std::vector<std::string> waits;
  REQUIRE(eventually([&] { return listener.yes != 0 && !(waits = waiting()).empty(); }));
  root.run("KILL " + waits.at(0));
  REQUIRE(eventually([&] { return listener.no != 0; }));
  const int lost = listener.no;
  REQUIRE(eventually([&] { return listener.yes > lost; }));
  const int again = listener.yes;
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  REQUIRE(eventually([&] { return listener.yes > again; }));
  store->unwatch("k", {}, listener);
  const int last = listener.yes;
  // Whatever was under way holds nothing at its end.
  CHECK(eventually([&] { return answer(holder.take("k")) == outcome::yes; }));
  CHECK(listener.yes == last);
}

// Connections wait for one key for 5 s, so the keys of a slow test may have changed their turns at any moment.
TEST_CASE_METHOD(notified_fixture, "bound: a connection that waits for a key without listeners goes to another key") {
  actor holder(*fixture);
  std::vector<std::uint64_t> fences;
  for (const char* key : {"1", "2", "3"}) fences.push_back(holder.acquire(key));
  const auto store = open_store(fixture->url() + "&waiters=2");
  store->prepare();
  counting_listener first, second, third;
  store->watch("1", {}, first);
  store->watch("2", {}, second);
  REQUIRE(eventually([&] { return first.yes != 0 && second.yes != 0; }));
  store->watch("3", {}, third);
  store->unwatch("2", {}, second);
  REQUIRE(eventually([&] { return third.yes != 0; }));
  CHECK(eventually([&] { return waiting().size() == 2; }));
  const int before = third.yes;
  REQUIRE(answer(holder.release("3", fences[2])) == outcome::yes);
  CHECK(eventually([&] { return third.yes > before; }));
  store->unwatch("1", {}, first);
  store->unwatch("3", {}, third);
  CHECK_FALSE(open_store(fixture->url() + "&waiters=0")->caps().tells_free());
}

TEST_CASE_METHOD(notified_fixture,
                 "bound: of the keys without a connection that waits the next is the one that waits longest") {
  struct event {
    std::string key;
    bool works;
  };
  struct logged final : key_listener {
    logged(std::string of, std::mutex& by, std::vector<event>& into) : key(std::move(of)), mutex(by), events(into) {}
    void may_be_free(bool works) noexcept override {
      const std::lock_guard lock(mutex);
      events.push_back({key, works});
    }
    std::string key;
    std::mutex& mutex;
    std::vector<event>& events;
  };
  std::mutex mutex;
  std::vector<event> events;
  const auto so_far = [&] {
    const std::lock_guard lock(mutex);
    return events;
  };
  const auto last = [&](const std::string& key) {
    std::optional<bool> works;
    for (const auto& each : so_far()) {
      if (each.key == key) works = each.works;
    }
    return works;
  };
  actor holder(*fixture);
  std::map<std::string, std::uint64_t> fences;
  for (const char* key : {"0", "1", "2", "3"}) fences[key] = holder.acquire(key);
  const auto store = open_store(fixture->url() + "&waiters=2");
  store->prepare();
  std::map<std::string, logged> listeners;
  const auto watch = [&](const char* key) {
    const auto listener_of_key = listeners.try_emplace(key, key, mutex, events).first;
    store->watch(key, {}, listener_of_key->second);
  };
  // Whoever waits for it at the server gets it, and its connection goes to another key.
  const auto free_and_take = [&](const char* key) {
    const auto before = so_far().size();
    REQUIRE(answer(holder.release(key, fences[key])) == outcome::yes);
    REQUIRE(eventually([&] {
      const auto now = so_far();
      return std::any_of(now.begin() + static_cast<std::ptrdiff_t>(before), now.end(),
                         [&](const event& each) { return each.key == key && each.works; });
    }));
    fences[key] = holder.acquire(key);
  };
  watch("1");
  watch("2");
  REQUIRE(eventually([&] { return last("1") == true && last("2") == true; }));
  watch("3");
  free_and_take("1");
  // The third one has the connection that was the first one's, or the second one's.
  std::size_t seen = 0;
  std::vector<std::string> without;
  REQUIRE(eventually([&] {
    without.clear();
    seen = so_far().size();
    for (const char* key : {"1", "2", "3"}) {
      if (last(key) == false) without.emplace_back(key);
    }
    return last("3").has_value() && !without.empty() && so_far().size() == seen;
  }));
  watch("0");
  free_and_take("2");
  REQUIRE(eventually([&] { return last("0").has_value(); }));
  const auto all = so_far();
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(seen);
  const auto newest = std::find_if(begin, all.end(), [](const event& each) { return each.key == "0"; });
  for (const auto& key : without) {
    CAPTURE(key);
    CHECK(std::any_of(begin, newest, [&](const event& each) { return each.key == key && each.works; }));
  }
  for (auto& [key, listener] : listeners) store->unwatch(key, {}, listener);
}

TEST_CASE_METHOD(notified_fixture, "bound: of more keys than connections that wait each gets one, and none for ever") {
  actor holder(*fixture);
  std::map<std::string, counting_listener> listeners;
  const auto store = open_store(fixture->url() + "&waiters=2");
  store->prepare();
  for (const char* key : {"1", "2", "3"}) holder.acquire(key);
  for (const char* key : {"1", "2", "3"}) store->watch(key, {}, listeners[key]);
  // A connection waits for one key for 5 s.
  CHECK(eventually([&] { return listeners["1"].yes != 0 && listeners["2"].yes != 0 && listeners["3"].yes != 0; }));
  CHECK(eventually([&] { return listeners["1"].no + listeners["2"].no + listeners["3"].no != 0; }));
  for (auto& [key, listener] : listeners) store->unwatch(key, {}, listener);
}

TEST_CASE_METHOD(notified_fixture, "bound: a release wakes the process that has waited longest, and no other") {
  actor holder(*fixture), next(*fixture);
  auto fence = holder.acquire("k");
  struct process {
    std::shared_ptr<store> at;
    counting_listener heard{};
    int told = 0;  ///< that it works
  };
  std::array<process, 3> all{};
  for (std::size_t i = 0; i != all.size(); ++i) {
    auto& each = all.at(i);
    each.at = fixture->open();
    each.at->watch("k", {}, each.heard);
    // The first one waits for the key, the others behind it.
    REQUIRE(eventually([&] { return each.heard.yes == 1 && waiting().size() == 1 && queued().size() == i; }));
    each.told = each.heard.yes;
  }
  for (std::size_t i = 0; i != all.size(); ++i) {
    CAPTURE(i);
    auto& first = all.at(i);
    REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
    REQUIRE(eventually([&] { return first.heard.yes > first.told; }));
    fence = holder.acquire("k");
    first.at->unwatch("k", {}, first.heard);
    // The one behind it waits for the key now, and has not heard of that release.
    const auto left = all.size() - i - 1;
    REQUIRE(eventually([&] { return waiting().size() == std::min<std::size_t>(left, 1); }));
    CHECK(eventually([&] { return queued().size() == left - std::min<std::size_t>(left, 1); }));
    for (std::size_t j = i + 1; j != all.size(); ++j) CHECK(all.at(j).heard.calls() == all.at(j).told);
  }
}

TEST_CASE_METHOD(notified_fixture, "bound: who is notified several times and does not take the key lets others first") {
  actor holder(*fixture);
  const auto fence = holder.acquire("k");
  const auto one = fixture->open(), other = fixture->open();
  counting_listener first, second;
  one->watch("k", {}, first);
  REQUIRE(eventually([&] { return first.yes == 1 && waiting().size() == 1; }));
  other->watch("k", {}, second);
  REQUIRE(eventually([&] { return second.yes == 1 && queued().size() == 1; }));
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  CHECK(eventually([&] { return second.yes > 1; }));
  CHECK(first.yes >= 1 + 4);
  one->unwatch("k", {}, first);
  other->unwatch("k", {}, second);
}

TEST_CASE_METHOD(notified_fixture, "bound: a stopped process that has waited longest keeps the others waiting once") {
  actor holder(*fixture);
  const auto fence = holder.acquire("k");
  forked_child first([&](const auto& tell) {
    const auto mine = fixture->open();
    counting_listener heard;
    mine->watch("k", {}, heard);
    tell(0);
    for (;;) ::pause();
  });
  REQUIRE(eventually([&] { return waiting().size() == 1; }));
  first.stop();
  const auto other = fixture->open();
  counting_listener heard;
  other->watch("k", {}, heard);
  REQUIRE(eventually([&] { return heard.yes == 1 && queued().size() == 1; }));
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  // The server ends the stopped one's connection.
  CHECK(eventually([&] { return heard.yes > 1; }));
  other->unwatch("k", {}, heard);
  CHECK(eventually([&] { return waiting().empty() && queued().empty(); }));
}

TEST_CASE_METHOD(notified_fixture, "bound: a process that had to wait leaves a released key to the next one first") {
  actor holder(*fixture), waiter(*fixture);
  counting_listener heard;
  CHECK(release_of(holder, "k", holder.acquire("k")).waiters == 0);
  const auto fence = holder.acquire("k");
  waiter.store->watch("k", {}, heard);
  REQUIRE(eventually([&] { return heard.yes == 1 && waiting().size() == 1; }));
  CHECK(release_of(holder, "k", fence).waiters == 0);  // it did not wait, and does not know
  REQUIRE(eventually([&] { return heard.yes == 2; }));
  std::uint64_t got = 0;
  REQUIRE(eventually([&] {
    const auto said = waiter.take("k");
    got = said.fence;
    return said.result == outcome::yes;
  }));
  waiter.store->unwatch("k", {}, heard);
  CHECK(release_of(waiter, "k", got).waiters == 1);
  CHECK(release_of(waiter, "k", waiter.acquire("k")).waiters == 0);
}

TEST_CASE("bound: a row that a program has locked by its primary key is seen to be held, and waited for") {
  for_update_fixture fixture;
  raw_mysql root = raw_mysql::root(), plain(fixture.url());
  // Where there is no other column, the key's index has all that is in the row.
  if (GENERATE(false, true)) plain.run("ALTER TABLE " + fixture.table() + " DROP COLUMN description");
  plain.run("INSERT INTO " + fixture.table() + " (id, resource) VALUES (7, 'k')");
  actor by(fixture);
  counting_listener listener;
  plain.run("BEGIN");
  REQUIRE_FALSE(plain.rows("SELECT id FROM " + fixture.table() + " WHERE id=7 FOR UPDATE").empty());
  CHECK(by.at("k").holder);
  by.store->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.yes != 0; }));
  std::string waits;
  REQUIRE(eventually([&] {
    const auto found =
        root.rows("SELECT ID FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND INFO LIKE '%" +
                  fixture.table() + "%' AND INFO NOT LIKE '%NOWAIT%'");
    if (!found.empty()) waits = found.at(0).at(0).value_or("");
    return !found.empty();
  }));
  wait_until_blocked(root, std::stoull(waits));
  CHECK(listener.yes - listener.no == 1);  // that it works, and no more
  const int before = listener.yes;
  plain.run("COMMIT");
  CHECK(eventually([&] { return listener.yes > before; }));
  by.store->unwatch("k", {}, listener);
  CHECK_FALSE(by.at("k").holder);
}

TEST_CASE_METHOD(notified_fixture, "bound: a child process lets go of a store while a caller of its parent's is told",
                 "[T47]") {
  struct holding final : key_listener {
    std::atomic<bool> notified{false}, go_on{false};
    void may_be_free(bool) noexcept override {
      notified = true;
      go_on.wait(false);
    }
  } listener;
  actor holder(*fixture);
  holder.store->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.notified.load(); }));
  const int ended = in_child([&] { return holder.store.reset(), 0; });
  listener.go_on = true;
  listener.go_on.notify_all();
  holder.store->unwatch("k", {}, listener);
  CHECK(ended == 0);
}

TEST_CASE_METHOD(notified_fixture, "bound: a child process that lets go of a store ends no lock of its parent's",
                 "[T47]") {
  actor holder(*fixture);
  const auto fence = holder.acquire("k");
  counting_listener listener;
  holder.store->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.yes != 0; }));
  REQUIRE(in_child([&] { return holder.store.reset(), 0; }) == 0);
  holder.store->unwatch("k", {}, listener);
  CHECK(listener.no == 0);
  actor other(*fixture);
  CHECK(answer(other.take("k")) == outcome::no);
  CHECK(answer(holder.release("k", fence)) == outcome::yes);
  // By the connection's statement. Another key: who waited at the server may have that one for a moment.
  holder.acquire("after");
}

TEST_CASE_METHOD(notified_fixture, "bound: one key is taken by a statement that is prepared once") {
  const auto executed = [&] {
    return std::stol(root.rows("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'").at(0).at(1).value());
  };
  actor by(*fixture);
  by.release("k", by.acquire("k"));
  const auto before = executed();
  for (int i = 0; i != 200; ++i) by.release("k", by.acquire("k"));
  CHECK((executed() - before >= 200) == stores::mysql::mysql_statement::in_two_steps);
}

TEST_CASE_METHOD(notified_fixture, "bound: where the server prepares nothing more, the statements are sent as text") {
  const std::string key = "a?'\\\xc3\xb6";
  actor before(*fixture);
  before.release(key, before.acquire(key));  // makes its row
  const global_setting none_left("max_prepared_stmt_count", "0");
  actor holder(*fixture), other(*fixture);
  const auto fence = holder.acquire(key);
  CHECK(answer(other.take(key)) == outcome::no);
  CHECK(other.at(key).holder);
  CHECK(answer(holder.release(key, fence)) == outcome::yes);
  CHECK(answer(other.take(key)) == outcome::yes);
  CHECK(answer(before.take(key)) == outcome::no);  // by a statement that it has
}

}  // namespace dlock::test
