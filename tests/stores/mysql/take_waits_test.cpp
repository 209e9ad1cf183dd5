// SPDX-License-Identifier: BSL-1.0

/// What MySQL alone does: an UPDATE can't be told to wait for less than a second, so rows are asked for first.

#include <fmt/format.h>

#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/undisturbed.hpp"

namespace dlock::test {

namespace {

using steady = std::chrono::steady_clock;
constexpr int nowait = 3572;
constexpr int waited = 1205;

/// A key and a row that `a` holds, and whose lock rows a transaction of the application's has locked by verifying.
struct verified_scene : row_scene {
  verified_scene() {
    REQUIRE(answer(a.insert("k")) == outcome::yes);
    key_nonce = a.nonce;
    fence = a.acquire(row);
  }
  void verify() {
    app->begin();
    REQUIRE(app->run(a.verify_text(row, fence)) == 1);
    REQUIRE(app->run(a.verify_text(lock_key("k"), 1)) == 1);
  }
  reply take(row_actor& actor, const lock_key& about, bool polled) {
    ++actor.nonce;
    auto q = actor.about(verb::take, about);
    q.polled = polled;
    return actor.run(q);
  }

  const lock_key key{"k"};
  const lock_key row = make(1);
  row_actor a{*this}, b{*this};
  std::uint64_t key_nonce = 0;
  std::uint64_t fence = 0;
};

steady::duration time_of(const std::function<void()>& call) {
  const auto began = steady::now();
  call();
  return steady::now() - began;
}

}  // namespace

TEST_CASE("mysql waits: a take waits a second for a locked row, one that follows a poll does not wait",
          "[mysql][mysql9]") {
  verified_scene s;
  CHECK(s.b.store->takes_wait());
  s.verify();
  for (const auto& about : {s.key, s.row}) {
    reply r;
    CHECK(time_of([&] { r = s.take(s.b, about, false); }) > 900ms);
    CHECK(r.why.native == waited);
    CHECK(r.why.contended);
    CHECK(undisturbed(700ms, [&] { r = s.take(s.b, about, true); }) < 700ms);
    CHECK(r.result == outcome::failed);
    CHECK(r.why.native == nowait);
    CHECK(r.why.contended);
    CHECK(r.statements == 1);
  }
  CHECK(s.b.connection->usable());
  s.app->rollback();
  // Nothing of it is left: no lock on the row, no transaction.
  CHECK(answer(s.take(s.b, s.key, true)) == outcome::no);
  CHECK(answer(s.a.actor::release("k", 1)) == outcome::yes);
  const reply free = s.take(s.b, s.key, true);
  CHECK(free.fence == 2);
  CHECK(free.statements == 2);
  CHECK(answer(s.a.release(s.row, s.fence)) == outcome::yes);
  CHECK(s.take(s.b, s.row, true).fence == s.fence + 1);
  CHECK(answer(s.take(s.a, lock_key("never made"), true)) == outcome::no);
}

TEST_CASE("mysql waits: a take over from a dead holder whose transaction is open does not wait", "[mysql][mysql9]") {
  verified_scene s;
  s.verify();
  s.a.close();
  for (const auto& about : {s.key, s.row}) {
    const seen dead = s.b.at(about);
    REQUIRE(dead.gone);
    reply r;
    CHECK(undisturbed(700ms, [&] { r = s.b.take_over(about, dead); }) < 700ms);
    CHECK(r.why.native == nowait);
  }
  s.app->commit();
  for (const auto& about : {s.key, s.row}) CHECK(answer(s.b.take_over(about, s.b.at(about))) == outcome::yes);
}

TEST_CASE("mysql waits: who has little time is told at once that a verified key is busy", "[mysql][mysql9]") {
  verified_scene s;
  s.verify();
  lock_service locks(s.fixture->open(), {.cleanup_interval = 0ms});
  { const lease warms_up = locks.acquire("other"); }
  CHECK(undisturbed(700ms, [&] { CHECK_FALSE(locks.try_acquire("k")); }) < 700ms);
  CHECK(undisturbed(700ms, [&] { CHECK_FALSE(locks.try_acquire(s.row)); }) < 700ms);
  CHECK(undisturbed(900ms, [&] { CHECK_THROWS_AS(locks.acquire("k", {.wait = 200ms}), lock_timeout); }) < 900ms);
  CHECK(undisturbed(900ms, [&] {
          CHECK_THROWS_AS(locks.acquire_all({"k", "other"}, {.wait = 200ms}), lock_timeout);
        }) < 900ms);
  s.app->commit();
}

TEST_CASE("mysql waits: who has time takes at once, and who has not looks first", "[mysql][mysql9]") {
  row_scene s;
  lock_service locks(s.fixture->open(), {.cleanup_interval = 0ms});
  { const lease makes_the_row = locks.acquire("k"); }
  const auto statements_of = [&](auto&& call) {
    const auto before = locks.statements();
    call();
    return locks.statements() - before;
  };
  lease held;
  CHECK(statements_of([&] { held = locks.acquire("k"); }) == 1);
  CHECK(statements_of([&] { held.release(); }) == 1);
  CHECK(statements_of([&] { held = locks.try_acquire("k"); }) == 3);  // look, ask, take
  CHECK(held);
}

TEST_CASE("mysql waits: a server whose binary log has statements is refused in words", "[mysql][mysql9]") {
  const mysql_fixture fixture;
  fixture.open();
  const global_setting statements("binlog_format", "'STATEMENT'");
  try {
    fixture.open();
    FAIL("it was prepared");
  } catch (const store_error& e) {
    CHECK_THAT(std::string(e.what()), Catch::Matchers::ContainsSubstring("binlog_format is STATEMENT") &&
                                          Catch::Matchers::ContainsSubstring("1665"));
    CHECK_FALSE(e.transient());
  }
}

}  // namespace dlock::test
