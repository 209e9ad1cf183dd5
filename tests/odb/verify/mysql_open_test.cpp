// SPDX-License-Identifier: BSL-1.0
// Which transactions count as open, where there are several ways to begin and to end one.
#include <dlock/detail/odb_compat.hpp>
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <odb/mysql/connection.hxx>

#include "odb/verify/verify_scene.hpp"

using namespace std::chrono_literals;

namespace dlock::test {

TEST_CASE_METHOD(verify_scene, "mysql verify: a transaction that DDL has ended is refused as a mistake",
                 "[verify][mysql]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  const bool verified_before = GENERATE(false, true);
  CAPTURE(verified_before);
  if (verified_before) mine.verify(t);
  bank->execute("CREATE TABLE IF NOT EXISTS verify_ended (id INT)");
  CHECK_THROWS_AS(mine.verify(t), std::logic_error);
  CHECK(t.finalized());
  CHECK_THROWS_AS(write(*bank, 1, 666), odb::not_in_transaction);
  bank->connection()->execute("DROP TABLE verify_ended");
  CHECK_NOTHROW(mine.release());
}

TEST_CASE_METHOD(verify_scene, "mysql verify: without autocommit the check itself may begin the transaction",
                 "[verify][mysql]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("SET SESSION autocommit=0");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  CHECK(seen(1) == balance);
  by_hand->execute("COMMIT");
  CHECK(seen(1) == 90);
  by_hand->execute("SET SESSION autocommit=1");
  CHECK_THROWS_AS(verify(*by_hand, mine), std::logic_error);
}

TEST_CASE_METHOD(verify_scene, "mysql verify: an XA transaction is open until its end", "[verify][mysql]") {
  auto mine = overslept("wallet:1");
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("XA START 'dlock'");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  by_hand->execute("XA END 'dlock'");
  REQUIRE(expired("wallet:1"));
  by_hand->execute("XA PREPARE 'dlock'");
  CHECK(busy_elsewhere("wallet:1"));  // prepared, it still keeps the others away
  by_hand->execute("XA COMMIT 'dlock'");
  CHECK(seen(1) == 90);
  CHECK_THROWS_AS(verify(*by_hand, mine), std::logic_error);
}

TEST_CASE_METHOD(verify_scene, "mysql verify: an XA transaction whose check fails can't be committed either",
                 "[verify][mysql]") {
  auto bad = overslept("wallet:2");
  REQUIRE(expired("wallet:2"));
  const auto theirs = take_elsewhere("wallet:2");
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute("XA START 'dlock_bad'");
  by_hand->execute("UPDATE verify_wallet SET balance = 666 WHERE id = 2");
  CHECK_THROWS_AS(verify(*by_hand, bad), lock_lost);
  // It knows no ROLLBACK in this state: its connection was ended instead.
  CHECK_THROWS_AS(by_hand->execute("XA END 'dlock_bad'"), odb::exception);
  CHECK(eventually([&] {
    odb::transaction t(begin(*bank));
    write(*bank, 2, 77);  // nobody has the row locked any more
    t.commit();
    return seen(2) == 77;
  }));
}

namespace {

/// Statements that the server has had on this connection, this question not counted.
long statements_on(odb::connection& connection) {
  auto* const handle = static_cast<odb::mysql::connection&>(connection).handle();
  REQUIRE(mysql_query(handle, "SHOW SESSION STATUS LIKE 'Questions'") == 0);
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(handle), mysql_free_result);
  return std::atol(mysql_fetch_row(result.get())[1]) - 1;
}

}  // namespace

TEST_CASE_METHOD(verify_scene, "mysql verify: costs one statement for a lease, be it of a key or of a row",
                 "[verify][mysql]") {
  auto key = locks.acquire("wallet:1", {.ttl = 60s});
  auto row = locks.acquire(wallet_key(locks, *bank, 2), {.ttl = 60s});
  odb::transaction t(begin(*bank));
  auto before = statements_on(t.connection());
  const auto sent = [&] {
    const auto now = statements_on(t.connection());
    return now - std::exchange(before, now) - 1;  // and the question before
  };
  REQUIRE(sent() == 0);
  key.verify(t);
  CHECK(sent() == 1);
  row.verify(t);
  CHECK(sent() == 1);
  verify(t, key, row);
  CHECK(sent() == 2);
}

}  // namespace dlock::test
