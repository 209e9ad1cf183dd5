// SPDX-License-Identifier: BSL-1.0

/// scheme=t_lock: owners with a request id, whom several processes and programs of the published protocol may be.

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dlock/distributed_mutex.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/owner.hpp"
#include "stores/mysql/t_lock_scene.hpp"
#include "support/calls.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;

const lock_options for_a_minute{.ttl = 60s, .wait = 0s, .renewal = renewal::none};

/// A lease in the name of a request, as another task of it has one: not by re-entry in this thread's own name.
lease acquire_as(const std::string& request, lock_service& locks, lock_options options = for_a_minute) {
  const owner_scope here{owner{request}};
  return locks.acquire("k", std::move(options));
}

struct request_scene : t_lock_scene {
  request_scene() { java.me = "order-17:7f3a"; }

  /// lock_count of the key; 0: free.
  int count() {
    const auto row = java.row("k");
    const auto first = row.find('|');
    return first == 0 ? 0 : std::stoi(row.substr(first + 1));
  }
  lease acquire(lock_service& by) { return acquire_as(java.me, by); }
  bool is_free() { return granted(others.try_acquire("k")); }
};

}  // namespace

TEST_CASE_METHOD(request_scene,
                 "t_lock: a request enters again what another process of it holds, and its last release frees",
                 "[mysql][t_lock][request]") {
  auto first = acquire(locks);
  CHECK(java.row("k").starts_with(java.me + "|1|"));
  auto second = acquire(others);
  CHECK(java.row("k").starts_with(java.me + "|2|"));
  CHECK(second.fencing_token() > first.fencing_token());
  CHECK(thrown([&] { return acquire_as("another", locks); }) == errc::timed_out);
  first.release();
  CHECK(count() == 1);
  CHECK_NOTHROW(second.ensure_held());
  CHECK(thrown([&] { return acquire_as("another", locks); }) == errc::timed_out);
  CHECK_FALSE(is_free());
  second.release();
  CHECK(java.row("k") == "|0|0");
  CHECK(is_free());
}

TEST_CASE_METHOD(request_scene,
                 "t_lock: a request enters again what a program of the published protocol holds, and the reverse",
                 "[mysql][t_lock][request][T39]") {
  REQUIRE(java.lock("k", 60'000));
  std::vector<std::unique_ptr<lock_service>> processes;
  std::vector<lease> ours;
  for (int i = 0; i < 5; ++i) {
    processes.push_back(std::make_unique<lock_service>(fixture.url(), service_options{.cleanup_interval = 0ms}));
    ours.push_back(acquire(*processes.back()));
    REQUIRE(java.lock("k", 60'000));
  }
  CHECK(count() == 11);
  for (int i = 0; i < 6; ++i) java.unlock("k");
  for (int i = 0; i < 4; ++i) {
    ours.back().release();
    ours.pop_back();
  }
  // Ten times released, and held still.
  CHECK(count() == 1);
  CHECK_FALSE(is_free());
  ours.back().release();
  CHECK(is_free());
}

TEST_CASE_METHOD(request_scene, "t_lock: in one process a request is one owner, wherever it is made",
                 "[mysql][t_lock][request]") {
  CHECK(owner{java.me} == owner{java.me});
  CHECK_FALSE(owner{java.me} == owner{"another"});
  const auto held = acquire(locks);
  const auto before = locks.statements();
  std::thread([&] {
    const auto nested = acquire_as(java.me, locks, {.ttl = 10s, .wait = 0s, .renewal = renewal::none});
    CHECK(nested.reentered());
    CHECK(nested.fencing_token() == held.fencing_token());
  }).join();
  CHECK(locks.statements() == before);
  CHECK(count() == 1);
}

TEST_CASE_METHOD(request_scene, "t_lock: a request's ids differ where the column takes them for equal",
                 "[mysql][t_lock][request]") {
  const auto held = acquire_as("Request", locks);
  CHECK(thrown([&] { return acquire_as("request", others); }) == errc::timed_out);
  java.client.run("UPDATE " + java.table + " SET request_id='request ', version=version+1");
  CHECK(thrown([&] { return acquire_as("request", others); }) == errc::timed_out);
}

TEST_CASE_METHOD(request_scene,
                 "t_lock: entering for a shorter time shortens nothing, and for a longer one extends (fault 3)",
                 "[mysql][t_lock][request]") {
  const auto outer = acquire(locks);
  const auto inner = acquire_as(java.me, others, {.ttl = 100ms, .wait = 10s, .renewal = renewal::none});
  CHECK(others.holder("k")->remaining > 30s);
  lock_service third{fixture.url(), {.cleanup_interval = 0ms}};
  const auto longest = acquire_as(java.me, third, {.ttl = 600s, .wait = 0s, .renewal = renewal::none});
  CHECK(others.holder("k")->remaining > 300s);
  CHECK(outer.remaining() < 61s);
}

TEST_CASE_METHOD(request_scene, "t_lock: a late release takes nothing from what the request holds since (faults 4, 6)",
                 "[mysql][t_lock][request][T01]") {
  const auto url = fixture.url() + "&skew=0";
  lock_service late_process{url, {.cleanup_interval = 0ms}};
  lock_service next_process{url, {.cleanup_interval = 0ms}};
  auto late = acquire_as(java.me, late_process, {.ttl = 100ms, .wait = 10s, .renewal = renewal::none});
  const auto now = java.now();
  REQUIRE(eventually([&] { return java.now() > now + 200; }));
  auto next = acquire(next_process);
  const auto counted = count();  // 1 if the lost lease was freed in its last moment, else 2
  CHECK(counted >= 1);
  CHECK(thrown([&] { return late.release(), 0; }) == errc::lost);
  CHECK(count() == counted);
  CHECK_NOTHROW(next.ensure_held());
  next.release();
  CHECK(count() == counted - 1);
}

TEST_CASE_METHOD(request_scene,
                 "t_lock: a late unlock of another program of the request frees nothing of ours (fault 4)",
                 "[mysql][t_lock][request][T01]") {
  lock_service ours{fixture.url() + "&skew=0", {.cleanup_interval = 0ms}};
  REQUIRE(java.lock("k", 50));
  const auto now = java.now();
  REQUIRE(eventually([&] { return java.now() > now + 100; }));
  const auto inner = acquire(ours);
  java.unlock("k");
  CHECK(count() == 1);
  CHECK_FALSE(is_free());
  CHECK_NOTHROW(inner.ensure_held());
}

namespace {

/// Verbs one by one, as the engine sends them, in the name of the request.
struct request_verbs : request_scene {
  std::shared_ptr<store> on = fixture.open();
  fault why{};
  std::unique_ptr<connection> link = on->connect(20s, why);

  reply ask(connection& by, verb action, const id128& session, microseconds ttl = 0us) {
    const request asked{.action = action,
                        .resource = "k",
                        .session = session,
                        .nonce = 1,
                        .kind = lease_kind::expiring,
                        .ttl = ttl,
                        .request_id = java.me};
    reply answer;
    on->execute(by, {&asked, 1}, {&answer, 1});
    return answer;
  }
  outcome ask(verb action, const id128& session, microseconds ttl = 0us) {
    return ask(*link, action, session, ttl).result;
  }
  const id128 one = id128::random(), two = id128::random(), nobody = id128::random();
};

}  // namespace

TEST_CASE_METHOD(request_verbs,
                 "t_lock: a release that comes after its own time is none, although the request holds the key",
                 "[mysql][t_lock][request]") {
  REQUIRE(ask(verb::insert, one, 20ms) == outcome::yes);
  REQUIRE(ask(verb::take, two, 60s) == outcome::yes);
  CHECK(count() == 2);
  const auto now = java.now();
  REQUIRE(eventually([&] { return java.now() > now + 20; }));
  CHECK(ask(verb::extend, one, 60s) == outcome::no);
  CHECK(ask(verb::release, one) == outcome::no);
  CHECK(count() == 2);  // until the longest time is over
  CHECK(ask(verb::extend, two, 120s) == outcome::yes);
  CHECK(ask(verb::release, two) == outcome::yes);
  CHECK(ask(verb::release, two) == outcome::no);
  CHECK(ask(verb::release, nobody) == outcome::no);
  CHECK(ask(verb::cancel, nobody) == outcome::no);
  CHECK(count() == 1);
}

TEST_CASE_METHOD(request_verbs, "t_lock: a release of a request that was not answered is not sent again",
                 "[mysql][t_lock][request]") {
  REQUIRE(ask(verb::insert, one, 60s) == outcome::yes);
  REQUIRE(java.lock("k", 60'000));
  java.client.run("BEGIN");
  java.client.run("UPDATE " + java.table + " SET lock_count=lock_count");
  std::jthread cut([&] {
    raw_mysql see{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
    const auto sent = fmt::format(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id={} AND command<>'Sleep'", link->identity().id);
    static_cast<void>(eventually([&] { return see.one(sent) == "1"; }));
    link->interrupt();
  });
  CHECK(ask(verb::release, one) == outcome::unknown);
  cut.join();
  // It may still be done. What a second one did could not be told from that.
  const auto other = on->connect(20s, why);
  const auto again = ask(*other, verb::release, one, 0us);
  CHECK(again.result == outcome::failed);
  CHECK(again.statements == 0);
  java.client.run("ROLLBACK");
  CHECK(count() >= 1);
}

TEST_CASE_METHOD(request_scene, "t_lock: who releases in the name of a request is told that nobody answered",
                 "[mysql][t_lock][request]") {
  auto held = acquire(locks);
  REQUIRE(java.lock("k", 60'000));
  java.client.run("BEGIN");
  java.client.run("UPDATE " + java.table + " SET lock_count=lock_count");
  std::jthread cut([&] {
    raw_mysql see{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
    const auto waits = "SELECT id FROM information_schema.processlist WHERE info LIKE 'UPDATE%" + java.table +
                       "%lock_count > 1%' AND id<>CONNECTION_ID()";
    std::string id;
    static_cast<void>(eventually([&] {
      const auto rows = see.rows(waits);
      return !rows.empty() && !(id = rows[0][0].value_or("")).empty();
    }));
    if (!id.empty()) see.run("KILL " + id);
  });
  CHECK(thrown([&] { return held.release(), 0; }) == errc::outcome_unknown);
  cut.join();
  java.client.run("ROLLBACK");
  CHECK(count() >= 1);
}

TEST_CASE_METHOD(request_verbs, "t_lock: a release of a request that has certainly not been done is sent again",
                 "[mysql][t_lock][request]") {
  REQUIRE(ask(verb::insert, one, 60s) == outcome::yes);
  java.client.run("UPDATE " + java.table + " SET version=2147483647");
  CHECK(ask(verb::release, one) == outcome::failed);
  java.client.run("UPDATE " + java.table + " SET version=7");
  CHECK(ask(verb::release, one) == outcome::yes);
  CHECK(count() == 0);
}

TEST_CASE_METHOD(request_scene, "t_lock: a lease of a request can be extended by hand", "[mysql][t_lock][request]") {
  auto held = acquire_as(java.me, locks, {.ttl = 20s, .wait = 0s, .renewal = renewal::manual});
  const auto version = java.version("k");
  held.renew(60s);
  CHECK(java.version("k") == version + 1);
  CHECK(held.remaining() > 30s);
  CHECK(others.holder("k")->remaining > 30s);
  held.release();
  CHECK(is_free());
}

TEST_CASE_METHOD(request_scene, "t_lock: a request locks several keys, and waits for a key like others",
                 "[mysql][t_lock][request]") {
  auto foreign = locks.acquire("b");
  const owner_scope here{owner{java.me}};
  const lock_options patient{.ttl = 60s, .wait = 20s, .renewal = renewal::none};
  const auto before = others.statements();
  std::jthread release([&] {
    // When the other one has been told that it is busy.
    static_cast<void>(eventually([&] { return others.statements() > before + 4; }));
    foreign.release();
  });
  auto all = others.acquire_all({"a", "b"}, patient);
  release.join();
  CHECK(java.row("a").starts_with(java.me + "|1|"));
  CHECK(java.row("b").starts_with(java.me + "|1|"));
  all.release();
  CHECK(java.row("a") == "|0|0");
  CHECK(java.row("b") == "|0|0");
}

TEST_CASE_METHOD(request_scene, "t_lock: what a request holds is not taken by force, and the error names it",
                 "[mysql][t_lock][request]") {
  const auto held = acquire(locks);
  CHECK_THAT(message_of([&] { return locks.force_release("k"); }), ContainsSubstring(java.me));
  held.ensure_held();
}

TEST_CASE_METHOD(request_scene, "t_lock: what does not go with a request id is refused at the call",
                 "[mysql][t_lock][request]") {
  const auto refused = [&](const lock_options& options) {
    const owner_scope here{owner{java.me}};
    return refusal([&] { return locks.try_acquire("k", options); });
  };
  CHECK_THAT(refused({}), ContainsSubstring(java.me) && ContainsSubstring("renewal = automatic"));
  CHECK_THAT(refused({.renewal = renewal::none, .reentry = reentry::refuse}), ContainsSubstring("reentry"));
  CHECK_THAT(refused({.renewal = renewal::none, .reentry = reentry::busy}), ContainsSubstring("reentry"));
  {
    const owner_scope here{owner{java.me}};
    distributed_mutex mutex{locks, "k", {.renewal = renewal::none}};
    CHECK_THROWS_AS(mutex.lock(), std::invalid_argument);
  }
  CHECK(refused({.renewal = renewal::none}).empty());
  CHECK(refused({.renewal = renewal::manual}).empty());
}

}  // namespace dlock::test
