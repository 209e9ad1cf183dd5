// SPDX-License-Identifier: BSL-1.0
// Verification where transactions lock rows, wait for each other, deadlock, and can be killed.
#include <dlock/detail/odb_compat.hpp>
//
#include <catch2/matchers/catch_matchers.hpp>
#include <odb/mysql/connection.hxx>

#include "odb/verify/verify_scene.hpp"
#include "process/taker.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

unsigned long number_of(odb::transaction& t) {
  return mysql_thread_id(static_cast<odb::mysql::connection&>(t.connection()).handle());
}

void kill_connection(unsigned long number) {
  auto root = raw_mysql::root();
  root.run("KILL " + std::to_string(number));
  // The statement that it was told in comes back before it is gone.
  REQUIRE(eventually([&] {
    return root.one("SELECT COUNT(*) FROM information_schema.processlist WHERE id=" + std::to_string(number)) == "0";
  }));
}

}  // namespace

TEST_CASE_METHOD(verify_scene, "mysql verify: READ COMMITTED sees what the holder before wrote, so it may have read") {
  const odb::connection_ptr connection(bank->connection());
  connection->execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  odb::transaction t(connection->begin());
  CHECK(load(*bank, 1).balance == balance);
  write_elsewhere(97);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  mine.verify(t);
  CHECK(load(*bank, 1).balance == 97);
  t.commit();
}

TEST_CASE_METHOD(verify_scene, "mysql verify: renewal goes on while a verified transaction is open for twice the ttl",
                 "[T19]") {
  CHECK(at_some_pace([&](int slower) {
    const auto late = [&] { return observer->count(event::kind::renewal_late) + observer->count(event::kind::lost); };
    const auto before = late();
    auto mine = locks.acquire("wallet:1", {.ttl = slower * 1s, .wait = 60s});
    auto own = locks.acquire("wallet:2", {.ttl = slower * 1s, .wait = 60s, .max_hold = 600s});
    odb::transaction t(begin(*bank));
    verify(t, mine, own);
    write(*bank, 1, 90, mine.fencing_token());
    const auto until = boot_clock::now() + slower * 2s;
    while (mine.remaining() > 0us && boot_clock::now() < until) std::this_thread::sleep_for(20ms);
    if (mine.remaining() == 0us || late() != before) return false;  // the transaction is rolled back
    t.commit();
    mine.release();
    own.release();
    return true;
  }));
}

TEST_CASE_METHOD(verify_scene,
                 "mysql verify: a lock wait timeout rolls back, so that nothing unverified can be committed") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  raw_mysql foreign(fixture->locks());
  foreign.run("BEGIN");
  REQUIRE(foreign.run(mine.verification().text) == 1);

  odb::transaction t(begin(*bank));
  bank->execute("SET SESSION innodb_lock_wait_timeout=1");
  write(*bank, 2, 666);
  const auto e = caught<store_error>([&] { mine.verify(t); });
  CHECK(e.native_code() == 1205);
  CHECK(e.transient());
  CHECK_THAT(e.what(), ContainsSubstring("wallet:1") && ContainsSubstring("rolled back"));
  must_be_over(*this, t, 2);
  foreign.run("ROLLBACK");
  CHECK_NOTHROW(mine.release());
  CHECK_FALSE(others.holder("wallet:1"));
}

TEST_CASE_METHOD(verify_scene,
                 "mysql verify: the victim of a deadlock is told, and no later write of it is committed") {
  auto a = locks.acquire("wallet:1", {.ttl = 60s});
  auto b = locks.acquire("wallet:2", {.ttl = 60s});
  raw_mysql foreign(fixture->bank());
  foreign.run("BEGIN");
  // Whoever has changed more is not the victim.
  for (int i = 0; i != 200; ++i)
    foreign.run("INSERT INTO verify_entry (wallet, fence, `before`, delta, transfer) VALUES (4, 1, 1, 1, 'x')");
  REQUIRE(foreign.run(b.verification().text) == 1);  // by hand, in the wrong order

  odb::transaction t(begin(*bank));
  write(*bank, 3, 666);
  a.verify(t);
  auto theirs = foreign.start(a.verification().text);
  auto root = raw_mysql::root();
  wait_until_blocked(root, foreign.id());
  const auto e = caught<store_error>([&] { b.verify(t); });
  CHECK(e.native_code() == 1213);
  CHECK(e.transient());
  must_be_over(*this, t, 3);
  CHECK(theirs.get() == 1);
  foreign.run("ROLLBACK");
  CHECK_NOTHROW(a.release());
  CHECK_NOTHROW(b.release());
  CHECK(others.held_keys().empty());
}

TEST_CASE_METHOD(verify_scene,
                 "mysql verify: when the connection is gone, so is the transaction, and nothing is held back") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  auto other = locks.acquire("wallet:2", {.ttl = 60s});
  odb::transaction t(begin(*bank));
  write(*bank, 3, 666);
  mine.verify(t);
  mine.release();
  kill_connection(number_of(t));
  const auto e = caught<store_error>([&] { other.verify(t); });
  CHECK(e.code() == make_error_code(errc::store_unreachable));
  CHECK_THAT(e.what(), ContainsSubstring("wallet:2"));
  must_be_over(*this, t, 3);
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);
  CHECK_NOTHROW(other.release());
}

TEST_CASE_METHOD(verify_scene,
                 "mysql verify: a connection that is gone at the commit frees what the transaction held back",
                 "[T70]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  {
    odb::transaction t(begin(*bank));
    mine.verify(t);
    write(*bank, 1, 666);
    mine.release();
    kill_connection(number_of(t));
    CHECK_THROWS_AS(t.commit(), odb::exception);
  }
  CHECK(take_elsewhere("wallet:1").fencing_token() == 2);
  CHECK(seen(1) == balance);
}

TEST_CASE_METHOD(verify_scene, "mysql verify: another holder's process always reads what was committed", "[T70]") {
  taker other(fixture->locks(), {"--bank", fixture->bank()});
  std::int64_t due = balance;
  for (int round = 0; round != 10; ++round) {
    auto mine = locks.acquire("wallet:1", {.ttl = 5s, .wait = 20s});
    other.say("lock 1");
    {
      odb::transaction t(begin(*bank));
      if (round % 2 == 0) mine.verify(t);
      due += 1 + round;
      write(*bank, 1, due, mine.fencing_token());
      mine.release();
      // Whatever the other does until it is committed, it finds the key taken.
      std::this_thread::sleep_for(20ms * (round % 3));
      t.commit();
    }
    CHECK(other.expect_one_of({"locked", "error"}).front() == "locked");
    CHECK(other.ask("read", "read") == std::vector<std::string>{"read", std::to_string(due)});
    other.ask("release", "released");
  }
}

TEST_CASE_METHOD(verify_scene, "mysql verify: the check's own row is found from any database and time zone") {
  // The application's connection has another database than the locks, and settings of its own.
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const auto mode = GENERATE(as<std::string>{}, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                             "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                             "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET time_zone='+05:00'",
                             "SET SESSION sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'");
  CAPTURE(mode);
  const odb::connection_ptr by_hand = bank->connection();
  by_hand->execute(mode);
  by_hand->execute("BEGIN");
  CHECK_NOTHROW(verify(*by_hand, mine));
  by_hand->execute("UPDATE verify_wallet SET balance = 90 WHERE id = 1");
  by_hand->execute("COMMIT");
  CHECK(seen(1) == 90);
}

TEST_CASE_METHOD(verify_scene, "mysql verify: a check that finds no row blocks nobody's neighbouring new key",
                 "[T51]") {
  // In REPEATABLE READ a search for a row that is not there locks the gap around it.
  auto mine = overslept("key-m");
  REQUIRE(expired("key-m"));
  raw_mysql owner(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  const auto check = mine.verification().text;  // UPDATE <table> SET ...
  const auto table = check.substr(7, check.find(' ', 7) - 7);
  REQUIRE(owner.run("DELETE FROM " + table + " WHERE lock_key='key-m'") == 1);
  {
    odb::transaction t(begin(*bank));
    bank->execute("SELECT COUNT(*) FROM verify_wallet");
    CHECK_THROWS_AS(mine.verify(t), lock_lost);
    // It was rolled back, so its gap lock is gone as well.
    for (const auto* const key : {"key-l", "key-m", "key-n"}) {
      CHECK(elsewhere([&] { return granted(others.try_acquire(key, {.ttl = 5s})); }));
    }
  }
  // And one that matches locks its row only.
  auto good = locks.acquire("key-q", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  good.verify(t);
  for (const auto* const key : {"key-p", "key-r"}) {
    CHECK(elsewhere([&] { return granted(others.try_acquire(key, {.ttl = 5s})); }));
  }
  t.commit();
}

TEST_CASE_METHOD(verify_scene, "mysql verify: a server that takes no writes verifies nothing", "[T59]") {
  auto mine = locks.acquire("wallet:1", {.ttl = 60s});
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  {
    const global_setting replica("read_only", "1");
    CHECK_THROWS_AS(mine.verify(t), store_error);
  }
  must_be_over(*this, t, 2);
}

TEST_CASE_METHOD(verify_scene, "mysql verify: a transaction of another kind of database is refused in words") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  const auto file = open_bank("sqlite::memory:");
  odb::transaction t(file->begin());
  CHECK_THROWS_WITH(mine.verify(t), ContainsSubstring("is not the one that key 'wallet:1' lives in"));
  CHECK(t.finalized());
}

// ---- a holder that stands still in the middle of a verified transaction -------------------------------------------

namespace {

/// A process that is stopped in a transaction in which it verified and wrote wallet 1.
taker stopped_verifier(const verify_fixture& fixture) {
  taker verifier(fixture.locks(), {"--bank", fixture.bank()});
  verifier.ask("lock 1", "locked");
  verifier.ask("read", "read");
  verifier.ask("begin", "begun");
  verifier.ask("verify", "verified");
  verifier.ask("add 1 -10", "added");
  verifier.stop();
  return verifier;
}

const recording_observer::record* find(const std::vector<recording_observer::record>& all, event::kind kind) {
  for (const auto& each : all) {
    if (each.what == kind) return &each;
  }
  return nullptr;
}

}  // namespace

TEST_CASE_METHOD(verify_scene,
                 "mysql verify: a process stopped in a verified transaction is reported with its connection") {
  auto stopped = stopped_verifier(*fixture);
  auto root = raw_mysql::root();
  auto next = std::async(std::launch::async, [&] { return others.acquire("wallet:1", {.ttl = 5s, .wait = 60s}); });
  REQUIRE(others_observer->wait_for(event::kind::blocked));
  const auto records = others_observer->records();
  const auto* const blocked = find(records, event::kind::blocked);
  REQUIRE(blocked != nullptr);
  CHECK(blocked->key == "wallet:1");
  CHECK(blocked->fence == 1);
  // The connection with that transaction, by its number.
  const auto number = root.one(
      "SELECT p.id FROM information_schema.processlist p JOIN information_schema.innodb_trx t ON "
      "t.trx_mysql_thread_id=p.id WHERE p.db='app' AND t.trx_rows_modified > 0");
  CHECK_THAT(blocked->text, ContainsSubstring("connection " + number + " "));

  // Nothing was broken: it goes on, and is in time, because its check keeps the others away.
  stopped.go_on();
  CHECK(stopped.ask("commit", "committed").size() == 1);
  CHECK(next.get().fencing_token() == 2);
  CHECK(seen(1) == balance - 10);
  CHECK(others_observer->count(event::kind::blocked) == 1);  // told once
}

TEST_CASE_METHOD(verify_scene, "mysql verify: with break_verified_after it is ended, and its write is not committed") {
  const auto watch = std::make_shared<recording_observer>();
  lock_service breaker(fixture->locks(), {.break_verified_after = 1s, .observer = watch});
  auto stopped = stopped_verifier(*fixture);
  const auto mine = breaker.acquire("wallet:1", {.ttl = 5s, .wait = 60s});
  CHECK(mine.fencing_token() == 2);
  CHECK(seen(1) == balance);
  const auto records = watch->records();
  CHECK(watch->count(event::kind::blocked) >= 2);
  bool ended = false;
  for (const auto& each : records) {
    ended |= each.what == event::kind::blocked && each.text.find("ended (break_verified_after)") != std::string::npos;
  }
  CHECK(ended);
  stopped.go_on();
  CHECK_FALSE(stopped.ask("commit", "error").empty());
  CHECK(seen(1) == balance);
  CHECK_NOTHROW(mine.ensure_held());
}

}  // namespace dlock::test
