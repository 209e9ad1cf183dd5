// SPDX-License-Identifier: BSL-1.0

// Leases that are proved inside transactions of the application's, on every store that can.

#include <catch2/matchers/catch_matchers.hpp>
#include <odb/database.hxx>  // first: what dlock::odb brings makes ODB's headers compile in any order
#include <odb/exception.hxx>
#include <odb/transaction.hxx>

#include "dlock/fenced.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/detail/annotated.hpp"
#include "dlock/odb/lock_row.hpp"
#include "odb/verify/verify_scene.hpp"
#include "wallet-odb.hxx"

namespace dlock::test {

TEST_CASE_METHOD(verify_scene, "verify: a match lets the transaction commit and the lease go on") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const auto fence = mine.fencing_token();
  {
    odb::transaction t(begin(*bank));
    mine.verify(t);
    write(*bank, 1, 90, fence);
    t.commit();
  }
  CHECK(seen(1) == 90);
  {
    odb::transaction t(begin(*bank));
    verify(t, mine);
    write(*bank, 1, 80, fence);
    t.commit();
  }
  CHECK(seen(1) == 80);
  CHECK_NOTHROW(mine.ensure_held());
  CHECK_NOTHROW(mine.release());
  CHECK(take_elsewhere("wallet:1").fencing_token() == fence + 1);
}

TEST_CASE_METHOD(verify_scene, "verify: until the commit nobody is granted the key, though the lease has run out",
                 "[T71]") {
  auto mine = overslept("wallet:1");
  odb::transaction t(begin(*bank));
  mine.verify(t);
  write(*bank, 1, 90, mine.fencing_token());
  REQUIRE(expired("wallet:1"));
  CHECK(busy_elsewhere("wallet:1"));

  auto next = std::async(std::launch::async, [&] {
    auto theirs = others.acquire("wallet:1", {.ttl = 5s, .wait = 20s});
    return std::pair(theirs.fencing_token(), read(*bank, 1).balance);
  });
  CHECK(next.wait_for(700ms) == std::future_status::timeout);
  t.commit();
  const auto [fence, read_then] = next.get();
  CHECK(fence == mine.fencing_token() + 1);
  CHECK(read_then == 90);
}

TEST_CASE_METHOD(verify_scene, "verify: a rollback lets the next one in, who sees nothing of it", "[T71]") {
  auto mine = overslept("wallet:1");
  odb::transaction t(begin(*bank));
  mine.verify(t);
  write(*bank, 1, 90);
  REQUIRE(expired("wallet:1"));
  t.rollback();
  const auto theirs = take_elsewhere("wallet:1");
  CHECK(theirs.fencing_token() == mine.fencing_token() + 1);
  CHECK(seen(1) == balance);
}

TEST_CASE_METHOD(verify_scene, "verify: after a take-over it throws, and nothing of the transaction can be committed",
                 "[T24][T71]") {
  auto mine = overslept("wallet:1");
  REQUIRE(expired("wallet:1"));
  auto theirs = take_elsewhere("wallet:1");
  if (GENERATE(false, true)) theirs.release();  // that nobody holds it now does not make it ours

  CHECK_NOTHROW(mine.ensure_held());  // no clock of ours tells
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  const auto lost = caught<lock_lost>([&] { mine.verify(t); });
  CHECK(lost.reason() == loss_reason::taken_over);
  CHECK_THAT(lost.what(), ContainsSubstring("wallet:1") && ContainsSubstring("rolled back"));
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene, "verify: a lease that was forced and taken over is refused") {
  // Kept by a session whose renewals never come, because that service's clock stands still.
  auto mine = slow.acquire("wallet:1", {.ttl = 1s});
  REQUIRE(others.force_release("wallet:1"));
  {
    // As long as nobody else was granted it, it is ours.
    odb::transaction t(begin(*bank));
    CHECK_NOTHROW(mine.verify(t));
    write(*bank, 1, 90);
    t.commit();
  }
  const auto theirs = take_elsewhere("wallet:1");
  CHECK(theirs.fencing_token() == mine.fencing_token() + 1);
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_AS(mine.verify(t), lock_lost);
  must_be_over(*this, t, 2);
  CHECK(seen(1) == 90);
}

TEST_CASE_METHOD(verify_scene, "verify: each lease of a key that lingers matches, and a gate passes its token",
                 "[T71]") {
  constexpr lock_options keeps{.ttl = 5s, .linger = 5s};
  fence_gate gate;
  std::uint64_t last = 0, passed = 0;
  // More than the first range of tokens.
  for (std::int64_t i = 1; i != 41; ++i) {
    auto mine = locks.acquire("wallet:1", keeps);
    CHECK(mine.fencing_token() > last);
    last = mine.fencing_token();
    odb::transaction t(begin(*bank));
    mine.verify(t);
    write(*bank, 1, balance - i, last);
    t.commit();
    gate.require("wallet:1", last, [&] { passed = last; });
    mine.release();
  }
  CHECK(seen(1) == balance - 40);
  CHECK(passed == last);
  CHECK(others.holder("wallet:1").value_or(holder_info{}).lingers);
  const auto theirs = take_elsewhere("wallet:1");
  CHECK(theirs.fencing_token() > last);
  gate.require("wallet:1", theirs.fencing_token(), [&] { passed = theirs.fencing_token(); });
  CHECK_THROWS_AS(gate.require("wallet:1", last, [&] { passed = 0; }), stale_fence);
  CHECK(passed == theirs.fencing_token());
}

TEST_CASE_METHOD(verify_scene, "verify: a lease of a key that lingers is refused once another process has the key") {
  constexpr lock_options keeps{.ttl = 1s, .linger = 1s};
  slow.acquire("wallet:1", keeps).release();
  auto mine = slow.acquire("wallet:1", keeps);  // of the tokens that this process has reserved
  REQUIRE(others.force_release("wallet:1"));
  const auto theirs = take_elsewhere("wallet:1");
  CHECK(theirs.fencing_token() > mine.fencing_token());
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_AS(mine.verify(t), lock_lost);
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene, "verify: a lease that its own clock calls lost is refused without asking") {
  auto mine = locks.acquire("wallet:1", {.ttl = 100ms, .renewal = renewal::none});
  REQUIRE(eventually([&] { return mine.remaining() == 0us; }));
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_AS(mine.verify(t), lock_lost);
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene, "verify: of several leases one that is lost is enough to refuse") {
  auto good = locks.acquire("wallet:1", {.ttl = 5s});
  auto bad = overslept("wallet:2");
  REQUIRE(expired("wallet:2"));
  const auto theirs = take_elsewhere("wallet:2");
  odb::transaction t(begin(*bank));
  write(*bank, 1, 666);
  CHECK_THROWS_AS(verify(t, good, bad), lock_lost);
  must_be_over(*this, t, 1);
  CHECK_NOTHROW(good.ensure_held());
  CHECK_NOTHROW(good.release());  // not held back by a transaction that is over
  CHECK_FALSE(others.holder("wallet:1"));
}

TEST_CASE_METHOD(verify_scene, "verify: a lease may be verified twice in a transaction, and twice in one call",
                 "[T77]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  auto again = locks.acquire("wallet:1", {.ttl = 5s});
  REQUIRE(again.reentered());
  {
    odb::transaction t(begin(*bank));
    mine.verify(t);
    again.verify(t);
    verify(t, mine, again, mine);
    write(*bank, 1, 90);
    t.commit();
  }
  CHECK(seen(1) == 90);
  again.release();
  CHECK_NOTHROW(mine.release());
  CHECK_FALSE(others.holder("wallet:1"));
}

TEST_CASE_METHOD(verify_scene, "verify: a range of leases will do") {
  std::vector<lease> mine;
  for (const auto* const key : {"wallet:3", "wallet:1", "wallet:2"}) mine.push_back(locks.acquire(key, {.ttl = 5s}));
  {
    odb::transaction t(begin(*bank));
    verify(t, mine);
    write(*bank, 3, 90);
    t.commit();
  }
  CHECK(seen(3) == 90);
}

TEST_CASE_METHOD(verify_scene, "verify: leases in any order by many threads never deadlock", "[T71]") {
  constexpr int threads = 16;
  constexpr int rounds = 15;
  std::array<lease, 4> mine;
  for (std::size_t i = 0; i != mine.size(); ++i) {
    mine[i] = locks.acquire(fmt::format("wallet:{}", i + 1), {.ttl = 60s});
  }
  std::vector<std::future<void>> all;
  for (unsigned seed = 0; seed != threads; ++seed) {
    all.push_back(std::async(std::launch::async, [&, seed] {
      std::mt19937 random(seed);
      std::array<std::size_t, 4> order{0, 1, 2, 3};
      for (int round = 0; round != rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        odb::transaction t(begin(*bank));
        if (round % 2 == 0) {
          verify(t, mine[order[0]], mine[order[1]], mine[order[2]]);
        } else {
          verify(t, mine[order[0]], mine[order[1]]);
        }
        // The locks that it has verified keep the others away from these two.
        for (const auto at : {order[0], order[1]}) write(*bank, at + 1, load(*bank, at + 1).balance + 1);
        t.commit();
      }
    }));
  }
  for (auto& each : all) CHECK_NOTHROW(each.get());
  std::int64_t total = 0;
  for (const auto& each : all_wallets(*bank)) total += each.balance;
  CHECK(total == 4 * balance + 2 * threads * rounds);
}

TEST_CASE_METHOD(verify_scene, "verify: against a take-over at the same time exactly one of the two goes first",
                 "[T71]") {
  // Either the old holder's commit comes before the grant, or it does not come at all.
  std::mt19937 random(std::random_device{}());
  int refused = 0;
  for (int round = 0; round != 12; ++round) {
    auto mine = overslept("wallet:1");
    const auto late = std::chrono::microseconds{95'000 + random() % 15'000};
    auto next = std::async(std::launch::async, [&] {
      auto theirs = others.acquire("wallet:1", {.ttl = 5s, .wait = 20s, .retry = {.pause = 1ms, .max_pause = 2ms}});
      odb::transaction t(begin(*bank));
      theirs.verify(t);
      const auto before = load(*bank, 1);
      write(*bank, 1, before.balance, theirs.fencing_token());
      t.commit();
      return before.fence;
    });
    std::this_thread::sleep_for(late);  // chance is meant: verify() and take-over meet now
    bool done = false;
    try {
      odb::transaction t(begin(*bank));
      mine.verify(t);
      write(*bank, 1, balance + round, mine.fencing_token());
      t.commit();
      done = true;
    } catch (const lock_lost&) {
      ++refused;
    }
    const auto fence_seen = next.get();
    const auto now = read(*bank, 1);
    CAPTURE(round, late.count());
    CHECK(now.fence == mine.fencing_token() + 1);  // the newer fence is always the last
    if (done) {
      CHECK(fence_seen == mine.fencing_token());
      CHECK(now.balance == balance + round);
    } else {
      CHECK(fence_seen < mine.fencing_token());
    }
  }
  INFO(refused << " of 12 refused");
  SUCCEED();
}

// ---- connections, and what can't be verified ----------------------------------------------------------------------

TEST_CASE_METHOD(verify_scene, "verify: on a connection with a transaction begun by hand") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  auto bad = overslept("wallet:2");
  REQUIRE(expired("wallet:2"));
  const auto theirs = take_elsewhere("wallet:2");
  const odb::connection_ptr by_hand = bank->connection();
  const char* const begin_it = is_sqlite(*bank) ? "BEGIN IMMEDIATE" : "BEGIN";

  by_hand->execute(begin_it);
  verify(*by_hand, mine);
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  CHECK(seen(1) == balance);
  by_hand->execute("COMMIT");
  CHECK(seen(1) == 90);

  by_hand->execute(begin_it);
  by_hand->execute("UPDATE verify_wallet SET balance = 666 WHERE id = 2");
  CHECK_THROWS_AS(verify(*by_hand, mine, bad), lock_lost);
  CHECK(seen(2) == balance);
  // No transaction is open any more: another one can begin.
  CHECK_NOTHROW(by_hand->execute(begin_it));
  by_hand->execute("ROLLBACK");
  CHECK(seen(2) == balance);
}

TEST_CASE_METHOD(verify_scene, "verify: on the connection of ODB's current transaction it is verified in that") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  auto bad = overslept("wallet:2");
  REQUIRE(expired("wallet:2"));
  const auto theirs = take_elsewhere("wallet:2");
  {
    odb::transaction t(begin(*bank));
    verify(t.connection(), mine);
    mine.release();
    CHECK(busy_elsewhere("wallet:1"));  // held back, as for the transaction itself
    t.commit();
  }
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_AS(verify(t.connection(), bad), lock_lost);
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene, "verify: an empty lease is a mistake, and rolls back like any other failure") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const lease nothing;
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_AS(verify(t, mine, nothing), std::logic_error);
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene, "verify: an empty multi_lease is a mistake, too") {
  const auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  auto others_first = others.try_acquire_all({"wallet:1", "wallet:2"});
  REQUIRE_FALSE(others_first);
  odb::transaction t(begin(*bank));
  write(*bank, 1, 666);
  CHECK_THROWS_AS(others_first.verify(t), std::logic_error);
  must_be_over(*this, t, 1);
}

TEST_CASE_METHOD(verify_scene, "verify: a transaction that has ended is a mistake") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  t.commit();
  CHECK_THROWS_AS(mine.verify(t), std::logic_error);
}

TEST_CASE_METHOD(verify_scene, "verify: locks in memory can't be verified, and it says where they are") {
  lock_service memory("memory:");
  auto mine = memory.acquire("wallet:1");
  CHECK_THROWS_AS(mine.verification(), std::logic_error);
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_WITH(mine.verify(t), ContainsSubstring("memory:"));
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene,
                 "verify: a lease can say its check as text and as parameters for other client libraries") {
  auto mine = overslept("wallet:1");
  const auto check = mine.verification();
  CHECK(check.expected_rows == 1);
  CHECK(static_cast<std::size_t>(std::count(check.sql.begin(), check.sql.end(), '?')) == check.parameters.size());
  {
    odb::transaction t(begin(*bank));
    CHECK(bank->execute(check.text) == 1);
    CHECK(bank->execute(check.text) == 1);
    t.commit();
  }
  REQUIRE(expired("wallet:1"));
  const auto theirs = take_elsewhere("wallet:1");
  odb::transaction t(begin(*bank));
  CHECK(bank->execute(check.text) == 0);
}

// ---- for how long -------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(verify_scene, "verify: an attempt at a key whose verified transaction is open is answered soon") {
  auto mine = overslept("wallet:1");
  auto kept = locks.acquire("wallet:2", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  verify(t, mine, kept);
  REQUIRE(expired("wallet:1"));
  const auto within = [&](std::chrono::milliseconds limit, const char* key) {
    return undisturbed(limit, [&] { CHECK(busy_elsewhere(key)); }) < limit;
  };
  CHECK(within(500ms, "wallet:2"));
  // Who could be granted it, but for that transaction: where it locks the whole file, that is waited for.
  CHECK(within(fixture->locks_rows() ? 500ms : 2500ms, "wallet:1"));
  t.commit();
}

// A check proves something only inside a transaction that is still open.

TEST_CASE_METHOD(verify_scene, "verify: on a connection where no transaction was begun it is refused as a mistake") {
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

TEST_CASE_METHOD(verify_scene, "verify: a transaction that was ended behind ODB's back is refused as a mistake") {
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

TEST_CASE_METHOD(verify_scene, "verify: a row locked in place is refused where no transaction is open, as a key is") {
  auto mine = locks.acquire(wallet_key(locks, *bank, 2), {.ttl = 5s});
  const odb::connection_ptr plain = bank->connection();
  CHECK_THROWS_AS(verify(*plain, mine), std::logic_error);
  CHECK_NOTHROW(mine.release());
}

TEST_CASE_METHOD(verify_scene,
                 "verify: a lease that ends in a verified transaction that is not the current one is held", "[T70]") {
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
                 "[T70]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  odb::transaction t(begin(*bank));
  mine.verify(t);
  elsewhere([&] { mine.release(); });
  CHECK(busy_elsewhere("wallet:1"));
  t.rollback();
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);
}

// Leases that end inside a transaction of the application's: the key is not free before its outcome.

TEST_CASE_METHOD(verify_scene, "verify: a lease that ends inside the transaction is held until the commit", "[T70]") {
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
                 "[T70]") {
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
                 "[T70]") {
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
                 "[T19]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 30s, .renewal = renewal::manual});
  odb::transaction t(begin(*bank));
  mine.verify(t);
  const auto refused = [&] { CHECK_THROWS_AS(mine.renew(), std::logic_error); };
  CHECK(undisturbed(500ms, refused) < 500ms);  // it would wait for a second
  write(*bank, 1, 90);
  t.commit();
  CHECK_NOTHROW(mine.renew());
}

TEST_CASE_METHOD(verify_scene, "verify: what it holds back is freed when verifying another lease fails", "[T70]") {
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
                 "verify: a lock that is taken inside a transaction sends nothing on the transaction's connection") {
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

TEST_CASE_METHOD(verify_scene, "verify: a lock that is taken inside an open transaction is warned about") {
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

namespace {

/// A transaction that has read, before another holder has written.
struct older_view : verify_scene {
  odb::transaction t{bank->begin()};
  older_view() {
    static_cast<void>(load(*bank, 1));
    write_elsewhere(balance - 3);
  }
  /// SQLite refuses that transaction's first write.
  template <class F>
  void refused(F call) {
    if (is_sqlite(*bank)) {
      CHECK_THROWS_AS(call(), store_error);
    } else {
      CHECK_THROWS_MATCHES(call(), std::logic_error,
                           MessageMatches(ContainsSubstring("'wallet:1'") && ContainsSubstring("take the lock first")));
    }
    must_be_over(*this, t, 2);
    CHECK(seen(1) == balance - 3);
  }
};

}  // namespace

TEST_CASE_METHOD(older_view, "verify: a transaction that does not see what the holder before wrote is refused") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  refused([&] { mine.verify(t); });
}

TEST_CASE_METHOD(older_view, "verify: an annotated function is not called in a transaction with an older view") {
  bool called = false;
  refused([&] { detail::call_verified(locks.acquire("wallet:1", {.ttl = 5s}), *bank, [&] { called = true; }); });
  CHECK_FALSE(called);
}

TEST_CASE_METHOD(verify_scene, "verify: a lease that was acquired in a transaction which had not read is as good") {
  odb::transaction t(bank->begin());
  write_elsewhere(97);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  mine.verify(t);
  CHECK(load(*bank, 1).balance == 97);
  mine.verify(t);
  t.commit();
}

TEST_CASE_METHOD(verify_scene, "verify: a lease from one transaction is verified in the next, also at its address") {
  std::optional<odb::transaction> t;
  t.emplace(bank->begin());
  static_cast<void>(load(*bank, 1));
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  t->commit();
  t->reset(bank->begin());
  static_cast<void>(load(*bank, 2));
  CHECK_NOTHROW(mine.verify(*t));
  t->commit();
}

TEST_CASE_METHOD(verify_scene, "verify: a row that was loaded under its lock is written in an older transaction too") {
  odb::transaction t(bank->begin());
  if (fixture->locks_rows()) static_cast<void>(load(*bank, 1));
  auto row = lock_row<wallet>(locks, *bank, 2, {.ttl = 5s});
  row->balance = 7;
  CHECK_NOTHROW(row.update(t));  // its version guards the write
  if (!t.finalized()) t.commit();
  CHECK(seen(2) == 7);
}

TEST_CASE_METHOD(verify_scene, "verify: the lease of a row is refused in an older transaction, as that of a key") {
  odb::transaction t(bank->begin());
  static_cast<void>(load(*bank, 1));
  auto row = lock_row<wallet>(locks, *bank, 2, {.ttl = 5s});
  if (is_sqlite(*bank)) {
    CHECK_THROWS_AS(row.held().verify(t), store_error);
  } else {
    CHECK_THROWS_AS(row.held().verify(t), std::logic_error);
  }
  CHECK(t.finalized());
}

// The application's database, from the URL of its locks.

TEST_CASE_METHOD(verify_scene, "database: from the locks' URL it is the place where they can be verified") {
  const auto db = open_database(fixture->locks());
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t{begin_write(*db)};
  CHECK_NOTHROW(mine.verify(t));
  mine.release();
  CHECK(busy_elsewhere("wallet:1"));
  t.commit();
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);
}

TEST_CASE_METHOD(verify_scene, "database: a transaction that is begun for writing is not refused for having read") {
  const auto db = open_database(fixture->bank());
  odb::transaction t{begin_write(*db)};
  const auto before = load(*db, 1).balance;
  auto other = std::async(std::launch::async, [&] {  // waits, where there is one writer at a time
    odb::transaction theirs{begin_write(*db)};
    write(*db, 2, 50);
    theirs.commit();
  });
  if (fixture->locks_rows()) other.wait();
  CHECK_NOTHROW(write(*db, 1, before - 10));
  t.commit();
  other.get();
  CHECK(seen(1) == balance - 10);
  CHECK(seen(2) == 50);
}

TEST_CASE_METHOD(verify_scene, "database: any ODB database can begin a transaction for writing") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t{begin_write(*bank)};
  static_cast<void>(load(*bank, 1));
  mine.verify(t);
  t.commit();
}

TEST_CASE("database: what is no database, or no URL, is refused at the call") {
  CHECK_THROWS_AS(open_database("memory:"), std::invalid_argument);
  CHECK_THROWS_AS(open_database("sqlite:x.db?colour=red"), std::invalid_argument);
  CHECK_THROWS_AS(open_database("nothing"), std::invalid_argument);
}

}  // namespace dlock::test
