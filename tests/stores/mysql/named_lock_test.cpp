// SPDX-License-Identifier: BSL-1.0

/// scheme=named_lock: what becomes of its locks with their connection, how many connections there are, and which names
/// they have.

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
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
#include "support/granted.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/recording_observer.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;

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
  CHECK_FALSE(others.try_acquire("apart"));
  CHECK(locks.acquire("three", {.ttl = 10min, .wait = 20s}));
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
  CHECK(locks.acquire("new", {.ttl = 10min, .wait = 20s}));
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
  CHECK_FALSE(others.try_acquire("order:0"));
  CHECK_FALSE(others.try_acquire("order:4999"));
  held.clear();
  CHECK(others.try_acquire("order:4999"));
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
    CHECK_FALSE(locks.try_acquire(locked));
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

}  // namespace dlock::test
