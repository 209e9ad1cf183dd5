// SPDX-License-Identifier: BSL-1.0

/// The SQLite store while others write to its file.

#include <filesystem>
#include <future>
#include <thread>

#include "dlock/lock_service.hpp"
#include "stores/sqlite/lock_rows.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/calls.hpp"

using namespace dlock::test;
using namespace dlock;
using clock_type = std::chrono::steady_clock;

namespace {

/// What it says once it does not say any more that others write: a machine may stand still for any time.
template <class Call>
reply patiently(Call call) {
  for (;;) {
    const reply r = call();
    if (!r.why.contended) return r;
  }
}

}  // namespace

TEST_CASE("sqlite busy: another program's write transaction makes an acquire busy within its bound") {
  sqlite_file_fixture fixture("?busy_timeout=60");
  actor a(fixture);
  const auto fence = a.acquire("k");
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  const auto start = clock_type::now();
  const reply taken = a.take("other");
  const auto took = clock_type::now() - start;
  CHECK(taken.result == outcome::failed);
  CHECK(taken.why.contended);
  CHECK(taken.why.transient);
  CHECK_FALSE(taken.why.connection);
  CHECK_THAT(taken.why.text, ContainsSubstring(fixture.path));
  CHECK(took >= 60ms);
  CHECK(took < 5s);
  CHECK(a.connection->usable());
  CHECK(a.at("k").holder == a.id);  // readers wait for nobody

  const reply renewed = a.store->session(*a.connection, session_verb::renew, {.id = a.id, .ttl = for_long});
  CHECK(renewed.result == outcome::failed);
  CHECK(renewed.why.contended);
  foreign.run("ROLLBACK");
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(answer(a.release("k", fence)) == outcome::yes);
}

TEST_CASE("sqlite busy: opening a file that is ready waits for no writer") {
  sqlite_file_fixture fixture("?busy_timeout=50");
  fixture.open();
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  CHECK_NOTHROW(fixture.open());
  fault why;
  CHECK(fixture.open()->connect(50ms, why) != nullptr);
}

TEST_CASE("sqlite busy: a statement goes on as soon as the other program has ended") {
  sqlite_file_fixture fixture("?busy_timeout=60000");
  actor a(fixture);
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  auto granted = std::async(std::launch::async, [&] { return patiently([&] { return a.insert("k"); }); });
  // Not a synchronisation: whether it waits already or not, the answer must be the same.
  fixture.pass(20ms);
  foreign.run("COMMIT");
  CHECK(answer(granted.get()) == outcome::yes);
}

TEST_CASE("sqlite busy: the time of a statement is read when it runs, not when it began to wait") {
  sqlite_file_fixture fixture("?busy_timeout=60000");
  actor a(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  auto granted = std::async(std::launch::async, [&] { return patiently([&] { return a.take("k", 1min); }); });
  fixture.pass(100ms);
  const auto ended = boot_clock::now().time_since_epoch().count();
  foreign.run("COMMIT");
  REQUIRE(answer(granted.get()) == outcome::yes);
  CHECK(std::stoll(foreign.text("SELECT acquired_at_us FROM dlock_lock")) >= ended);
}

TEST_CASE("sqlite busy: an interrupted statement returns and has done nothing") {
  sqlite_file_fixture fixture("?busy_timeout=3600000");
  actor a(fixture), other(fixture);
  const auto second = connect(*a.store, 1s);  // shares the line of a's store
  REQUIRE(second != nullptr);
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  auto polling = std::async(std::launch::async, [&] { return patiently([&] { return a.insert("k"); }); });
  auto queueing = std::async(std::launch::async, [&] {
    const request q{.action = verb::insert, .resource = "k2", .session = a.id, .nonce = 1};
    return patiently([&] { return executed(*a.store, *second, q); });
  });
  fixture.pass(20ms);
  second->interrupt();
  const reply queued = queueing.get();
  a.connection->interrupt();
  const reply polled = polling.get();
  for (const reply& r : {polled, queued}) {
    CHECK(r.result == outcome::failed);
    CHECK(r.why.native == SQLITE_INTERRUPT);
    CHECK(r.why.connection);
  }
  CHECK_FALSE(a.connection->usable());
  CHECK_FALSE(second->usable());
  foreign.run("COMMIT");
  CHECK(answer(other.poll("k")) == outcome::absent);
  CHECK(answer(other.poll("k2")) == outcome::absent);
  CHECK(a.insert("k").result == outcome::failed);  // an interrupted connection stays so
}

TEST_CASE("sqlite busy: an interrupt in the middle of a batch leaves no transaction open") {
  sqlite_file_fixture fixture;
  fixture.open();
  const auto machine = std::make_shared<sqlite_machine>("this");
  const auto store = open_on("sqlite:" + fixture.path, machine);
  store->prepare();
  const auto connection = connect(*store, 1s);
  const auto statement = GENERATE(2, 3, 4);  // a take, another, COMMIT
  int asked = 0;
  machine->before_now = [&] {
    if (++asked == statement) connection->interrupt();
  };
  const id128 id = id128::random();
  const std::array<request, 2> takes = {request{.action = verb::insert, .resource = "a", .session = id, .nonce = 1},
                                        request{.action = verb::insert, .resource = "b", .session = id, .nonce = 2}};
  std::array<reply, 2> replies;
  store->execute(*connection, takes, replies);
  REQUIRE(asked >= statement);
  CHECK_FALSE(connection->usable());
  // Its file is not locked, though the connection is still there.
  raw_sqlite foreign(fixture.path);
  CHECK(foreign.try_run("BEGIN IMMEDIATE"));
  const auto granted = foreign.text("SELECT COUNT(*) FROM dlock_lock");
  for (const reply& r : replies) CHECK(r.result == (granted == "2" ? outcome::yes : outcome::failed));
  CHECK((granted == "0" || granted == "2"));
}

TEST_CASE("sqlite busy: renewals get their share among busy writers") {
  sqlite_file_fixture fixture;
  {
    raw_sqlite raw(fixture.path);
    raw.run("PRAGMA journal_mode = WAL");
    raw.run("CREATE TABLE w(id INTEGER PRIMARY KEY, v INTEGER)");
  }
  actor a(fixture), b(fixture);
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  std::vector<std::jthread> writers;
  for (int i = 0; i < 6; ++i) {
    writers.emplace_back([&] {
      raw_sqlite raw(fixture.path);
      raw.run("PRAGMA synchronous = OFF");  // no disk of a busy machine makes them slower than the time that they take
      while (!stop) {
        if (!raw.try_run("BEGIN IMMEDIATE")) continue;
        raw.run("REPLACE INTO w VALUES(1, 1)");
        fixture.pass(4ms);
        while (!raw.try_run("COMMIT")) std::this_thread::yield();
        ++written;
      }
    });
  }
  const auto renew_many = [](actor& who, std::vector<reply>& into) {
    for (int i = 0; i < 20; ++i) {
      into.push_back(who.store->session(*who.connection, session_verb::renew, {.id = who.id, .ttl = for_long}));
    }
  };
  std::vector<reply> of_a, of_b;
  {
    std::jthread first([&] { renew_many(a, of_a); }), second([&] { renew_many(b, of_b); });
  }
  stop = true;
  writers.clear();
  CHECK(written > 0);
  for (const auto* replies : {&of_a, &of_b}) {
    for (const reply& r : *replies) CHECK(answer(r) == outcome::yes);  // none gave up after its 5 s
  }
}

// A batch in an SQLite file is its statements one by one, in one transaction.

namespace {

/// Inserts many keys.
std::vector<reply> insert(actor& who, std::initializer_list<std::string_view> keys) {
  std::vector<request> requests;
  for (const auto key : keys)
    requests.push_back({.action = verb::insert, .resource = key, .session = who.id, .nonce = ++who.nonce});
  return who.run(requests);
}

std::vector<outcome> outcomes(const std::vector<reply>& replies) {
  std::vector<outcome> outcomes;
  for (const reply& r : replies) outcomes.push_back(r.result);
  return outcomes;
}

constexpr auto yes = outcome::yes;
using answers = std::vector<outcome>;

}  // namespace

TEST_CASE("sqlite batch: if one statement fails, nothing of the batch was done") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  raw_sqlite raw(fixture.path);
  raw.run(
      "CREATE TRIGGER refuse BEFORE INSERT ON dlock_lock WHEN NEW.lock_key = x'32' BEGIN SELECT RAISE(ABORT, 'no!'); "
      "END");
  const auto inserted = insert(a, {"1", "2", "3"});
  CHECK(outcomes(inserted) == answers(3, outcome::failed));
  for (const reply& r : inserted) CHECK_THAT(r.why.text, Catch::Matchers::ContainsSubstring("no!"));
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock") == "0");
  CHECK(outcomes(insert(a, {"1", "3"})) == answers{yes, yes});  // the connection goes on
}

TEST_CASE("sqlite batch: what the application's trigger refuses for one row is done for the others") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  raw_sqlite raw(fixture.path);
  const auto orders = make_lock_table(fixture.path, "orders", 3);
  raw.run(
      "CREATE TRIGGER refuse BEFORE UPDATE ON orders WHEN NEW.id = 2 AND NEW.o IS NOT NULL "
      "BEGIN SELECT RAISE(ABORT, 'no!'); END");
  std::vector<lock_key> keys;
  std::vector<request> asked;
  for (std::int64_t id = 1; id != 4; ++id) keys.push_back(lock_key::of_row(orders, {id}));
  for (const auto& key : keys) {
    asked.push_back({.action = verb::take, .resource = key.view(), .session = a.id, .row = key.row(), .nonce = 7});
  }
  const auto replies = a.run(asked);
  CHECK(outcomes(replies) == answers{yes, outcome::failed, yes});
  CHECK_THAT(replies[1].why.text, Catch::Matchers::ContainsSubstring("no!"));
  CHECK(replies[2].fence == 1);
  CHECK(raw.text("SELECT COUNT(*) FROM orders WHERE o IS NOT NULL") == "2");
}

TEST_CASE("sqlite busy: another program's write transaction costs no lease, and releases are done at its end") {
  sqlite_file_fixture fixture;
  lock_service locks(fixture.url(), {.release_limit = 60s});
  constexpr int many = 8;  // there are four connections
  std::vector<lease> released;
  for (int i = 0; i < many; ++i) released.push_back(locks.acquire("released " + std::to_string(i)));
  const auto kept = locks.acquire("kept", {.ttl = 30s});
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  std::vector<std::future<std::string>> releases;
  for (auto& each : released) {
    releases.push_back(std::async(std::launch::async, [&each]() -> std::string {
      try {
        each.release();
        return {};
      } catch (const std::exception& e) {
        return e.what();
      }
    }));
  }
  std::this_thread::sleep_for(1500ms);          // longer than a statement tries
  CHECK(locks.held_keys().size() == many + 1);  // readers wait for nobody
  foreign.run("ROLLBACK");
  for (auto& each : releases) CHECK(each.get().empty());
  CHECK(kept.loss() == loss_reason::none);
  CHECK(granted(locks.try_acquire("released 0")));
}
