// SPDX-License-Identifier: BSL-1.0

// Leases of readers and of permits that are verified inside transactions of the application, on every store that can.

#include <catch2/matchers/catch_matchers.hpp>
#include <odb/exception.hxx>
#include <odb/transaction.hxx>

#include "dlock/async.hpp"
#include "dlock/macros.hpp"
#include "dlock/odb/detail/annotated.hpp"
#include "dlock/with_lock.hpp"
#include "odb/verify/verify_scene.hpp"

namespace dlock::test {

namespace {

struct shared_scene : verify_scene {
  /// A lease of `slow`, which thinks that it holds it for ever, while its session ends after a second.
  lease overslept_member(lock_mode mode) { return slow.acquire("wallet:1", {.ttl = 1s, .mode = mode}); }
  /// Waits until the server does not trust the only member of the key any more.
  bool dead() {
    return eventually([&] {
      const auto now = others.holder("wallet:1");
      return !now || now->remaining.count() == 0;
    });
  }
  bool joins_elsewhere(lock_mode mode) {
    return elsewhere([&] { return granted(others.try_acquire("wallet:1", {.ttl = 5s, .mode = mode})); });
  }
};

}  // namespace

TEST_CASE_METHOD(shared_scene, "verify of a member: a match lets the transaction commit and the lease go on") {
  const auto mode = GENERATE(shared, one_of(2), one_of(5, 3));
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = mode});
  for (const int money : {90, 80}) {
    odb::transaction t(begin(*bank));
    mine.verify(t);
    verify(t, mine, mine);
    write(*bank, 1, money);
    t.commit();
    CHECK(seen(1) == money);
  }
  CHECK_NOTHROW(mine.ensure_held());
  CHECK_NOTHROW(mine.release());
  CHECK_FALSE(others.holder("wallet:1"));
}

TEST_CASE_METHOD(shared_scene,
                 "verify of a member: until the commit no writer is granted the key, though the session is dead",
                 "[T71]") {
  const auto mode = GENERATE(shared, one_of(2));
  auto mine = overslept_member(mode);
  odb::transaction t(begin(*bank));
  mine.verify(t);
  write(*bank, 1, 90);
  REQUIRE(dead());
  CHECK(busy_elsewhere("wallet:1"));
  auto next = std::async(std::launch::async, [&] {
    const auto theirs = others.acquire("wallet:1", {.ttl = 5s, .wait = 20s});
    return read(*bank, 1).balance;
  });
  CHECK(next.wait_for(700ms) == std::future_status::timeout);
  t.commit();
  CHECK(next.get() == 90);
  CHECK_THROWS_AS(mine.release(), lock_lost);
}

TEST_CASE_METHOD(shared_scene, "verify of a member: until the commit its permit is taken, though the session is dead",
                 "[T71]") {
  auto mine = overslept_member(one_of(1));
  odb::transaction t(begin(*bank));
  mine.verify(t);
  write(*bank, 1, 90);
  REQUIRE(dead());
  CHECK_FALSE(joins_elsewhere(one_of(1)));
  t.commit();
  CHECK(eventually([&] { return joins_elsewhere(one_of(1)); }));
}

TEST_CASE_METHOD(shared_scene, "verify of a member: a rollback lets the writer in, who sees nothing of it", "[T71]") {
  auto mine = overslept_member(shared);
  odb::transaction t(begin(*bank));
  mine.verify(t);
  write(*bank, 1, 90);
  REQUIRE(dead());
  t.rollback();
  const auto theirs = take_elsewhere("wallet:1");
  CHECK(theirs.fencing_token() == mine.fencing_token() + 1);
  CHECK(seen(1) == balance);
}

TEST_CASE_METHOD(shared_scene,
                 "verify of a member: after it was removed it throws, and nothing of the transaction can be committed",
                 "[T24][T71]") {
  // A writer removes a dead reader, and one who needs its permit the holder of that.
  const bool by_writer = GENERATE(true, false), gone = GENERATE(true, false);
  CAPTURE(by_writer, gone);
  auto mine = overslept_member(by_writer ? shared : one_of(1));
  REQUIRE(dead());
  auto theirs = elsewhere(
      [&] { return others.acquire("wallet:1", {.ttl = 5s, .wait = 20s, .mode = by_writer ? exclusive : one_of(1)}); });
  if (gone) theirs.release();

  CHECK_NOTHROW(mine.ensure_held());  // no clock of ours tells
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  const auto lost = caught<lock_lost>([&] { mine.verify(t); });
  CHECK(lost.reason() == loss_reason::taken_over);
  CHECK_THAT(lost.what(), ContainsSubstring("wallet:1") && ContainsSubstring("share the key any more; rolled back"));
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(shared_scene, "verify of a member: one that was revoked is ours until another holder comes") {
  auto mine = overslept_member(shared);
  REQUIRE(others.force_release("wallet:1"));
  odb::transaction t(begin(*bank));
  CHECK_NOTHROW(mine.verify(t));
  write(*bank, 1, 90);
  REQUIRE(dead());
  CHECK(busy_elsewhere("wallet:1"));
  t.commit();
  const auto theirs = take_elsewhere("wallet:1");
  odb::transaction late(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_AS(mine.verify(late), lock_lost);
  must_be_over(*this, late, 2);
  CHECK(seen(1) == 90);
}

TEST_CASE_METHOD(shared_scene, "verify of a member: a lease that ends inside the transaction is held until the commit",
                 "[T70]") {
  const auto mode = GENERATE(shared, one_of(2));
  const bool verified = GENERATE(true, false);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = mode});
  odb::transaction t(begin(*bank));
  if (verified) mine.verify(t);
  write(*bank, 1, 90);
  CHECK_NOTHROW(mine.release());
  CHECK(busy_elsewhere("wallet:1"));
  CHECK(locks.acquire("wallet:1", {.ttl = 5s, .mode = mode}).reentered());
  auto next = std::async(std::launch::async, [&] {
    const auto theirs = others.acquire("wallet:1", {.ttl = 5s, .wait = 20s});
    return read(*bank, 1).balance;
  });
  t.commit();
  CHECK(next.get() == 90);
}

TEST_CASE_METHOD(shared_scene,
                 "verify of a member: of readers who share a row the one with the open transaction keeps it") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = shared});
  auto second = elsewhere([&] { return locks.acquire("wallet:1", {.ttl = 5s, .mode = shared}); });
  odb::transaction t(begin(*bank));
  mine.verify(t);
  mine.release();
  second.release();
  write(*bank, 1, 90);
  CHECK(busy_elsewhere("wallet:1"));
  t.commit();
  CHECK_NOTHROW(take_elsewhere("wallet:1"));
}

TEST_CASE_METHOD(shared_scene, "verify of a member: a lease can say its check as text and as parameters") {
  const auto mode = GENERATE(shared, one_of(2));
  auto mine = overslept_member(mode);
  const auto check = mine.verification();
  CHECK(check.expected_rows == 1);
  CHECK(check.reads == fixture->locks_rows());
  CHECK(static_cast<std::size_t>(std::count(check.sql.begin(), check.sql.end(), '?')) == check.parameters.size());
  {
    odb::transaction t(begin(*bank));
    CHECK(bank->execute(check.text) == 1);
    CHECK(bank->execute(check.text) == 1);
    t.commit();
  }
  REQUIRE(dead());
  const auto theirs = take_elsewhere("wallet:1");
  odb::transaction t(begin(*bank));
  CHECK(bank->execute(check.text) == 0);
}

TEST_CASE_METHOD(shared_scene, "verify of a member: a transaction that does not see what the writer wrote is refused") {
  const auto mode = GENERATE(shared, one_of(2));
  odb::transaction t(bank->begin());
  static_cast<void>(load(*bank, 1));
  write_elsewhere(balance - 3);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = mode});
  if (is_sqlite(*bank)) {
    CHECK_THROWS_AS(mine.verify(t), store_error);
  } else {
    CHECK_THROWS_WITH(mine.verify(t), ContainsSubstring("take the lock first"));
  }
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(shared_scene,
                 "verify of a member: one that was acquired in a transaction which had not read is as good") {
  odb::transaction t(bank->begin());
  write_elsewhere(97);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = shared});
  mine.verify(t);
  CHECK(load(*bank, 1).balance == 97);
  t.commit();
}

TEST_CASE_METHOD(shared_scene, "verify of a member: on a connection, and only where a transaction is open") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s, .mode = shared});
  const odb::connection_ptr by_hand = bank->connection();
  CHECK_THROWS_WITH(verify(*by_hand, mine), ContainsSubstring("no transaction is open"));
  by_hand->execute(is_sqlite(*bank) ? "BEGIN IMMEDIATE" : "BEGIN");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  by_hand->execute("COMMIT");
  CHECK(seen(1) == 90);
}

TEST_CASE_METHOD(shared_scene, "verify of a member: several keys, also beside exclusive ones") {
  auto reading = locks.acquire_all({"wallet:1", "wallet:3"}, {.ttl = 5s, .mode = shared});
  auto writing = locks.acquire("wallet:2", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  reading.verify(t);
  verify(t, writing);
  write(*bank, 2, load(*bank, 1).balance - 1);
  t.commit();
  CHECK(seen(2) == balance - 1);
}

TEST_CASE_METHOD(shared_scene, "verify of a member: in statements, around functions, and of asynchronous leases") {
  set_default_service(locks);
  DISTRIBUTED_LOCKED_AS(held, "wallet:1", {.ttl = 5s, .mode = shared}) {
    odb::transaction t(begin(*bank));
    held.verify(t);
    write(*bank, 1, 90);
    t.commit();
  }
  CHECK(seen(1) == 90);
  locks.with_lock("wallet:1", {.ttl = 5s, .mode = one_of(3)}, [&](lease& held) {
    odb::transaction t(begin(*bank));
    held.verify(t);
    write(*bank, 1, 80);
    t.commit();
  });
  CHECK(seen(1) == 80);
  detail::call_verified(locks.acquire("wallet:1", {.ttl = 5s, .mode = shared}), *bank, [&] { write(*bank, 1, 70); });
  CHECK(seen(1) == 70);
  std::promise<lease> got;
  locks.async_acquire("wallet:1", {.ttl = 5s, .mode = shared},
                      [&](std::exception_ptr, lease held) { got.set_value(std::move(held)); });
  const auto held = got.get_future().get();
  odb::transaction t(begin(*bank));
  held.verify(t);
  write(*bank, 1, 60);
  t.commit();
  CHECK(seen(1) == 60);
}

}  // namespace dlock::test
