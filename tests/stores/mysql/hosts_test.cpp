// SPDX-License-Identifier: BSL-1.0

/// Connecting to one of several hosts, some of which don't answer, or answer and are of no use.

#include <fmt/format.h>
#include <catch2/matchers/catch_matchers_predicate.hpp>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/io_bound.hpp"
#include "stores/mysql/mute_server.hpp"
#include "stores/mysql/on_connection.hpp"
#include "support/calls.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/mysql_user.hpp"
#include "support/own_server.hpp"
#include "support/recording_observer.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

using Catch::Matchers::Predicate;

namespace {

/// The tests' server, the tables of a place on it, and ways there.
struct hosts_fixture {
  hosts_fixture() { fixture.open(); }

  std::uint16_t port() const { return fixture.port(); }
  /// The place's URL with these ports of this host.
  std::string by(const std::vector<std::uint16_t>& ports, const std::string& more = {}) const {
    return fixture.url_by(ports, more);
  }
  /// How long it took.
  std::chrono::milliseconds connect(store& store, microseconds limit, const std::stop_token& cancel = {}) {
    const auto begun = std::chrono::steady_clock::now();
    why = {};
    connection = store.connect(limit, why, cancel);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  }
  /// It works.
  bool answers() {
    if (connection == nullptr) return false;
    const request ask{.action = verb::poll, .resource = "k"};
    const reply answer = executed(*last, *connection, ask);
    return answer.result == outcome::absent;
  }
  store& open(const std::string& url) {
    connection.reset();
    last = open_store(url);
    return *last;
  }

  mysql_fixture fixture{};
  fault why{};
  std::shared_ptr<store> last{};
  std::unique_ptr<dlock::connection> connection{};
};

constexpr auto sluggish = 3s;      // a busy machine
constexpr auto undelayed = 400ms;  // the same, in its best moment

void needs_exact_limits() {
  if (!stores::mysql::mysql_io_bound::works()) SKIP("MySQL's client library counts its limits in whole seconds");
}

}  // namespace

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: one that does not answer gets its share of the time and no more") {
  needs_exact_limits();
  const auto kind = GENERATE(mute_server::kind::silent, mute_server::kind::black_hole);
  const mute_server mute(kind);
  std::chrono::milliseconds first{};
  for (int i = 0; i == 0 || (i < 10 && (connection == nullptr || first >= 300ms + undelayed)); ++i) {
    first = connect(open(by({mute.port(), port()})), 600ms);
  }
  CHECK(answers());
  CHECK(first >= 250ms);
  CHECK(first < 300ms + undelayed);
  // It is not tried again while the other one works.
  CHECK(undisturbed(900ms, [&] { connect(*last, 6s); }) < 900ms);
  CHECK(answers());
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: with others to try, none gets more than a second") {
  const mute_server mute(mute_server::kind::silent);
  auto& store = open(by({mute.port(), port()}));
  const auto took = connect(store, 10s);
  CHECK(answers());
  CHECK(took >= 900ms);
  CHECK(took < 1s + sluggish);
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: a store starts though its first host does not answer") {
  const mute_server mute(mute_server::kind::black_hole);
  CHECK(undisturbed(4s, [&] { CHECK_NOTHROW(open(by({mute.port(), port()})).prepare()); }) < 4s);
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: connect_timeout bounds the attempt at the only one, to the millisecond") {
  needs_exact_limits();
  const auto kind = GENERATE(mute_server::kind::silent, mute_server::kind::black_hole);
  const auto limit = GENERATE(300ms, 1300ms);
  const mute_server mute(kind);
  const auto took = undisturbed(limit + undelayed, [&] {
    connect(open(by({mute.port()}, fmt::format("&connect_timeout={}", limit.count()))), 10s);
  });
  CHECK(connection == nullptr);
  CHECK(why.connection);
  CHECK(why.transient);
  CHECK_THAT(why.text, ContainsSubstring(std::to_string(mute.port())));
  CHECK(took >= limit - 1ms);
  CHECK(took < limit + undelayed);
}

TEST_CASE_METHOD(hosts_fixture,
                 "mysql hosts: connect_timeout bounds the whole attempt, wherever the server falls silent") {
  needs_exact_limits();
  tcp_proxy proxy(port());
  for (std::size_t answers_given = 0; answers_given < 20; ++answers_given) {
    CAPTURE(answers_given);
    proxy.answer(answers_given);
    const auto took = connect(open(by({proxy.port()}, "&connect_timeout=300&statement_timeout=20000")), 10s);
    if (connection != nullptr) {
      CHECK(answers_given >= 4);  // its greeting, the login's end, the settings, what it is
      proxy.mend();
      CHECK(answers());
      // And with another host, that is reached in time.
      proxy.answer(answers_given - 1);
      connect(open(by({proxy.port(), port()}, "&statement_timeout=20000")), 6s);
      CHECK(answers());
      return;
    }
    CHECK(took >= 299ms);
    CHECK(took < 300ms + sluggish);
  }
  FAIL("no number of answers was enough");
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: an attempt ends soon after it was cancelled") {
  needs_exact_limits();
  const auto kind = GENERATE(mute_server::kind::silent, mute_server::kind::black_hole);
  const mute_server mute(kind);
  const auto took = undisturbed(100ms + undelayed, [&] {
    std::stop_source cancel;
    std::thread cancelling([&] {
      std::this_thread::sleep_for(100ms);  // so that it waits by then
      cancel.request_stop();
    });
    connect(open(by({mute.port(), mute.port()}, "&connect_timeout=20000")), 10s, cancel.get_token());
    cancelling.join();
    CHECK(connection == nullptr);
  });
  CHECK(took < 100ms + undelayed);
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: the bound of an attempt is over once it is connected") {
  auto& store = open(by({port()}, "&connect_timeout=2000&statement_timeout=20000"));
  connect(store, 2s);
  REQUIRE(connection != nullptr);
  wait_long_for_locks(*connection);
  raw_mysql other = raw_mysql::root();
  other.run("LOCK TABLES " + fixture.table("lock") + " WRITE");
  std::thread unlocking([&] {
    std::this_thread::sleep_for(2500ms);  // longer than that
    other.run("UNLOCK TABLES");
  });
  CHECK(answers());
  unlocking.join();
}

TEST_CASE("mysql hosts: a read-only one is passed over, and taken when it takes writes") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  const own_server replica("replica", "");
  raw_mysql root(replica.root_url());
  hosts_fixture at;
  root.run("SET GLOBAL read_only=1");
  auto& store = at.open(at.by({replica.port(), at.port()}));
  at.connect(store, 20s);
  CHECK(at.answers());
  REQUIRE(at.connection != nullptr);
  CHECK(at.connection->identity().id != 0);
  const auto here = at.connection->identity().server;

  // The other way round: nobody else takes writes.
  const global_setting stepped_down("read_only", "1");
  root.run("SET GLOBAL read_only=0");
  at.connect(store, 20s);
  REQUIRE(at.connection != nullptr);
  CHECK(at.connection->identity().server != here);
  root.run("SET GLOBAL read_only=1");
  at.connect(store, 20s);
  CHECK(at.connection == nullptr);
  CHECK_THAT(at.why.text, ContainsSubstring(std::to_string(replica.port())) &&
                              ContainsSubstring(std::to_string(at.port())) && ContainsSubstring("read_only"));
}

TEST_CASE_METHOD(hosts_fixture,
                 "mysql hosts: once a statement has found its server of no use, its host's connections go") {
  const int error = GENERATE(1047, 1290, 1836);
  CAPTURE(error);
  std::optional<tcp_proxy> near, far;
  std::unique_ptr<dlock::connection> first, second;
  for (int i = 0; i == 0 || (i < 10 && far->accepted() != 0); ++i) {  // a stall of a second leads elsewhere
    first.reset();
    second.reset();
    near.emplace(port());
    far.emplace(port());
    open(by({near->port(), far->port()}));
    connect(*last, 20s);
    first = std::move(connection);
    connect(*last, 20s);
    second = std::move(connection);
    REQUIRE(first != nullptr);
    REQUIRE(second != nullptr);
  }
  auto& store = *last;
  CHECK(near->accepted() == 2);
  // It answers so on the connections that there are; so does a node that has lost its cluster.
  raw_mysql::root().run(fmt::format(
      "CREATE TRIGGER {0}refuse BEFORE INSERT ON {1} FOR EACH ROW BEGIN IF "
      "CONNECTION_ID() <= {2} THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO={3}, "
      "MESSAGE_TEXT='of no use'; END IF; END",
      fixture.prefix(), fixture.table("session"), std::max(first->identity().id, second->identity().id), error));
  const auto open_session = [&](dlock::connection& with) {
    return store.session(with, session_verb::open, {.id = id128::random(), .ttl = 10s, .host = "h", .pid = 1});
  };
  CHECK(second->alive());
  const auto refused = open_session(*first);
  CHECK(refused.result == outcome::failed);
  CHECK(refused.why.native == error);
  CHECK(refused.why.connection);
  CHECK_FALSE(first->usable());
  CHECK_FALSE(second->alive());
  // The next one leads elsewhere.
  connect(store, 20s);
  CHECK(far->accepted() == 1);
  REQUIRE(connection != nullptr);
  CHECK(connection->alive());
  CHECK(open_session(*connection).result == outcome::yes);
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: a look at an idle connection shows that the server has closed it") {
  connect(open(by({port()})), 20s);
  REQUIRE(connection != nullptr);
  CHECK(answers());
  CHECK(connection->alive());
  const bool by_kill = GENERATE(true, false);
  if (by_kill) {
    raw_mysql::root().run(fmt::format("KILL {}", connection->identity().id));
  } else {
    tcp_proxy proxy(port());
    connect(open(by({proxy.port()})), 20s);
    REQUIRE(answers());
    CHECK(connection->alive());
    proxy.cut();
  }
  CHECK(eventually([&] { return !connection->alive(); }));
  CHECK_FALSE(connection->usable());
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: a server that is full says so") {
  mysql_user user(fixture.prefix() + "full", "WITH MAX_USER_CONNECTIONS 1");
  user.grant("ALL ON `locks`.*");
  auto& store = open(user.url(by({port()})));
  connect(store, 20s);
  REQUIRE(connection != nullptr);
  CHECK_FALSE(why.full);
  const auto only = std::move(connection);
  connect(store, 20s);
  CHECK(connection == nullptr);
  CHECK(why.full);
  CHECK(why.transient);
}

// Services whose host falls silent, refuses, or has no more connections to give.

namespace {

/// Two ways to one server: to a service they are two hosts with the same data.
struct failover_fixture {
  std::string by(const std::vector<std::uint16_t>& ports, const std::string& more = {}) const {
    return fixture.url_by(ports, more);
  }
  std::string both() const { return by({near.port(), far.port()}); }
  service_options options() const { return {.close_limit = 0ms, .cleanup_interval = 0ms, .observer = seen}; }

  mysql_fixture fixture{};
  tcp_proxy near{fixture.port()};
  tcp_proxy far{fixture.port()};
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
};

constexpr auto very_sluggish = 4s;  // a busy machine

}  // namespace

TEST_CASE_METHOD(failover_fixture, "mysql failover: a lease outlives its host's silence, by the next one") {
  lock_service locks(both(), options());
  auto held = locks.acquire("k", {.ttl = 10s});
  const auto fence = held.fencing_token();
  near.fall_silent();
  REQUIRE(renewed(held));
  CHECK(far.accepted() >= 1);
  // And the rest of the service goes on there as well.
  CHECK(granted(locks.acquire("other")));
  CHECK(locks.holder("k")->fence == fence);
  CHECK_NOTHROW(held.release());
  CHECK(seen->count(event::kind::session_lost) == 0);
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: an acquire reaches the next host within its wait") {
  auto settings = options();
  settings.release_limit = 20s;
  lock_service locks(both(), settings);
  on_threads(4, [&](int i) {  // so that there are several connections which fall silent
    for (int round = 0; round < 20; ++round) locks.acquire(fmt::format("k{}", i)).release();
  });
  near.fall_silent();
  std::optional<lease> held;
  // Two seconds until the first one counts as hung; the others are not tried one by one.
  CHECK(duration_of([&] { CHECK_NOTHROW(held = locks.acquire("k", {.wait = 20s})); }) < 5s + very_sluggish);
  CHECK_NOTHROW(held->release());
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: a service starts though its first host does not answer") {
  const auto kind = GENERATE(mute_server::kind::silent, mute_server::kind::black_hole);
  const mute_server mute(kind);
  std::optional<lock_service> locks;
  CHECK(duration_of([&] { locks.emplace(by({mute.port(), far.port()}), options()); }) < 8s);
  CHECK(duration_of([&] { locks->acquire("k").release(); }) < 8s);
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: with no other host everything ends within its limit", "[T89]") {
  // Of the connections that there are, or in making others: after the login, nothing of the client library ends that.
  const bool cut_as_well = GENERATE(false, true);
  CAPTURE(cut_as_well);
  auto settings = options();
  std::optional<lock_service> locks;
  locks.emplace(by({near.port()}, "&statement_timeout=20000&connect_timeout=20000"), settings);
  auto first = locks->acquire("first");
  auto second = locks->acquire("second");
  if (cut_as_well) {
    near.cut();
    near.mend();
    near.answer(3);  // its greeting, the login's end, and one more
  } else {
    near.fall_silent();
  }
  CHECK(duration_of([&] { CHECK_THROWS_AS(locks->acquire("k", {.wait = 500ms}), store_error); }) < 3s + very_sluggish);
  CHECK(duration_of([&] { CHECK_THROWS_AS(first.release(), store_error); }) < 1s + very_sluggish);
  CHECK(duration_of([&] { second = lease{}; }) < 1s + very_sluggish);
  CHECK(duration_of([&] { CHECK_THROWS_AS(locks->held_keys(), store_error); }) < 5s + very_sluggish);
  CHECK(duration_of([&] { locks.reset(); }) < 1s + very_sluggish);
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: connections that were closed meanwhile cost no call") {
  lock_service locks(by({near.port()}), options());
  auto held = locks.acquire("held", {.ttl = 5s});
  for (int i = 0; i < 3; ++i) {
    near.cut();
    near.mend();
    CHECK(granted(locks.try_acquire("k")));
    near.cut();
    near.mend();
    CHECK(locks.holder("held"));
    near.cut();
    near.mend();
    CHECK_NOTHROW(held.release());
    near.cut();
    near.mend();
    held = locks.acquire("held", {.ttl = 5s, .wait = 0ms});
  }
  for (int i = 0; i < 14; ++i) {
    near.cut();
    near.mend();
    std::this_thread::sleep_for(500ms);
    REQUIRE(held.remaining() > 0us);
  }
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: a node that refuses is left, by renewals and releases too") {
  const int error = GENERATE(1047, 1290);
  lock_service locks(both(), options());
  std::vector<lease> held;
  for (int i = 0; i < 3; ++i) held.push_back(locks.acquire(fmt::format("k{}", i), {.ttl = 10s}));
  auto root = raw_mysql::root();
  const auto last = root.one("SELECT MAX(id) FROM information_schema.processlist");
  for (const char* const table : {"lock", "session"}) {
    root.run(
        fmt::format("CREATE TRIGGER {0}{1} BEFORE UPDATE ON {2} FOR EACH ROW BEGIN IF CONNECTION_ID() <= {3} THEN "
                    "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO={4}, MESSAGE_TEXT='of no use'; END IF; END",
                    fixture.prefix(), table, fixture.table(table), last, error));
  }
  REQUIRE(renewed(held[0]));
  for (auto& each : held) {
    CHECK_NOTHROW(each.ensure_held());
    CHECK_NOTHROW(each.release());
  }
  CHECK(far.accepted() >= 1);
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: one connection is enough for a service, if there are no more") {
  mysql_user user(fixture.prefix() + "one", "WITH MAX_USER_CONNECTIONS 1");
  user.grant("ALL ON `locks`.*");
  lock_service locks(user.url(by({near.port()})), options());
  auto held = locks.acquire("k", {.ttl = 5s});
  for (int i = 0; i < 70; ++i) {
    locks.acquire("other").release();
    std::this_thread::sleep_for(100ms);
    REQUIRE(held.remaining() > 0us);
  }
  held.release();
  CHECK(seen->count(event::kind::acquire_failed) == 0);
  CHECK(seen->count(event::kind::session_lost) == 0);
}

TEST_CASE_METHOD(failover_fixture,
                 "mysql failover: a service that may wait for its server is there once the server is") {
  near.cut();
  auto settings = options();
  CHECK_THROWS_MATCHES(lock_service(by({near.port()}), settings), store_error,
                       Predicate<store_error>([](const store_error& e) { return e.transient(); }, "may pass"));
  settings.start_limit = 30s;
  std::jthread starting([&] {
    std::this_thread::sleep_for(300ms);  // several tries
    near.mend();
  });
  lock_service locks(by({near.port()}), settings);
  CHECK(granted(locks.try_acquire("k")));
}

TEST_CASE_METHOD(hosts_fixture, "mysql kill: at another server than the connection's nothing is killed") {
  using stores::mysql::kill_result;
  const own_server other("kill", "--skip-networking");
  raw_mysql stranger(other.url()), root(other.root_url());
  const auto id = stranger.id();
  const auto waits = [&] {
    return root.one(fmt::format(
               "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {} AND STATE = 'User sleep'", id)) ==
           "1";
  };
  auto sleeps = stranger.start("DO SLEEP(60)");
  REQUIRE(eventually(waits));
  connect(open(by({port()})), 5s);
  REQUIRE(answers());
  auto lost = connection->identity();  // leads to the tests' server
  lost.id = id;
  REQUIRE(connect(open(other.url()), 5s) < 5s);
  REQUIRE(connection != nullptr);
  auto& by_other = static_cast<stores::mysql::mysql_connection&>(*connection);
  for (const auto what : {stores::mysql::kill_what::query, stores::mysql::kill_what::connection}) {
    CHECK(kill(by_other, lost, what) == kill_result::out_of_reach);
  }
  CHECK(waits());

  tcp_proxy proxy(port());
  proxy.count_by_itself();
  connect(open(by({proxy.port()})), 5s);
  REQUIRE(connection != nullptr);
  auto& by_proxy = static_cast<stores::mysql::mysql_connection&>(*connection);
  CHECK(by_proxy.behind_proxy());
  CHECK(kill(by_proxy, by_proxy.neighbour(id), stores::mysql::kill_what::query) == kill_result::out_of_reach);

  connect(open(other.url()), 5s);
  auto& again = static_cast<stores::mysql::mysql_connection&>(*connection);
  CHECK(kill(again, again.neighbour(id), stores::mysql::kill_what::query) == kill_result::done);
  CHECK_NOTHROW(sleeps.wait());
  CHECK(kill(again, again.neighbour(4'000'000'000), stores::mysql::kill_what::query) == kill_result::gone);
}

TEST_CASE_METHOD(hosts_fixture, "mysql hosts: a proxy that gives a connection to several clients is refused in words") {
  tcp_proxy proxy(port());
  const bool counts = GENERATE(true, false);
  if (counts) proxy.count_by_itself();
  const auto url = by({proxy.port()}, "&tls=off&schema=none");
  CHECK_NOTHROW(open_store(url)->prepare());
  raw_mysql other(url);
  proxy.share_servers();
  other.run("DO 1");
  const auto refused = message_of([&] { open_store(url)->prepare(); });
  CHECK_THAT(refused, ContainsSubstring("a proxy in between gives the server's connections to several clients"));
  CHECK_THAT(refused, ContainsSubstring("connect to the server itself, or let the proxy share none"));
  CHECK_THAT(refused, ContainsSubstring("has become"));
}

TEST_CASE("mysql hosts: a proxy that refuses what belongs to a session is named, too") {
  const auto refused = message_of([] {
    stores::mysql::fail(
        "mysql:x",
        fault{.native = 3566, .sqlstate = "HY000", .text = "mysql:x: Access to native function is rejected"});
  });
  CHECK_THAT(refused, ContainsSubstring("let the proxy share none (MySQL Router: connection_sharing=0): "));
  CHECK_THAT(refused, EndsWith("Access to native function is rejected"));
}

}  // namespace dlock::test
