// SPDX-License-Identifier: BSL-1.0

/// The moments at which grants in an SQLite file end, to the microsecond, by a clock that goes by hand; and that the
/// time of day means nothing to them.

#include "dlock/store_interface/mark_store.hpp"
#include "stores/sqlite/lock_rows.hpp"
#include "stores/sqlite/sqlite_machine.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

class timed_fixture : public sqlite_machine_fixture {
 public:
  timed_fixture() { machine->set(microseconds{1h}.count()); }
  std::int64_t now() const { return machine->now(); }
  std::int64_t number(const std::string& sql) { return std::stoll(raw_sqlite(path).text(sql)); }

  const lock_key order = lock_key::of_row(make_lock_table(path, "orders", 1), {std::int64_t{1}});
};

}  // namespace

TEST_CASE_METHOD(timed_fixture, "sqlite time: a row whose expiry is further off than any lease may be is free") {
  actor a(*this), b(*this);
  REQUIRE(answer(a.take(order, 10s)) == outcome::yes);
  const auto month = 24h * 31;
  const auto set_to = [&](std::chrono::microseconds ahead) {
    raw_sqlite(path).run("UPDATE orders SET e = e + " + std::to_string(ahead.count()));
  };
  set_to(month - 10s);
  CHECK_FALSE(b.at(order).expired);
  CHECK(answer(b.take(order, 10s)) == outcome::no);
  set_to(1us);  // as by another clock, or by a mistake
  CHECK(b.at(order).expired);
  CHECK(answer(b.take(order, 10s)) == outcome::yes);
}

TEST_CASE_METHOD(timed_fixture,
                 "sqlite time: every expiry is now plus its ttl by the clock of the boot, whatever the time of day",
                 "[T23]") {
  const std::string sessions = "SELECT expires_at_us FROM dlock_session WHERE label = 'mine'";
  const std::string locks = "SELECT expires_at_us FROM dlock_lock";
  machine->set_wall_clock(1'700'000'000'000'000);
  actor a(*this, 10s, "mine");
  CHECK(number(sessions) == now() + 10'000'000);
  const auto fence = a.acquire("k", 20s);
  CHECK(number(locks) == now() + 20'000'000);
  REQUIRE(answer(a.take(order, 30s)) == outcome::yes);
  const std::int64_t epoch = 1'700'000'000'000'000 - now();  // until the next boot

  for (const std::int64_t shift : std::vector<std::int64_t>{600000000, -600000000, -1700000000000000}) {
    INFO("the wall clock is set by " << shift);
    machine->set_wall_clock(1'700'000'000'000'000 + shift);
    pass(3s);
    CHECK(a.renew(10s) == outcome::yes);
    CHECK(number(sessions) == now() + 10'000'000);
    REQUIRE(answer(a.extend("k", fence, 20s)) == outcome::yes);
    CHECK(number(locks) == now() + 20'000'000);
    REQUIRE(answer(a.extend(order, 1, 30s)) == outcome::yes);
    CHECK(number("SELECT e FROM orders") == now() + epoch + 30'000'000);
    // Who comes now, with another idea of the time of day, judges the same.
    actor b(*this);
    CHECK(b.at("k").remaining == 20s);
    CHECK(b.at(order).remaining == 30s);
    CHECK(answer(b.take("k")) == outcome::no);
    CHECK(b.kill(a.id) == outcome::no);
    CHECK(answer(b.take(order)) == outcome::no);
  }
  pass(10s);
  actor b(*this);
  CHECK(b.kill(a.id) == outcome::yes);
}

TEST_CASE_METHOD(timed_fixture, "sqlite time: a mark ends by the time of day, though the host was off meanwhile") {
  constexpr std::int64_t noon = 1'700'000'000'000'000;
  machine->set_wall_clock(noon);
  actor a(*this);
  auto grant = a.about(verb::poll, "k");
  grant.fence = a.acquire("k");
  REQUIRE(answer(a.store->marks()->set_mark(*a.connection, grant, 3h, "mine")) == outcome::yes);
  // It was off for 3 h, and has run for longer than before.
  const auto later = std::make_shared<sqlite_machine>("next");
  later->set(microseconds{2h}.count());
  const auto counts_at = [&](microseconds after) {
    later->set_wall_clock(noon + after.count());
    const auto store = open_by(later);
    const auto connection = connect(*store);
    done_mark found;
    return store->marks()->find_mark(*connection, "k", found).result == outcome::yes;
  };
  CHECK(counts_at(3h - 1us));
  CHECK_FALSE(counts_at(3h));
}

// Clean-up of an SQLite file beyond what the contract says of every store. The clock goes by hand, and what happens
// between the poll of a step and its deletions happens when the store asks for the time in between.

namespace {

class cleanup_fixture : public sqlite_machine_fixture {
 public:
  cleanup_fixture() { machine->set(microseconds{1h}.count()); }
  void pass(microseconds time) override {
    machine->pass(time);
    cleaners->set(machine->now());
  }

  std::shared_ptr<sqlite_machine> cleaners = std::make_shared<sqlite_machine>("this");  ///< the same clock
};

/// The process that cleans up.
class cleaner {
 public:
  explicit cleaner(cleanup_fixture& fixture) : fixture_(fixture) {
    fixture.pass(0us);
    store_ = fixture.open_by(fixture.cleaners);
    fault why;
    connection_ = store_->connect(1s, why);
    REQUIRE(connection_ != nullptr);
  }

  /// How many rows went. `between` happens before the transaction of a step: it looks for dead sessions, for the end of
  /// what it reads, and for keys, or, with idle 0, for those of the dead sessions that hold any.
  std::uint64_t sweep(microseconds idle, std::size_t limit = 100, std::function<void()> between = {}) {
    constexpr int before = 4;
    int asked = 0;
    fixture_.cleaners->before_now = [&] {
      if (++asked != before || !between) return;
      between();
      fixture_.cleaners->set(fixture_.machine->now());
    };
    const reply r = store_->admin()->cleanup(*connection_, idle, limit);
    fixture_.cleaners->before_now = {};
    CHECK(answer(r) == outcome::yes);
    return r.fence;
  }

 private:
  cleanup_fixture& fixture_;
  std::shared_ptr<store> store_;
  std::unique_ptr<connection> connection_;
};

void use(actor& actor, const std::string& key) {
  REQUIRE(answer(actor.release(key, actor.acquire(key))) == outcome::yes);
}

}  // namespace

TEST_CASE_METHOD(cleanup_fixture,
                 "sqlite sweep: a step takes as many keys as it may, and the next one goes on behind them") {
  actor a(*this, 100h);
  for (int i = 0; i < 25; ++i) use(a, "idle:" + std::to_string(i));
  pass(1h);
  for (int i = 0; i < 25; ++i) use(a, "used:" + std::to_string(i));
  cleaner cleaner(*this);
  for (const std::uint64_t expected : {10U, 10U, 5U, 0U}) CHECK(cleaner.sweep(1h, 10) == expected);
  raw_sqlite raw(path);
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock") == "25");
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock WHERE lock_key LIKE 'idle%'") == "0");
  // Behind the end it begins anew.
  pass(1h);
  for (const std::uint64_t expected : {10U, 10U, 5U, 0U}) CHECK(cleaner.sweep(1h, 10) == expected);
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: a step after a full one does not read again what that one has read") {
  actor a(*this, 100h);
  for (int i = 0; i < 4; ++i) use(a, std::to_string(i));
  pass(30min);
  use(a, "0");
  pass(30min);
  cleaner cleaner(*this);
  CHECK(cleaner.sweep(1h, 2) == 2);
  pass(30min);  // the first key is idle too now, but the next step begins behind it
  CHECK(cleaner.sweep(1h, 2) == 1);
  CHECK(a.at("0").fence == 2);
  CHECK(cleaner.sweep(1h, 2) == 1);
  CHECK(answer(a.poll("0")) == outcome::absent);
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: many dead sessions go step by step too, beside the keys") {
  actor alive(*this, 100h);
  for (int i = 0; i < 25; ++i) {
    actor dead(*this, 1s);
    use(dead, "k" + std::to_string(i));
  }
  pass(1h);
  cleaner cleaner(*this);
  // A session may go when the way has come to the end of the keys, and none names it.
  for (const std::uint64_t expected : {10U, 10U, 5U + 10U, 10U, 5U, 0U}) CHECK(cleaner.sweep(1h, 10) == expected);
  CHECK(alive.renew(100h) == outcome::yes);
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: a key stays until it was idle for exactly as long as the option says",
                 "[T10]") {
  actor a(*this, 100h);
  use(a, "k");
  pass(1h - 1us);
  cleaner cleaner(*this);
  CHECK(cleaner.sweep(1h) == 0);
  CHECK(cleaner.sweep(0us) == 0);
  CHECK(raw_sqlite(path).text("SELECT fence FROM dlock_floor WHERE id = 1") == "0");  // other keys would skip fences
  pass(1us);
  CHECK(cleaner.sweep(0us) == 0);  // never
  CHECK(cleaner.sweep(1h) == 1);
  CHECK(answer(a.poll("k")) == outcome::absent);
}

TEST_CASE_METHOD(cleanup_fixture,
                 "sqlite sweep: a key that was granted after the poll stays, and does not end the step", "[T50]") {
  actor a(*this, 100h);
  for (const char* key : {"1", "2", "3", "4"}) use(a, key);
  pass(1h);
  cleaner cleaner(*this);
  std::uint64_t fence = 0;
  const auto limit = GENERATE(std::size_t{2}, std::size_t{100});
  const auto gone = cleaner.sweep(1h, limit, [&] { fence = a.acquire("1"); });
  CHECK(gone == (limit == 2 ? 1 : 3));  // it reads as many as it may delete, of which one stayed
  CHECK(a.at("1").holder == a.id);
  CHECK(a.at("1").fence == fence);
  CHECK(answer(a.poll("2")) == outcome::absent);
  CHECK(cleaner.sweep(1h) == 3 - gone);
  CHECK(answer(a.release("1", fence)) == outcome::yes);
}

TEST_CASE_METHOD(cleanup_fixture,
                 "sqlite sweep: a key that was granted and freed after the poll is not idle any more") {
  actor a(*this, 100h);
  for (int i = 0; i < 5; ++i) use(a, "often");
  use(a, "k");
  pass(1h);
  cleaner cleaner(*this);
  CHECK(cleaner.sweep(1h, 100, [&] { use(a, "k"); }) == 1);  // "often", whose fence is the floor now
  CHECK(a.at("k").fence == 2);
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: a key whose fence has grown after the poll stays, however idle it is",
                 "[T58]") {
  actor a(*this, 100h);
  use(a, "k");
  pass(1h);
  cleaner cleaner(*this);
  std::uint64_t last = 0;
  CHECK(cleaner.sweep(1h, 100, [&] {
    for (int i = 0; i < 3; ++i) {
      last = a.acquire("k");
      REQUIRE(answer(a.release("k", last)) == outcome::yes);
    }
    machine->pass(1h);
  }) == 0);
  CHECK(a.at("k").fence == last);
  pass(0us);
  CHECK(cleaner.sweep(1h) == 1);
  CHECK(a.acquire("k") == last + 1);
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: a session that was renewed after the poll stays, and keeps its keys") {
  actor paused(*this, 1s);
  const auto fence = paused.acquire("k");
  pass(2s);
  cleaner cleaner(*this);
  // Dead for a ttl at the poll, by a clock that goes on; alive at the deletion, because the row says so.
  raw_sqlite raw(path);
  CHECK(cleaner.sweep(1us, 100, [&] {
    raw.run("UPDATE dlock_session SET expires_at_us = " + std::to_string(machine->now() + 1));
  }) == 0);
  CHECK(paused.at("k").holder == paused.id);
  CHECK(paused.at("k").fence == fence);
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_session") == "1");
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: a session that holds nothing and was renewed after the poll stays") {
  actor renewed(*this, 1s), dead(*this, 1s);
  pass(2s);
  cleaner cleaner(*this);
  raw_sqlite raw(path);
  const auto renew = [&] {
    raw.run("UPDATE dlock_session SET expires_at_us = expires_at_us + 1 WHERE id = x'" + renewed.id.hex() + "'");
  };
  CHECK(cleaner.sweep(0us, 100, renew) == 1);
  CHECK(raw.text("SELECT lower(hex(id)) FROM dlock_session") == renewed.id.hex());
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: sessions that go leave behind how late it was") {
  { actor dead(*this, 1s); }
  pass(5h);
  cleaner cleaner(*this);
  CHECK(cleaner.sweep(0us) == 1);
  CHECK(raw_sqlite(path).text("SELECT fence FROM dlock_floor WHERE id = 2") == std::to_string(machine->now()));
}

TEST_CASE_METHOD(cleanup_fixture, "sqlite sweep: a step that meets a busy file deletes nothing and can be repeated") {
  actor a(*this, 100h);
  use(a, "k");
  pass(1h);
  const auto store = open_on("sqlite:" + path + "?busy_timeout=20", machine);
  store->prepare();
  const auto connection = connect(*store, 1s);
  raw_sqlite foreign(path);
  foreign.run("BEGIN IMMEDIATE");
  const reply refused = store->admin()->cleanup(*connection, 1h, 100);
  CHECK(refused.result == outcome::failed);
  CHECK(refused.why.contended);
  foreign.run("ROLLBACK");
  CHECK(a.at("k").fence == 1);
  CHECK(store->admin()->cleanup(*connection, 1h, 100).fence == 1);
}
