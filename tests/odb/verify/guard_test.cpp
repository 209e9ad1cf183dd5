// SPDX-License-Identifier: BSL-1.0

/// The guard of verified transactions on a cluster, which may roll one back without the program noticing: the check is
/// repeated before writes that follow reads, and before COMMIT. On an SQLite file that takes itself for a cluster; the
/// tests of stores/mysql/galera_test.cpp run on a real one.

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/sqlite/connection.hxx>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/lock_row.hpp"
#include "dlock/odb/once.hpp"
#include "odb/verify/cluster_store.hpp"
#include "odb/verify/recording_tracer.hpp"
#include "odb/verify/verify_scene.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"
#include "wallet-odb.hxx"

namespace dlock::test {

namespace {

struct cluster_scene {
  cluster_scene() { make_bank(*bank, 4, 100); }

  /// What happens in the transaction unseen by ODB and by the guard.
  static void unseen(odb::transaction& in, const char* sql) {
    auto* const handle = static_cast<odb::sqlite::connection&>(in.connection()).handle();
    REQUIRE(::sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  static void take_over_unseen(odb::transaction& in) { unseen(in, "UPDATE dlock_lock SET fence = fence + 1"); }
  std::uint64_t verifies() { return std::stoull(raw_sqlite(path).text("SELECT SUM(verifies) FROM dlock_lock")); }
  void check_untouched() {
    for (const auto& each : all_wallets(*bank)) CHECK(each.balance == 100);
  }

  const scratch_folder folder{};
  const std::string path = folder / "app.db";
  const std::unique_ptr<odb::database> bank = open_bank("sqlite:" + path);
  const std::shared_ptr<recording_observer> observer = std::make_shared<recording_observer>();
  const std::shared_ptr<cluster_store> store = std::make_shared<cluster_store>("sqlite:" + path);
  lock_service locks{store, {.release_limit = 200ms, .observer = observer}};
  lease held = locks.acquire("k");
};

}  // namespace

TEST_CASE_METHOD(cluster_scene, "guard: the check is repeated before a write that follows a read, and before COMMIT") {
  odb::transaction t(begin(*bank));
  held.verify(t);
  held.verify(t);  // a second guard would double what follows
  write(*bank, 1, 90);
  write(*bank, 2, 110);
  const auto reads = GENERATE(0, 1, 3);
  for (int i = 0; i != reads; ++i) static_cast<void>(load(*bank, 1));
  if (reads != 0) write(*bank, 1, 80);
  t.commit();
  // An update by ODB reads the version before.
  CAPTURE(verifies());
  CHECK(verifies() >= (reads == 0 ? 3U : 4U));
  CHECK(observer->count(event::kind::unchecked) == 0);
  CHECK(read(*bank, 2).balance == 110);
  CHECK(locks.try_acquire("k").reentered());
}

TEST_CASE_METHOD(cluster_scene, "guard: what was taken over after the check is not committed") {
  odb::transaction t(begin(*bank));
  held.verify(t);
  write(*bank, 1, 666);
  take_over_unseen(t);
  SECTION("at the commit") { CHECK_THROWS_AS(t.commit(), lock_lost); }
  SECTION("at the next write after a read") {
    static_cast<void>(load(*bank, 2));
    CHECK_THROWS_AS(write(*bank, 2, 666), lock_lost);
    CHECK_THROWS_AS(write(*bank, 3, 666), lock_lost);  // and so is all that follows
    CHECK_THROWS_AS(t.commit(), lock_lost);
  }
  CHECK(t.finalized());
  check_untouched();
  CHECK(store->database.broken_off == 0);
}

TEST_CASE_METHOD(cluster_scene, "guard: after a rollback that nobody saw nothing commits by itself") {
  odb::transaction t(begin(*bank));
  held.verify(t);
  unseen(t, "ROLLBACK");
  const auto refused = [](const auto& call) {
    const auto e = caught<store_error>(call);
    CHECK_THAT(e.what(), ContainsSubstring("has ended before its commit"));
    CHECK(e.transient());
    CHECK(e.native_code() == 1213);
  };
  if (GENERATE(true, false)) {
    refused([&] { write(*bank, 1, 666); });
    refused([&] { write(*bank, 2, 666); });
  }
  refused([&] { t.commit(); });
  CHECK(t.finalized());
  CHECK(store->database.broken_off == 1);  // it knows of no transaction to roll back
  check_untouched();
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(cluster_scene, "guard: what is done once is not committed without its mark") {
  odb::transaction t(begin(*bank));
  CHECK(locks.once(t, "payment:7", [&] { write(*bank, 1, 666); }));
  unseen(t, "ROLLBACK");
  if (GENERATE(true, false)) CHECK_THROWS_AS(write(*bank, 2, 666), store_error);
  CHECK_THROWS_AS(t.commit(), store_error);
  check_untouched();
  CHECK_FALSE(locks.done("payment:7"));
}

TEST_CASE_METHOD(cluster_scene, "once in a transaction: a mark that is neither inserted nor found is an error") {
  locks.forget_done("payment:7");  // makes the table
  raw_sqlite(path).run("CREATE TRIGGER swallows BEFORE INSERT ON dlock_done BEGIN SELECT RAISE(IGNORE); END");
  odb::transaction t(begin(*bank));
  const auto e = caught<store_error>([&] { return locks.once(t, "payment:7", [&] { write(*bank, 1, 666); }); });
  CHECK_THAT(e.what(), ContainsSubstring("neither inserted nor found"));
  CHECK(t.finalized());
  check_untouched();
}

TEST_CASE_METHOD(cluster_scene, "guard: a rollback ends it, one to a savepoint does not") {
  {
    odb::transaction t(begin(*bank));
    held.verify(t);
    write(*bank, 1, 666);
    t.rollback();
  }
  check_untouched();
  CHECK(verifies() == 0);
  odb::transaction t(begin(*bank));
  held.verify(t);
  bank->execute("SAVEPOINT here");
  write(*bank, 1, 666);
  bank->execute("  ROLLBACK TO here");
  take_over_unseen(t);
  CHECK_THROWS_AS(t.commit(), lock_lost);
  check_untouched();
}

TEST_CASE_METHOD(cluster_scene, "guard: tracers of the program's see what they saw, and stay") {
  recording_tracer of_connection, of_transaction;
  const odb::connection_ptr connection(bank->connection());
  const auto begin_here = [&] { return static_cast<odb::sqlite::connection&>(*connection).begin_immediate(); };
  connection->tracer(of_connection);
  {
    odb::transaction t(begin_here());
    t.tracer(of_transaction);
    held.verify(t);
    write(*bank, 1, 7);
    t.commit();
  }
  CHECK(connection->tracer() == &of_connection);
  CHECK(of_connection.times("COMMIT") == 1);
  CHECK(of_transaction.times("COMMIT") == 0);
  CHECK(of_transaction.seen.size() >= 2);  // the check and the write; the check at the commit is the connection's
  {
    odb::transaction t(begin_here());
    held.verify(t);
    t.rollback();
  }
  CHECK(connection->tracer() == &of_connection);
  CHECK(of_connection.times("ROLLBACK") == 1);
  connection->tracer(nullptr);
}

TEST_CASE_METHOD(cluster_scene, "guard: a program that replaces the tracer of the connection is told") {
  check_replaced_tracer(*bank, held, *observer, [&] { return begin(*bank); });
}

TEST_CASE_METHOD(cluster_scene, "guard: a verification without a transaction says that the cluster may have ended it") {
  const odb::connection_ptr connection(bank->connection());
  const auto e = caught<store_error>([&] { verify(*connection, held); });
  CHECK_THAT(e.what(), ContainsSubstring("no transaction is open on this connection: the cluster has rolled it back"));
  CHECK(e.transient());
}

TEST_CASE_METHOD(cluster_scene, "guard: a locked row is written and freed together, or not at all") {
  auto row = lock_row<wallet>(locks, *bank, 1);
  row->balance = 90;
  SECTION("as long as it is ours") {
    row.update();
    row->balance = 80;
    row.commit();
    CHECK(read(*bank, 1).balance == 80);
    CHECK(raw_sqlite(path).text("SELECT lock_owner IS NULL FROM verify_wallet WHERE id = 1") == "1");
  }
  SECTION("and no longer") {
    raw_sqlite(path).run("UPDATE verify_wallet SET lock_owner = 'another program' WHERE id = 1");
    CHECK_THROWS_AS(row.commit(), lock_lost);
    check_untouched();
  }
}

TEST_CASE_METHOD(cluster_scene, "guard: rows are claimed only if the transaction still has them at its end") {
  using query = odb::query<wallet>;
  const auto claimed = [&] { return claim<wallet>(locks, *bank, query::id < 3, 4).size(); };
  SECTION("they are ours") { CHECK(claimed() == 2); }
  SECTION("they are not any more") {
    raw_sqlite(path).run(
        "CREATE TRIGGER another AFTER UPDATE OF lock_owner ON verify_wallet WHEN NEW.lock_owner LIKE '%/%' BEGIN "
        "UPDATE verify_wallet SET lock_owner = 'another program' WHERE id = NEW.id; END");
    const auto e = caught<store_error>(claimed);
    CHECK_THAT(e.what(), ContainsSubstring("the cluster has rolled the transaction back"));
    CHECK(e.transient());
    CHECK(raw_sqlite(path).text("SELECT COUNT(*) FROM verify_wallet WHERE lock_owner IS NOT NULL") == "0");
  }
}

}  // namespace dlock::test
