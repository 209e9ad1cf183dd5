// SPDX-License-Identifier: BSL-1.0
// A check proves something only inside a transaction that is still open.
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "odb/verify/verify_scene.hpp"

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace dlock::test {

TEST_CASE_METHOD(verify_scene, "verify: on a connection where no transaction was begun it is refused as a mistake",
                 "[verify]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const odb::connection_ptr plain = bank->connection();
  CHECK_THROWS_AS(verify(*plain, mine), std::logic_error);
  CHECK_THROWS_WITH(verify(*plain, mine), ContainsSubstring("wallet:1") && ContainsSubstring("no transaction is open"));
  CHECK_NOTHROW(mine.ensure_held());
  // The connection is as it was: a transaction can be begun on it, and verified.
  plain->execute(is_sqlite(*bank) ? "BEGIN IMMEDIATE" : "BEGIN");
  CHECK_NOTHROW(verify(*plain, mine));
  plain->execute("COMMIT");
  CHECK_THROWS_AS(verify(*plain, mine), std::logic_error);
}

TEST_CASE_METHOD(verify_scene, "verify: a transaction that was ended behind ODB's back is refused as a mistake",
                 "[verify]") {
  const auto end = GENERATE(as<std::string>{}, "COMMIT", "ROLLBACK");
  CAPTURE(end);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  write(*bank, 1, 90);
  bank->execute(end);
  CHECK_THROWS_AS(mine.verify(t), std::logic_error);
  CHECK(t.finalized());
  CHECK_THROWS_AS(write(*bank, 1, 666), odb::not_in_transaction);
  CHECK(seen(1) == (end == "COMMIT" ? 90 : balance));
  CHECK_NOTHROW(mine.release());
}

TEST_CASE_METHOD(verify_scene, "verify: a row locked in place is refused where no transaction is open, as a key is",
                 "[verify][rows]") {
  auto mine = locks.acquire(wallet_key(locks, *bank, 2), {.ttl = 5s});
  const odb::connection_ptr plain = bank->connection();
  CHECK_THROWS_AS(verify(*plain, mine), std::logic_error);
  CHECK_NOTHROW(mine.release());
}

TEST_CASE_METHOD(verify_scene,
                 "verify: a lease that ends in a verified transaction that is not the current one is held",
                 "[verify][T70]") {
  // No other transaction tells the lease to wait: only the check itself did.
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  const auto fence = mine.fencing_token();
  odb::transaction t(begin(*bank));
  odb::transaction::reset_current();
  verify(t, mine);
  mine.release();
  CHECK(busy_elsewhere("wallet:1"));
  t.commit();
  CHECK(take_elsewhere("wallet:1").fencing_token() == fence + 1);
}

TEST_CASE_METHOD(verify_scene,
                 "verify: a lease that another thread ends is held until the transaction that verified it ends",
                 "[verify][T70]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  odb::transaction t(begin(*bank));
  mine.verify(t);
  elsewhere([&] { mine.release(); });
  CHECK(busy_elsewhere("wallet:1"));
  t.rollback();
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);
}

TEST_CASE_METHOD(verify_scene, "verify: an older grant of the same session proves nothing", "[verify]") {
  // The fence must be equal: with ">=" or "<=" one of these two would pass.
  std::string older;
  {
    auto first = locks.acquire("wallet:1", {.ttl = 5s});
    older = first.verification().text;
  }
  auto second = locks.acquire("wallet:1", {.ttl = 5s});
  const auto newer = second.verification().text;
  REQUIRE(second.fencing_token() == 2);
  odb::transaction t(begin(*bank));
  CHECK(bank->execute(older) == 0);
  CHECK(bank->execute(newer) == 1);
  t.rollback();
  second.release();
  auto third = others.acquire("wallet:1", {.ttl = 5s, .wait = 20s});
  odb::transaction again(begin(*bank));
  CHECK(bank->execute(newer) == 0);
}

}  // namespace dlock::test
