// SPDX-License-Identifier: BSL-1.0

/// Services whose host falls silent, refuses, or has no more connections to give.

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_predicate.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/mute_server.hpp"
#include "support/calls.hpp"
#include "support/mysql_user.hpp"
#include "support/recording_observer.hpp"
#include "support/renewed.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::Predicate;

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

constexpr auto sluggish = 4s;  // a busy machine

}  // namespace

TEST_CASE_METHOD(failover_fixture, "mysql failover: a lease outlives its host's silence, by the next one",
                 "[mysql][hosts]") {
  lock_service locks(both(), options());
  auto held = locks.acquire("k", {.ttl = 10s});
  const auto fence = held.fencing_token();
  near.fall_silent();
  REQUIRE(renewed(held));
  CHECK(far.accepted() >= 1);
  // And the rest of the service goes on there as well.
  CHECK(locks.acquire("other"));
  CHECK(locks.holder("k")->fence == fence);
  CHECK_NOTHROW(held.release());
  CHECK(seen->count(event::kind::session_lost) == 0);
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: an acquire reaches the next host within its wait",
                 "[mysql][hosts]") {
  auto settings = options();
  settings.release_limit = 20s;
  lock_service locks(both(), settings);
  std::vector<std::thread> threads;  // so that there are several connections which fall silent
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) locks.acquire(fmt::format("k{}", i)).release();
    });
  }
  for (auto& each : threads) each.join();
  near.fall_silent();
  std::optional<lease> held;
  // Two seconds until the first one counts as hung; the others are not tried one by one.
  CHECK(duration_of([&] { CHECK_NOTHROW(held = locks.acquire("k", {.wait = 20s})); }) < 5s + sluggish);
  CHECK_NOTHROW(held->release());
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: a service starts though its first host does not answer",
                 "[mysql][hosts]") {
  const auto kind = GENERATE(mute_server::kind::silent, mute_server::kind::black_hole);
  const mute_server mute(kind);
  std::optional<lock_service> locks;
  CHECK(duration_of([&] { locks.emplace(by({mute.port(), far.port()}), options()); }) < 8s);
  CHECK(duration_of([&] { locks->acquire("k").release(); }) < 8s);
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: with no other host everything ends within its limit",
                 "[mysql][hosts][T89]") {
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
  CHECK(duration_of([&] { CHECK_THROWS_AS(locks->acquire("k", {.wait = 500ms}), store_error); }) < 3s + sluggish);
  CHECK(duration_of([&] { CHECK_THROWS_AS(first.release(), store_error); }) < 1s + sluggish);
  CHECK(duration_of([&] { second = lease{}; }) < 1s + sluggish);
  CHECK(duration_of([&] { CHECK_THROWS_AS(locks->held_keys(), store_error); }) < 5s + sluggish);
  CHECK(duration_of([&] { locks.reset(); }) < 1s + sluggish);
}

TEST_CASE_METHOD(failover_fixture, "mysql failover: connections that were closed meanwhile cost no call",
                 "[mysql][hosts]") {
  lock_service locks(by({near.port()}), options());
  auto held = locks.acquire("held", {.ttl = 5s});
  for (int i = 0; i < 3; ++i) {
    near.cut();
    near.mend();
    CHECK(locks.try_acquire("k"));
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

TEST_CASE_METHOD(failover_fixture, "mysql failover: a node that refuses is left, by renewals and releases too",
                 "[mysql][hosts]") {
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

TEST_CASE_METHOD(failover_fixture, "mysql failover: one connection is enough for a service, if there are no more",
                 "[mysql][hosts]") {
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

TEST_CASE_METHOD(failover_fixture, "mysql failover: a service that may wait for its server is there once the server is",
                 "[mysql][hosts]") {
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
  CHECK(locks.try_acquire("k"));
}

}  // namespace dlock::test
