// SPDX-License-Identifier: BSL-1.0

/// Verification in an SQLite file: what a transaction that has verified means to others, where one writer has the whole
/// file. What is the same on every database is in contract/row/row_test.cpp.

#include <dlock/detail/odb_compat.hpp>
//
#include <unistd.h>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <odb/exceptions.hxx>
#include <odb/sqlite/database.hxx>
#include <odb/sqlite/transaction.hxx>
#include <thread>
#include <vector>

#include <sqlite3.h>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/store_interface/verification.hpp"
#include "odb/application.hpp"
#include "support/calls.hpp"
#include "support/forked_child.hpp"
#include "support/raw_sqlite.hpp"
#include "support/recording_observer.hpp"

namespace dlock::test {

using clock_type = std::chrono::steady_clock;

namespace {

/// Rows that it changed, by the parameters' way, as another client library would bind them.
inline int run_bound(raw_sqlite& client, const verification& check) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(::sqlite3_prepare_v2(client.handle(), check.sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  int at = 0;
  for (const auto& each : check.parameters) {
    ++at;
    if (const auto* bytes = std::get_if<verification::bytes>(&each)) {
      ::sqlite3_bind_blob(statement, at, bytes->value.data(), static_cast<int>(bytes->value.size()), SQLITE_STATIC);
    } else if (const auto* text = std::get_if<std::string>(&each)) {
      ::sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
    } else {
      ::sqlite3_bind_int64(statement, at, std::get<std::int64_t>(each));
    }
  }
  CHECK(at == ::sqlite3_bind_parameter_count(statement));
  const int code = ::sqlite3_step(statement);
  ::sqlite3_finalize(statement);
  REQUIRE(code == SQLITE_DONE);
  return client.changes();
}

/// A file with accounts to write to.
class bank : public sqlite_file_fixture {
 public:
  bank() : sqlite_file_fixture("?busy_timeout=100") {
    raw_sqlite raw(path);
    raw.run("PRAGMA journal_mode = WAL");
    raw.run("CREATE TABLE account(id INTEGER PRIMARY KEY, money INTEGER NOT NULL)");
    raw.run("INSERT INTO account VALUES(1, 100)");
  }
  std::string money() { return raw_sqlite(path).text("SELECT money FROM account"); }
};

}  // namespace

TEST_CASE_METHOD(bank, "sqlite verify: both forms of a verification leave their mark, and a release keeps min_hold",
                 "[T70]") {
  actor a(*this), b(*this);
  const std::string key("k\0'?\xff", 5);
  const auto fence = a.acquire(key);
  auto grant = a.grant(key, fence);
  const auto check = a.store->transactions()->verification_of(grant);
  grant.min_hold = for_long;
  raw_sqlite raw(path);
  CHECK(run_bound(raw, check) == 1);
  raw.run(check.text);
  CHECK(raw.changes() == 1);
  CHECK(raw.text("SELECT verifies || ' ' || (verified_by = " + std::to_string(::getpid()) + ") FROM dlock_lock") ==
        "2 1");
  CHECK(run_bound(raw, a.store->transactions()->release_of(grant)) == 1);
  CHECK(b.at(key).holder == a.id);
  CHECK(b.at(key).kind == lease_kind::expiring);
  CHECK(answer(b.take(key)) == outcome::no);
  grant.min_hold = 1us;
  CHECK(run_bound(raw, a.store->transactions()->release_of(grant)) == 1);
  pass_until(*this, [&] { return b.at(key).expired; });
  CHECK(answer(b.take(key)) == outcome::yes);
}

TEST_CASE_METHOD(bank, "sqlite verify: whoever tries a key with a verified transaction open is told at once", "[T70]") {
  lock_service holder(url()), other(url());
  const auto held = holder.acquire("k");
  raw_sqlite raw(path);
  raw.run("BEGIN IMMEDIATE");
  raw.run(held.verification().text);
  REQUIRE(raw.changes() == 1);
  std::vector<clock_type::duration> took;
  for (int i = 0; i < 50; ++i) {
    const auto begun = clock_type::now();
    CHECK_FALSE(granted(other.try_acquire("k")));
    took.push_back(clock_type::now() - begun);
  }
  std::sort(took.begin(), took.end());
  CHECK(took.front() < 20ms);  // the least: the others show how busy the machine is
  CHECK_THROWS_AS(other.acquire("k", {.wait = 50ms}), lock_timeout);
  // A free key can't be had either: it is the same file.
  const auto begun = clock_type::now();
  CHECK_THROWS_AS(other.acquire("another", {.wait = 50ms}), lock_timeout);
  CHECK(clock_type::now() - begun < 2s);
  lock_service patient("sqlite:" + path);
  CHECK_FALSE(granted(patient.try_acquire("another")));  // busy, not a store that can't be reached
  raw.run("COMMIT");
  CHECK(granted(other.acquire("another")));
}

TEST_CASE_METHOD(bank, "sqlite verify: a transaction longer than the ttl loses the lease, and its commit still counts",
                 "[T19]") {
  lock_service holder(url()), other(url());
  auto held = holder.acquire("k", {.ttl = 5s});
  raw_sqlite raw(path);
  raw.run("BEGIN IMMEDIATE");
  const auto check = held.verification();
  raw.run(check.text);
  REQUIRE(raw.changes() == 1);
  raw.run("UPDATE account SET money = money - 1");
  // Nobody can renew in that file: the documented loss.
  REQUIRE(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(held.loss() == loss_reason::unreachable);
  CHECK_FALSE(granted(other.try_acquire("k")));  // nor can anybody be granted the key
  raw.run("COMMIT");
  CHECK(money() == "99");

  const auto next = other.acquire("k");
  CHECK(next.fencing_token() == held.fencing_token() + 1);
  raw.run("BEGIN IMMEDIATE");
  raw.run(check.text);
  CHECK(raw.changes() == 0);  // what came later is refused
  raw.run("ROLLBACK");
  CHECK_THROWS_AS(held.release(), lock_lost);
}

TEST_CASE_METHOD(bank, "sqlite: a holder whose row changes while it becomes a reader is no member afterwards") {
  actor a(*this);
  auto asked = a.about(verb::pass_on, "k");
  asked.fence = a.acquire("k");
  asked.nonce = ++a.nonce;
  asked.units = 1;
  raw_sqlite raw(path);
  raw.run("CREATE TRIGGER other AFTER INSERT ON dlock_member BEGIN UPDATE dlock_lock SET fence = fence + 1; END");
  CHECK(answer(a.run(asked)) == outcome::no);
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_member") == "0");
  CHECK(a.at("k").shared == membership::none);
}

TEST_CASE_METHOD(bank, "sqlite verify: in a transaction that has read before, others' writes make it fail") {
  auto store = open();
  const detail::odb_application application(*stores::sql::application_database_of(*store));
  actor a(*this), b(*this);
  const auto check = a.store->transactions()->verification_of(a.grant("k", a.acquire("k")));
  odb::sqlite::database database(path);
  {
    odb::transaction transaction(database.begin());
    database.execute("SELECT money FROM account");
    b.acquire("other");
    // Not a matter of time: no retry of the same transaction can succeed.
    fault why;
    try {
      database.execute(check.text);
      FAIL("it was executed");
    } catch (const odb::exception& e) {
      why = application.fault_of(e);
    }
    CHECK(why.transient);
    CHECK_THAT(why.text, ContainsSubstring(path));
    CHECK_THAT(why.text, ContainsSubstring("read before it wrote"));
    CHECK_THAT(why.text, ContainsSubstring("BEGIN IMMEDIATE"));
  }
  raw_sqlite raw(path);
  raw.run("BEGIN");
  raw.text("SELECT money FROM account");
  b.acquire("one more");
  CHECK_FALSE(raw.try_run(check.text));
  CHECK(::sqlite3_extended_errcode(raw.handle()) == SQLITE_BUSY_SNAPSHOT);
  raw.run("ROLLBACK");
  odb::transaction immediate(database.begin_immediate());
  CHECK(database.execute(check.text) == 1);
  immediate.commit();
}

TEST_CASE_METHOD(bank, "sqlite verify: errors of a connection are told as the store's own are") {
  auto store = open();
  const detail::odb_application application(*stores::sql::application_database_of(*store));
  odb::sqlite::database database(path);
  const auto failure = [&](const std::string& sql) -> fault {
    try {
      odb::transaction transaction(database.begin());
      database.execute(sql);
    } catch (const odb::exception& e) {
      return application.fault_of(e);
    }
    return {};
  };
  const fault missing = failure("UPDATE no_such_table SET a = 1");
  CHECK(missing.native == SQLITE_ERROR);
  CHECK_FALSE(missing.transient);
  CHECK_THAT(missing.text, ContainsSubstring("no_such_table"));
  CHECK(failure("INSERT INTO account VALUES(1, 1)").native == SQLITE_CONSTRAINT_PRIMARYKEY);
  CHECK_THAT(application.fault_of(odb::unknown_schema("anything")).text, ContainsSubstring("anything"));
  CHECK(application.fault_of(odb::deadlock()).native == SQLITE_LOCKED);
}

TEST_CASE_METHOD(bank, "sqlite verify: a thread that writes to the lock file is refused at once whatever it asks") {
  lock_service service(url());
  auto kept = service.acquire("kept");
  auto by_hand = service.acquire("by hand", {.ttl = 30s, .renewal = renewal::manual});
  const auto refused = MessageMatches(ContainsSubstring("would wait for itself"));
  const auto before = service.statements();
  odb::sqlite::database database(path);
  odb::transaction transaction(database.begin_immediate());
  auto least = clock_type::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto begun = clock_type::now();
    CHECK_THROWS_MATCHES(service.acquire("k"), store_error, refused);
    CHECK_THROWS_MATCHES(service.try_acquire("k"), store_error, refused);
    CHECK_THROWS_MATCHES(by_hand.renew(), store_error, refused);
    CHECK_THROWS_MATCHES(service.force_release("kept"), store_error, refused);
    CHECK(service.holder("kept"));               // who only reads waits for nobody
    CHECK(service.acquire("kept").reentered());  // nor does re-entry
    least = std::min(least, clock_type::now() - begun);
  }
  CHECK(least < 90ms * 4);  // less than the file's busy_timeout for each
  CHECK(service.statements() <= before + 20);
  // Of statements on sessions too, whoever sends them.
  const auto store = open();
  const auto connection = connect(*store, 1s);
  const reply opened = store->session(*connection, session_verb::open, {.id = id128::random(), .ttl = 1s});
  CHECK(opened.result == outcome::failed);
  CHECK_FALSE(opened.why.contended);
  CHECK_THAT(opened.why.text, ContainsSubstring("would wait for itself"));
  transaction.rollback();
  CHECK_NOTHROW(by_hand.renew());
  CHECK(granted(service.acquire("k")));
}

TEST_CASE_METHOD(bank, "sqlite verify: another process that dies in a verified transaction leaves nothing of it",
                 "[T70][T51]") {
  const std::string text_file = folder / "verification";
  forked_child child([&](auto send) {
    lock_service service(url());
    const auto held = service.acquire("k", {.ttl = 5s});
    raw_sqlite raw(path);
    const std::string text = held.verification().text;
    raw.run("BEGIN IMMEDIATE");
    raw.run(text);
    if (raw.changes() != 1) ::_exit(4);
    raw.run("UPDATE account SET money = 0");
    std::ofstream(text_file) << text;
    send(1);
    for (;;) ::pause();
  });
  std::uint64_t verified = 0;
  REQUIRE(child.read(verified));
  std::ifstream in(text_file);
  const std::string check{std::istreambuf_iterator<char>(in), {}};
  {
    const auto store = open();
    const auto connection = connect(*store, 1s);
    request q{.action = verb::poll, .resource = "k", .session = id128::random()};
    const reply seen_held = executed(*store, *connection, q);
    CHECK(seen_held.holder.kind == lease_kind::session);
    q.action = verb::take;
    const reply taken = executed(*store, *connection, q);
    CHECK(taken.result == outcome::failed);
    CHECK(taken.why.contended);
  }
  CHECK(child.kill());
  CHECK(money() == "100");
  lock_service mine(url());
  const auto next = mine.acquire("k", {.wait = 20s});
  CHECK(next.fencing_token() == 2);
  raw_sqlite raw(path);
  raw.run(check);
  CHECK(raw.changes() == 0);
  raw.run(next.verification().text);
  CHECK(raw.changes() == 1);
}

// How long a service on an SQLite file waits while somebody else's transaction writes to it.

namespace {

struct limits_fixture {
  /// Nobody can write to the file but whoever has this.
  std::unique_ptr<raw_sqlite> foreign() const {
    auto client = std::make_unique<raw_sqlite>(path);
    client->run("BEGIN IMMEDIATE");
    return client;
  }
  service_options options() const {
    return {.release_limit = 200ms, .close_limit = 0ms, .cleanup_interval = 0ms, .observer = seen};
  }

  scratch_folder folder{};
  const std::string path = folder / "locks.db";
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
};

constexpr auto sluggish = 800ms;  // a busy machine; a statement's own limit would be a second

/// Of three times: what it takes where nothing stalls.
template <class F>
auto least_of_three(F&& call) {
  const auto first = duration_of(call), second = duration_of(call), third = duration_of(call);
  return std::min({first, second, third});
}

}  // namespace

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a release, a lease's end and a service's are bound by release_limit",
                 "[T10][T89]") {
  std::array<std::optional<lock_service>, 3> locks;
  std::vector<lease> first, second;
  for (auto& each : locks) {
    each.emplace("sqlite:" + path, options());
    first.push_back(each->acquire("first" + std::to_string(first.size())));
    second.push_back(each->acquire("second" + std::to_string(second.size())));
  }
  auto writing = foreign();
  auto released = first.begin(), dropped = second.begin();
  CHECK(least_of_three([&] { CHECK_THROWS_AS((released++)->release(), store_error); }) < 200ms + sluggish);
  CHECK(least_of_three([&] { *dropped++ = lease{}; }) < 200ms + sluggish);
  CHECK(seen->count(event::kind::release_failed) == 6);
  SECTION("while it goes on") {}
  SECTION("and what was not done is done later") {
    writing->run("COMMIT");
    lock_service others("sqlite:" + path, options());
    for (const char* each : {"first0", "first1", "first2", "second0", "second1", "second2"}) {
      CHECK(granted(others.acquire(each, {.wait = 20s})));
    }
  }
  auto ended = locks.begin();
  CHECK(least_of_three([&] { (ended++)->reset(); }) < 200ms + sluggish);
}

TEST_CASE_METHOD(limits_fixture,
                 "sqlite limits: an acquire waits little longer than it was told, an operator one second") {
  lock_service locks("sqlite:" + path, options());
  lock_service others("sqlite:" + path, options());
  const auto theirs = others.acquire("theirs");
  { const auto makes_the_session = locks.acquire("k"); }
  const auto writing = foreign();
  CHECK(least_of_three([&] { CHECK_THROWS_AS(locks.acquire("k", {.wait = 100ms}), lock_timeout); }) < 2s + sluggish);
  CHECK(least_of_three([&] { CHECK_FALSE(granted(locks.try_acquire("k"))); }) < 2s + sluggish);
  CHECK(least_of_three([&] { CHECK_THROWS_AS(locks.force_release("theirs"), store_error); }) < 1s + sluggish);
  // Readers wait for nobody.
  CHECK(least_of_three([&] { CHECK(locks.holder("theirs")); }) < sluggish);
  CHECK(least_of_three([&] { CHECK(locks.held_keys().size() == 1); }) < sluggish);
}

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a connection can be made while somebody writes") {
  lock_service others("sqlite:" + path, options());
  const auto theirs = others.acquire("theirs");
  std::deque<lock_service> unconnected;
  for (int i = 0; i < 3; ++i) unconnected.emplace_back("sqlite:" + path, options());
  const auto writing = foreign();
  auto next = unconnected.begin();
  CHECK(least_of_three([&] { CHECK((next++)->holder("theirs")); }) < sluggish);
}

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a file that was replaced costs no single attempt") {
  lock_service locks("sqlite:" + path, options());
  locks.acquire("k").release();
  for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::rename(path + end, path + ".old" + end);
  { const lock_service makes_the_tables("sqlite:" + path, options()); }
  // Of another file than its session's; whether that is seen before or after is no matter.
  const auto held = locks.acquire("k", {.wait = 20s});
  CHECK(seen->count(event::kind::acquire_failed) == 0);
  CHECK(held.fencing_token() == 1);
  CHECK(granted(locks.try_acquire("other")));
}

// ---- connections and threads of the application's -------------------------------------------------------------------

TEST_CASE("sqlite verify: each connection of an application's database gets its share among busy writers") {
  const scratch_folder folder;
  const auto db = open_database("sqlite:" + (folder / "app.db"));
  db->connection()->execute("PRAGMA journal_mode = WAL");
  db->connection()->execute("CREATE TABLE w(id INTEGER PRIMARY KEY, v INTEGER)");
  constexpr int most = 1200;
  std::array<std::atomic<int>, 4> written{};
  std::atomic<int> all{0};
  // A stall may keep one of them from writing for a while: they go on until it has caught up.
  const auto fair = [&] {
    return std::all_of(written.begin(), written.end(), [&](const auto& each) { return each * 40 >= all; });
  };
  {
    std::vector<std::jthread> writers;
    for (auto& mine : written) {
      writers.emplace_back([&] {
        auto& file = static_cast<odb::sqlite::database&>(*db);
        for (; all < most || (!fair() && all < 20 * most); ++all, ++mine) {
          odb::transaction t(file.begin_immediate());
          file.execute("REPLACE INTO w VALUES(1, 1)");
          t.commit();
        }
      });
    }
  }
  // SQLite's own handler: three of four wait for seconds, and write once.
  for (const auto& each : written) CHECK(each * 40 >= all);
}

TEST_CASE("sqlite verify: a thread that writes to the lock file may not wait for a lock in it") {
  sqlite_file_fixture fixture;
  const auto store = fixture.open();
  fault why;
  CHECK(store->transactions()->caller_may_wait(why));
  const auto link = fixture.folder / "link.db";
  std::filesystem::create_symlink(fixture.path, link);
  raw_sqlite(fixture.path).run("CREATE TABLE application(id INTEGER)");
  raw_sqlite(fixture.folder / "elsewhere.db").run("CREATE TABLE application(id INTEGER)");

  odb::sqlite::database same(link), elsewhere(fixture.folder / "elsewhere.db");
  {
    odb::transaction transaction(same.begin());
    CHECK(store->transactions()->caller_may_wait(why));
    same.execute("SELECT COUNT(*) FROM application");
    CHECK(store->transactions()->caller_may_wait(why));  // reading blocks nobody
    same.execute("INSERT INTO application VALUES(1)");
    CHECK_FALSE(store->transactions()->caller_may_wait(why));
    CHECK_THAT(why.text, ContainsSubstring(fixture.path));
    CHECK_THAT(why.text, ContainsSubstring("wait for itself"));
    std::async(std::launch::async, [&] {
      CHECK(store->transactions()->caller_may_wait(why));
    }).get();  // another thread may
    transaction.commit();
    CHECK(store->transactions()->caller_may_wait(why));
  }
  {
    odb::transaction transaction(same.begin_immediate());
    CHECK_FALSE(store->transactions()->caller_may_wait(why));
  }
  odb::transaction transaction(elsewhere.begin_immediate());
  CHECK(store->transactions()->caller_may_wait(why));
}

TEST_CASE("sqlite verify: an attached lock file that is written to counts too") {
  sqlite_file_fixture fixture;
  const auto store = fixture.open();
  raw_sqlite(fixture.path).run("CREATE TABLE application(id INTEGER)");
  odb::sqlite::database database(fixture.folder / "elsewhere.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  auto connection = database.connection();
  connection->execute("ATTACH '" + fixture.path + "' AS locks");
  odb::transaction transaction(connection->begin());
  connection->execute("INSERT INTO locks.application VALUES(1)");
  fault why;
  CHECK_FALSE(store->transactions()->caller_may_wait(why));
}

}  // namespace dlock::test
