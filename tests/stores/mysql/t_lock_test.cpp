// SPDX-License-Identifier: BSL-1.0

/// scheme=t_lock: what a program of the published protocol sees of dlock and dlock of it, step by step, and the faults
/// of that program, none of which dlock has. tests/process/t_lock has both as processes.

#include <fmt/format.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "contract/store/store_contract.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/owner.hpp"
#include "stores/mysql/t_lock_scene.hpp"
#include "support/calls.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE_METHOD(t_lock_scene, "t_lock: each of both refuses the other while it holds the key",
                 "[mysql][t_lock][T48]") {
  auto held = locks.acquire("k");
  CHECK_FALSE(java.lock("k"));
  java.unlock("k");
  CHECK_NOTHROW(held.ensure_held());
  held.release();
  CHECK(java.row("k") == "|0|0");
  CHECK(java.lock("k"));
  CHECK_FALSE(locks.try_acquire("k"));
  CHECK(locks.holder("k")->label == java.me);
  CHECK(java.lock("k"));  // it enters again, and counts
  java.unlock("k");
  CHECK_FALSE(locks.try_acquire("k"));
  java.unlock("k");
  CHECK(locks.try_acquire("k"));
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: every statement that writes raises the version, which is what protects the others",
                 "[mysql][t_lock]") {
  auto held = locks.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
  const auto granted = java.version("k");
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(granted));
  held.renew();
  CHECK(java.version("k") == granted + 1);
  held.renew(10ms);  // extends nothing
  CHECK(java.version("k") == granted + 2);
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(granted));
  CHECK(others.holder("k")->fence == held.fencing_token());
  held.release();
  CHECK(java.version("k") == granted + 3);
  // What was read before is refused: the compare-and-set of a program that was held up.
  CHECK_FALSE(java.set("k", granted, java.me, 1, java.now() + 1'000));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a lease of another program is called over after the skew, and not before",
                 "[mysql][t_lock][T23][T30]") {
  REQUIRE(java.lock("k"));
  const auto past = [&](int ms) {
    java.client.run(fmt::format("UPDATE {} SET timeout={}, version=version+1", java.table, java.now() - ms));
  };
  lock_service patient{fixture.url() + "&skew=20000", {.cleanup_interval = 0ms}};
  past(300);
  CHECK_FALSE(patient.try_acquire("k"));
  CHECK(patient.holder("k"));
  past(20'100);
  CHECK_FALSE(patient.holder("k"));
  CHECK(patient.try_acquire("k"));
  lock_service strict{fixture.url() + "&skew=0"};
  REQUIRE(java.lock("other"));
  java.client.run(fmt::format("UPDATE {} SET timeout={} WHERE lock_key='other'", java.table, java.now() - 5));
  CHECK(strict.try_acquire("other"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: an id of another program that only resembles ours gets the skew too",
                 "[mysql][t_lock][T23][T30]") {
  const auto session = std::string(32, 'a'), attempt = std::string(16, 'b');
  lock_service patient{fixture.url() + "&skew=20000", {.cleanup_interval = 0ms}};
  const auto free_for = [&](const std::string& id) {
    java.client.run("DELETE FROM " + java.table);
    java.client.run(fmt::format("INSERT INTO {} VALUES ('k', '{}', 1, {}, 5)", java.table, id, java.now() - 300));
    const bool shown = patient.holder("k").has_value();
    CHECK(shown != granted(patient.try_acquire("k")));
    return !shown;
  };
  for (const auto& id :
       {std::string("web-1/5f0c1f6e-7d4f-4c53-9a5e-1f1b6f0e8c11"), session + "/" + attempt,
        session + "/" + attempt + "/", session + "/" + attempt + "/5x", session + "/" + attempt + "5/5",
        session + "-" + attempt + "/5", std::string(32, 'A') + "/" + attempt + "/5"}) {
    INFO(id);
    CHECK_FALSE(free_for(id));
  }
  CHECK(free_for(session + "/" + attempt + "/5"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: an id of any length is shown cut off, and is nobody else's",
                 "[mysql][t_lock]") {
  java.client.run("ALTER TABLE " + java.table + " MODIFY request_id VARCHAR(2000) NOT NULL DEFAULT ''");
  const auto store = fixture.open();
  const auto on = connect(*store, 5s);
  for (const std::string& id : {std::string(1000, 'x'), std::string(32, 'a') + "/" + std::string(16, 'b') + "/5" +
                                                            std::string(100, ' ') + "x"}) {
    java.client.run("DELETE FROM " + java.table);
    java.client.run(fmt::format("INSERT INTO {} VALUES ('k', '{}', 1, {}, 5)", java.table, id, java.now() + 60'000));
    const request ask{.action = verb::poll, .resource = "k"};
    const reply response = executed(*store, *on, ask);
    CHECK(response.result == outcome::yes);
    CHECK(response.holder.who == id.substr(0, 100));
    CHECK(locks.holder("k")->label == id.substr(0, 100));
  }
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: what another program holds is not taken by force, and the error names it",
                 "[mysql][t_lock]") {
  REQUIRE(java.lock("k"));
  const auto said = message_of([&] { return locks.force_release("k"); });
  CHECK_THAT(said, ContainsSubstring(java.me) && ContainsSubstring(java.table));
  CHECK_FALSE(locks.try_acquire("k"));
  java.unlock("k");
  CHECK_FALSE(locks.force_release("k"));
  const auto held = locks.acquire("k");
  CHECK(others.force_release("k"));
  CHECK(others.try_acquire("k"));
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: a program whose clock is ahead by less than the skew takes no lease of ours early",
                 "[mysql][t_lock][T23]") {
  const auto held = locks.acquire("k", {.ttl = 100ms, .renewal = renewal::none});
  java.ahead = 900ms;
  for (auto left = held.remaining(); left > 0us; left = held.remaining()) {
    const bool taken = java.lock("k");
    if (held.remaining() > 0us) CHECK_FALSE(taken);
  }
  java.ahead = 0ms;
  CHECK(eventually([&] { return java.lock("k"); }));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: ours end by the server's clock alone, without the skew among us",
                 "[mysql][t_lock]") {
  const auto ended = locks.acquire("k", {.ttl = 10ms, .renewal = renewal::none});
  const auto begun = std::chrono::steady_clock::now();
  const auto next = others.acquire("k", {.wait = 20s});
  CHECK(next.fencing_token() > ended.fencing_token());
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  CHECK(thrown([&] { return ended.ensure_held(), 0; }) == errc::lost);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: many first users of a key get no error (fault 1)", "[mysql][t_lock][T48]") {
  std::vector<std::thread> threads;
  std::atomic<int> granted{0}, failed{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      try {
        const auto held = (i % 2 == 0 ? locks : others).acquire("new", {.wait = 60s});
        ++granted;
      } catch (const error&) {
        ++failed;
      }
    });
  }
  for (auto& each : threads) each.join();
  CHECK(granted == 8);
  CHECK(failed == 0);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a shorter nested lease shortens nothing (fault 3)", "[mysql][t_lock][T43]") {
  const auto outer = locks.acquire("k", {.ttl = 60s, .renewal = renewal::none});
  const auto inner = locks.acquire("k", {.ttl = 10ms, .renewal = renewal::none});
  CHECK(inner.reentered());
  CHECK(outer.remaining() > 30s);
  CHECK(others.holder("k")->remaining > 30s);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a lost lease is told, and enters and frees nothing any more (faults 4, 5, 7)",
                 "[mysql][t_lock][T01][T06]") {
  auto lost = locks.acquire("k", {.ttl = 10ms, .renewal = renewal::none});
  CHECK(eventually([&] { return java.lock("k", 60'000); }));
  CHECK(thrown([&] { return lost.ensure_held(), 0; }) == errc::lost);
  CHECK(thrown([&] { return locks.try_acquire("k"); }) == errc::lost);  // not entered again
  CHECK(thrown([&] { return lost.release(), 0; }) == errc::lost);
  CHECK(java.row("k").starts_with(java.me + "|1|"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: what one task forgot lets no other task of its thread in (fault 6)",
                 "[mysql][t_lock][T40]") {
  auto forgotten = std::make_unique<lease>(locks.acquire("k"));
  CHECK_FALSE(locks.try_acquire("k"));
  forgotten.reset();
  CHECK(locks.try_acquire("k"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a release frees the key although its row was changed meanwhile (fault 8)",
                 "[mysql][t_lock][T06]") {
  for (int i = 0; i < 50; ++i) {
    auto held = locks.acquire("k");
    java.client.run("UPDATE " + java.table + " SET version=version+1");
    held.release();
    REQUIRE(java.row("k") == "|0|0");
  }
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: a late release frees no successor, not even after the row was made again (fault 9)",
                 "[mysql][t_lock][T01][T50]") {
  auto late = locks.acquire("k");
  java.client.run("DELETE FROM " + java.table);
  const auto next = others.acquire("k");
  CHECK(next.fencing_token() == 1);  // documented: rows of this table must not be deleted
  CHECK(thrown([&] { return late.release(), 0; }) == errc::lost);
  CHECK(others.holder("k")->session == locks.holder("k")->session);
  CHECK_NOTHROW(next.ensure_held());
  CHECK_FALSE(java.lock("k"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a lease time without end is read as one, and none of ours overflows (fault 10)",
                 "[mysql][t_lock]") {
  java.client.run("INSERT INTO " + java.table + " VALUES ('k', '" + java.me + "', 1, 9223372036854775807, 5)");
  CHECK_FALSE(locks.try_acquire("k"));
  CHECK(locks.holder("k")->remaining > 24h * 365);
  java.client.run("UPDATE " + java.table + " SET timeout=-9223372036854775800");  // as it is after an overflow
  CHECK(locks.try_acquire("k"));
  CHECK_THROWS_AS(locks.try_acquire("k", {.ttl = 24h * 31, .renewal = renewal::none}), std::invalid_argument);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: behind an open transaction a wait ends when it should (fault 12)",
                 "[mysql][t_lock][T53]") {
  locks.acquire("k").release();
  java.client.run("BEGIN");
  java.client.run("UPDATE " + java.table + " SET lock_count=lock_count");
  java.client.run("SELECT * FROM " + java.table + " FOR UPDATE");
  const auto begun = std::chrono::steady_clock::now();
  CHECK_FALSE(locks.try_acquire("k"));
  CHECK(thrown([&] { return locks.acquire("k", {.wait = 100ms}); }) == errc::timed_out);
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  java.client.run("ROLLBACK");
  CHECK(locks.try_acquire("k"));
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: at the end of the version nobody is let in twice, and the error says why (fault 13)",
                 "[mysql][t_lock]") {
  java.client.run("INSERT INTO " + java.table + " (lock_key, version) VALUES ('k', 2147483646)");
  auto last = locks.acquire("k");
  CHECK(last.fencing_token() == 2147483647);
  CHECK_FALSE(others.try_acquire("k"));
  CHECK_THAT(message_of([&] { return last.release(), 0; }), ContainsSubstring("1264") || ContainsSubstring("version"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a key that the column can't hold is refused before any statement (fault 14)",
                 "[mysql][t_lock][T56]") {
  const auto invalid = [&](const std::string& key) { return refusal([&] { return locks.try_acquire(key); }); };
  CHECK_THAT(invalid(std::string(33, 'k')), ContainsSubstring("33 characters") && ContainsSubstring("room for 32"));
  CHECK(invalid(std::string(32, 'k')).empty());
  java.client.run("ALTER TABLE " + java.table + " CONVERT TO CHARACTER SET latin1");
  const auto store = fixture.open();
  CHECK_THAT(store->unfit_key("\xe4\xbd\xa0"), ContainsSubstring("latin1"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: an acquire is one statement, a release another, a held key none (fault 16)",
                 "[mysql][t_lock]") {
  locks.acquire("k").release();
  const auto before = locks.statements();
  auto held = locks.acquire("k", {.renewal = renewal::none});
  CHECK(locks.statements() == before + 1);
  held.release();
  CHECK(locks.statements() == before + 2);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: what the table lacks is named", "[mysql][t_lock]") {
  const auto complaint = [&](const std::string& change) {
    const t_lock_fixture other;
    java.client.run("ALTER TABLE " + other.table() + " " + change);
    return message_of([&] { return open_store(other.url())->prepare(), 0; });
  };
  CHECK_THAT(complaint("DROP version"), ContainsSubstring("there is no column 'version'"));
  CHECK_THAT(complaint("MODIFY request_id varchar(36) NOT NULL DEFAULT ''"),
             ContainsSubstring("'request_id'") && ContainsSubstring("64 characters"));
  CHECK_THAT(complaint("MODIFY timeout varchar(30) NOT NULL DEFAULT ''"), ContainsSubstring("'timeout'"));
  CHECK(complaint("ADD note varchar(20) NOT NULL DEFAULT ''").empty());
  CHECK_THROWS_AS(open_store(fixture.url() + "&skew=-1"), std::invalid_argument);
  CHECK_THROWS_AS(open_store(fixture.url() + "&skew=3600001"), std::invalid_argument);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: behind a trigger every grant has the token that is in its row",
                 "[mysql][t_lock][triggers]") {
  audit log(java.table + "_audit");
  for (const char* moment : {"AFTER INSERT", "AFTER UPDATE"}) log.watch(java.table, moment);
  for (int round = 0; round != 3; ++round) {
    auto held = locks.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
    CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
    CHECK_NOTHROW(held.renew());
    CHECK_NOTHROW(held.release());
  }
  // A dead holder's key: taken over.
  auto dead = others.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
  java.client.run(fmt::format("UPDATE {} SET timeout=1", java.table));
  auto held = locks.acquire("k");
  CHECK(held.fencing_token() > dead.fencing_token());
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
  CHECK_NOTHROW(held.release());
  CHECK(log.lines() != "0");
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: behind a trigger a request's leases have tokens and can be extended",
                 "[mysql][t_lock][request][triggers]") {
  audit log(java.table + "_audit");
  for (const char* moment : {"AFTER INSERT", "AFTER UPDATE"}) log.watch(java.table, moment);
  const owner_scope here{owner{"order-17"}};
  auto held = locks.acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
  held.renew(60s);
  CHECK(held.remaining() > 30s);
  CHECK_NOTHROW(held.release());
  CHECK(java.row("k") == "|0|0");
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: beside an AUTO_INCREMENT column the tokens are the versions too",
                 "[mysql][t_lock][triggers]") {
  java.client.run("ALTER TABLE " + java.table +
                  " DROP PRIMARY KEY, ADD UNIQUE KEY (lock_key), ADD id BIGINT AUTO_INCREMENT PRIMARY KEY FIRST, "
                  "AUTO_INCREMENT=57");
  lock_service service{fixture.url(), {.cleanup_interval = 0ms}};
  std::uint64_t last = 0;
  for (int round = 0; round != 3; ++round) {
    auto held = service.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
    CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
    CHECK(held.fencing_token() > last);
    last = held.fencing_token();
    CHECK_NOTHROW(held.renew());
    CHECK_NOTHROW(held.release());
  }
  const owner_scope here{owner{"order-18"}};
  const auto other = service.acquire("l", {.ttl = 60s, .renewal = renewal::manual});
  CHECK(other.fencing_token() == static_cast<std::uint64_t>(java.version("l")));
}

}  // namespace dlock::test
