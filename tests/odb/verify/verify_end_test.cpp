// SPDX-License-Identifier: BSL-1.0
// Leases that end inside a transaction of the application's: the key is not free before its outcome.
#include <catch2/generators/catch_generators.hpp>

#include "odb/verify/verify_scene.hpp"
#include "support/undisturbed.hpp"

using namespace std::chrono_literals;

namespace dlock::test {

TEST_CASE_METHOD(verify_scene, "verify: a lease that ends inside the transaction is held until the commit",
                 "[verify][T70]") {
  const bool verified = GENERATE(true, false);
  const auto end = GENERATE(as<std::string>{}, "release", "destructor");
  CAPTURE(verified, end);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const auto fence = mine.fencing_token();
  odb::transaction t(begin(*bank));
  if (verified) mine.verify(t);
  write(*bank, 1, 90, fence);
  if (end == "release") {
    CHECK_NOTHROW(mine.release());
  } else {
    mine = lease();
  }
  CHECK_FALSE(mine);
  CHECK(busy_elsewhere("wallet:1"));
  const auto holder = others.holder("wallet:1");
  REQUIRE(holder);
  CHECK(holder->fence == fence);
  {
    const auto again = locks.acquire("wallet:1", {.ttl = 5s});  // ours still
    CHECK(again.reentered());
    CHECK(again.fencing_token() == fence);
  }
  auto next = std::async(std::launch::async, [&] {
    const auto theirs = others.acquire("wallet:1", {.ttl = 5s, .wait = 20s});
    return std::pair(theirs.fencing_token(), read(*bank, 1).balance);
  });
  t.commit();
  CHECK(next.get() == std::pair<std::uint64_t, std::int64_t>(fence + 1, 90));
}

TEST_CASE_METHOD(verify_scene, "verify: a lease that ends inside a transaction is freed by its rollback as well",
                 "[verify][T70]") {
  const auto ending = GENERATE(as<std::string>{}, "rollback", "destructor");
  CAPTURE(ending);
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  const auto fence = mine.fencing_token();
  {
    odb::transaction t(begin(*bank));
    mine.verify(t);
    write(*bank, 1, 90);
    mine.release();
    if (ending == "rollback") t.rollback();
  }
  const auto theirs = take_elsewhere("wallet:1");
  CHECK(theirs.fencing_token() == fence + 1);
  CHECK(seen(1) == balance);
}

TEST_CASE_METHOD(verify_scene,
                 "verify: a lease of another thread's that ends inside the transaction is held until the commit, too",
                 "[verify][T70]") {
  auto theirs = elsewhere([&] { return locks.acquire("wallet:1", {.ttl = 5s}); });
  const auto fence = theirs.fencing_token();
  odb::transaction t(begin(*bank));
  {
    const auto mine = std::move(theirs);
    mine.verify(t);
    write(*bank, 1, 90);
  }
  CHECK(busy_elsewhere("wallet:1"));
  t.commit();
  CHECK(take_elsewhere("wallet:1").fencing_token() == fence + 1);
}

TEST_CASE_METHOD(verify_scene, "verify: inside the transaction a renewal by hand says at once that it can't be",
                 "[verify][T19]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 30s, .renewal = renewal::manual});
  odb::transaction t(begin(*bank));
  mine.verify(t);
  const auto refused = [&] { CHECK_THROWS_AS(mine.renew(), std::logic_error); };
  CHECK(undisturbed(500ms, refused) < 500ms);  // it would wait for a second
  write(*bank, 1, 90);
  t.commit();
  CHECK_NOTHROW(mine.renew());
}

TEST_CASE_METHOD(verify_scene, "verify: what it holds back is freed when verifying another lease fails",
                 "[verify][T70]") {
  auto good = locks.acquire("wallet:1", {.ttl = 60s});
  auto bad = overslept("wallet:2");
  REQUIRE(expired("wallet:2"));
  const auto theirs = take_elsewhere("wallet:2");
  odb::transaction t(begin(*bank));
  good.verify(t);
  good.release();
  CHECK_THROWS_AS(bad.verify(t), lock_lost);
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);
}

TEST_CASE_METHOD(verify_scene,
                 "verify: a lock that is taken inside a transaction sends nothing on the transaction's connection",
                 "[verify]") {
  // What the caller's connection is in the middle of would be lost: here the rest of an uncached result.
  odb::transaction t(bank->begin());
  int found = 0;
  const auto found_all = wallets_one_by_one(*bank, [&] {
    if (++found != 1) return;
    const auto mine = locks.acquire("wallet:1", {.ttl = 5s});
    CHECK(observer->count(event::kind::in_transaction) == 1);
  });
  CHECK(found_all == 4);
  t.commit();
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);  // it was released with the transaction's outcome
}

TEST_CASE_METHOD(verify_scene, "verify: a lock that is taken inside an open transaction is warned about", "[verify]") {
  // On SQLite a transaction that writes would make the acquire wait for itself; one that reads is warned about.
  odb::transaction t(bank->begin());
  static_cast<void>(load(*bank, 1));
  CHECK(observer->count(event::kind::in_transaction) == 0);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  CHECK(observer->count(event::kind::in_transaction) == 1);
  auto again = locks.acquire("wallet:1", {.ttl = 5s});
  CHECK(observer->count(event::kind::in_transaction) == 1);  // re-entry changes nothing
  t.commit();
  auto outside = locks.acquire("wallet:2", {.ttl = 5s});
  CHECK(observer->count(event::kind::in_transaction) == 1);
}

}  // namespace dlock::test
