// SPDX-License-Identifier: BSL-1.0

// Verification of readers and permits where transactions lock rows: for whom they wait, and for whom they do not.

#include <dlock/detail/odb_compat.hpp>
//
#include <catch2/matchers/catch_matchers.hpp>

#include "odb/verify/verify_scene.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

TEST_CASE_METHOD(verify_scene,
                 "mysql verify of a member: readers verify at the same time, also those who share a row") {
  const auto text = [](const lease& of) { return of.verification().text; };
  lease first, second;
  // They share a row if the second one comes within some milliseconds.
  REQUIRE(eventually([&] {
    second = lease();
    first = lease();
    first = locks.acquire("wallet:1", {.ttl = 60s, .mode = shared});
    second = elsewhere([&] { return locks.acquire("wallet:1", {.ttl = 60s, .mode = shared}); });
    return text(first) == text(second);
  }));
  auto third = others.acquire("wallet:1", {.ttl = 60s, .mode = shared});
  CHECK(text(first) != text(third));
  raw_mysql a(fixture->bank()), b(fixture->bank()), c(fixture->bank());
  for (auto* const each : {&a, &b, &c}) {
    each->run("SET SESSION innodb_lock_wait_timeout=1");
    each->run("BEGIN");
  }
  CHECK(a.rows(text(first)).size() == 1);
  CHECK(b.rows(text(second)).size() == 1);
  CHECK(c.rows(text(third)).size() == 1);
  CHECK(a.rows(text(first)).size() == 1);
  // Others come and go meanwhile.
  CHECK(elsewhere([&] { return granted(others.try_acquire("wallet:1", {.ttl = 60s, .mode = shared})); }));
  CHECK(elsewhere([&] { return granted(others.try_acquire("wallet:1", {.ttl = 60s, .mode = one_of(4)})); }));
  CHECK_FALSE(elsewhere([&] { return granted(others.try_acquire("wallet:1", {.ttl = 60s, .mode = one_of(2)})); }));
  CHECK(busy_elsewhere("wallet:1"));
  for (auto* const each : {&a, &b, &c}) each->run("COMMIT");
}

TEST_CASE_METHOD(verify_scene, "mysql verify of a member: nobody waits for a dead session with an open transaction") {
  auto mine = slow.acquire("wallet:1", {.ttl = 1s, .mode = one_of(2)});
  odb::transaction t(begin(*bank));
  mine.verify(t);
  REQUIRE(eventually([&] { return others.holder("wallet:1")->remaining.count() == 0; }));
  // Its member stays, and is no obstacle for whom there is room.
  const auto joins = [&](lock_mode mode) {
    return elsewhere([&] { return granted(others.try_acquire("wallet:1", {.ttl = 5s, .mode = mode})); });
  };
  const auto soon = [&](bool granted_to, lock_mode mode) {
    return undisturbed(500ms, [&] { CHECK(joins(mode) == granted_to); }) < 500ms;
  };
  CHECK(joins(one_of(2)));
  CHECK(soon(true, one_of(2)));
  CHECK(soon(true, shared));
  CHECK(soon(false, one_of(1)));
  CHECK(soon(false, exclusive));
  t.commit();
  CHECK(eventually([&] { return joins(one_of(1)); }));
}

TEST_CASE_METHOD(verify_scene, "mysql verify of a member: a release beside an open transaction waits for nobody long") {
  lock_service quick(fixture->locks(), {.release_limit = 300ms});
  auto mine = quick.acquire("wallet:1", {.ttl = 60s, .mode = shared});
  raw_mysql foreign(fixture->bank());  // of which dlock knows nothing
  foreign.run("BEGIN");
  REQUIRE(foreign.rows(mine.verification().text).size() == 1);
  const auto before = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(mine.release(), store_error);
  CHECK(std::chrono::steady_clock::now() - before < 10s);
  CHECK(busy_elsewhere("wallet:1"));
  foreign.run("COMMIT");
  CHECK_NOTHROW(take_elsewhere("wallet:1"));
}

TEST_CASE_METHOD(verify_scene, "mysql verify of a member: a server that takes no writes verifies nothing", "[T59]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s, .mode = shared});
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  {
    const global_setting replica("read_only", "1");
    CHECK_THROWS_AS(mine.verify(t), lock_lost);
  }
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene,
                 "mysql verify of a member: without autocommit the check itself may begin the transaction") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = shared});
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("SET SESSION autocommit=0");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  CHECK(seen(1) == balance);
  by_hand->execute("COMMIT");
  by_hand->execute("SET SESSION autocommit=1");
  CHECK(seen(1) == 90);
}

TEST_CASE_METHOD(verify_scene, "mysql verify of a member: it is found from any database and in any isolation level") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = shared});
  const auto mode =
      GENERATE(as<std::string>{}, "REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE", "READ UNCOMMITTED");
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("SET SESSION TRANSACTION ISOLATION LEVEL " + mode);
  by_hand->execute("BEGIN");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  by_hand->execute("COMMIT");
  CHECK(seen(1) == 90);
}

}  // namespace dlock::test
