// SPDX-License-Identifier: BSL-1.0

/// What only a real server can show of a whole service.

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::test {

namespace {

/// A machine whose clock is wrong.
class shifted_clock final : public environment {
 public:
  explicit shifted_clock(std::chrono::minutes shift) : shift_(shift) {}
  instant now() const noexcept override { return boot_clock::now() + shift_; }
  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    system_time().wait_until(wake, lock, until == instant::max() ? until : until - shift_);
  }

 private:
  std::chrono::minutes shift_;
};

/// The statement with something in place of each parameter, for EXPLAIN.
std::string filled(std::string sql) {
  for (auto at = sql.find('?'); at != std::string::npos; at = sql.find('?', at + 3)) sql.replace(at, 1, "'1'");
  return sql;
}

}  // namespace

TEST_CASE("mysql service: clients whose clocks are twenty minutes apart share locks as if they were not", "[T23]") {
  const mysql_fixture fixture;
  shifted_clock behind(-10min), ahead(10min);
  lock_service slow(fixture.open(), {.time = &behind});
  lock_service fast(fixture.open(), {.time = &ahead});
  for (auto* const pair : {&slow, &fast}) {
    lock_service& holder = *pair;
    lock_service& other = pair == &slow ? fast : slow;
    auto held = holder.acquire("k", {.ttl = 60s});
    CHECK(held.remaining() > 50s);
    CHECK(held.remaining() < 60s);
    CHECK_FALSE(granted(other.try_acquire("k", {.ttl = 60s})));
    CHECK_THROWS_AS(other.acquire("k", {.ttl = 60s, .wait = 50ms}), lock_timeout);
    const auto seen = other.holder("k");
    REQUIRE(seen);
    CHECK(seen->remaining > 50s);
    CHECK(seen->remaining <= 60s);
    held.release();

    auto own = holder.acquire("k", {.ttl = 4s, .renewal = renewal::none});
    const auto before = own.fencing_token();
    CHECK_FALSE(granted(other.try_acquire("k")));
    const auto next = other.acquire("k", {.wait = 20s});  // as soon as it has expired, by the server's clock
    CHECK(next.fencing_token() == before + 1);
    CHECK(own.loss() == loss_reason::expired);
  }
}

TEST_CASE("mysql service: leases of some ten milliseconds are told apart", "[T28]") {
  const mysql_fixture fixture;
  lock_service locks(fixture.open());
  { const lease makes_the_row = locks.acquire("first"); }
  { const lease makes_the_row = locks.acquire("second"); }
  const auto first = locks.acquire("first", {.ttl = 20s, .renewal = renewal::none});
  const auto second = locks.acquire("second", {.ttl = 20'010ms, .renewal = renewal::none});
  const auto held = locks.held_keys();  // one statement: one time for both
  REQUIRE(held.size() == 2);
  const auto apart = held[1].remaining - held[0].remaining;
  CHECK(apart >= 10ms);  // and what lies between the two acquires
  CHECK(apart == held[0].since - held[1].since + 10ms);
}

TEST_CASE("mysql service: a lock taken inside the caller's own transaction is taken beside it", "[T52]") {
  const mysql_fixture fixture;
  lock_service ours(fixture.open()), theirs(fixture.open());
  { const lease makes_the_row = ours.acquire("k"); }
  raw_mysql caller(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  caller.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  caller.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
  const auto count = "SELECT COUNT(*) FROM " + fixture.table("lock") + " WHERE session_id IS NOT NULL";
  REQUIRE(caller.one(count) == "0");

  auto held = theirs.acquire("k");
  CHECK(caller.one(count) == "0");              // the caller's snapshot is older ...
  CHECK_FALSE(granted(ours.try_acquire("k")));  // ... and nobody looks at it
  held.release();
  auto mine = ours.acquire("k");
  CHECK_FALSE(granted(theirs.try_acquire("k")));  // visible at once, before the caller commits
  caller.run("ROLLBACK");
  mine.ensure_held();
  CHECK_FALSE(granted(theirs.try_acquire("k")));  // and not undone with it
  mine.release();
}

TEST_CASE("mysql service: no hot statement touches more than the rows that it names", "[T54]") {
  const mysql_fixture fixture;
  const auto store = fixture.open();
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  std::string locks, sessions;
  for (int i = 0; i < 300; ++i) {
    const auto number = std::to_string(i), id = "UNHEX(LPAD(HEX(" + number + "),32,'0'))";
    locks += (i == 0 ? "" : ",") + ("('row" + number + "', " + id + ", 1, 1, 1, 0, 0)");
    sessions += (i == 0 ? "" : ",") + ("(" + id + ", 1, 1, 0, 0, '', 1, '', 1, '')");
  }
  raw.run("INSERT INTO " + fixture.table("lock") +
          "(lock_key, session_id, nonce, fence, acquired_at_us, verified_by, verifies) VALUES " + locks);
  raw.run("INSERT INTO " + fixture.table("session") +
          "(id, expires_at_us, ttl_us, beat, revoked, host, pid, label, started_at_us, boot) VALUES " + sessions);
  const stores::mysql::lease_table::lease_sql sql(stores::sql::make_table_names(fixture.prefix(), '`'));
  const bool mariadb = raw.is_mariadb();
  const std::size_t table = 2, type = mariadb ? 3 : 4, rows = mariadb ? 8 : 9;
  for (std::size_t i = 0; i < stores::mysql::lease_table::statement_count; ++i) {
    const auto& hot = sql.statement(static_cast<stores::mysql::lease_table::statement_id>(i));
    INFO(hot.name << ": " << hot.sql);
    for (const auto& step : raw.rows("EXPLAIN FORMAT=TRADITIONAL " + filled(hot.sql))) {
      if (!step.at(rows)) continue;  // an INSERT of values reads nothing, and its access type means nothing
      INFO("table " << step.at(table).value_or("-") << ", access " << step.at(type).value_or("-"));
      CHECK(step.at(type).value_or("const") != "ALL");
      CHECK(step.at(type).value_or("const") != "index");
      CHECK(std::stoi(step.at(rows).value_or("1")) <= 1);
    }
  }
}

TEST_CASE("mysql service: a batch reads the rows of its keys and no others, however few others there are", "[T54]") {
  using stores::mysql::lease_table::text_id;
  const mysql_fixture fixture;
  const auto store = fixture.open();
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  std::string locks, keys, numbers;
  constexpr int many = 64;
  for (int i = 0; i < 2 * many; ++i) {
    const auto key = "'row" + std::to_string(i) + "'";
    locks += (i == 0 ? "" : ",") + ("(" + key + ", NULL, 1, 1, 1, 0, 0)");
    if (i % 2 != 0) continue;
    keys += (i == 0 ? "" : ",") + key;
    numbers += " WHEN " + key + " THEN 1";
  }
  raw.run("INSERT INTO " + fixture.table("lock") +
          "(lock_key, session_id, nonce, fence, acquired_at_us, verified_by, verifies) VALUES " + locks);
  raw.rows("ANALYZE TABLE " + fixture.table("lock"));
  const stores::mysql::lease_table::lease_sql sql(stores::sql::make_table_names(fixture.prefix(), '`'));
  const bool mariadb = raw.is_mariadb();
  const std::size_t table = 2, type = mariadb ? 3 : 4, rows = mariadb ? 8 : 9;
  for (const bool skip : {false, true}) {
    for (const auto& text :
         {stores::sql::write_values(sql.text(text_id::batch_take, skip),
                                    {{"keys", keys}, {"session", "'1'"}, {"nonces", numbers}, {"own_ttl", "1"}}),
          stores::sql::write_values(sql.text(text_id::batch_release, skip),
                                    {{"keys", keys}, {"session", "'1'"}, {"fences", numbers}})}) {
      INFO(text);
      for (const auto& step : raw.rows("EXPLAIN FORMAT=TRADITIONAL " + text)) {
        if (step.at(table).value_or("").starts_with("<derived")) continue;
        const auto access = step.at(type).value_or("-");
        CHECK((access == "range" || access == "eq_ref"));
        CHECK(std::stoi(step.at(rows).value_or("999")) <= many);
      }
    }
  }
}

// Several keys at once, counted at the server.

namespace {

/// Statements that the server got while `call` ran; the least of some runs, since renewals and other clients come
/// between.
long statements_of(raw_mysql& client, const std::function<void()>& prepare, const std::function<void()>& call) {
  const auto count = [&] {
    return std::stol(client.rows("SHOW GLOBAL STATUS LIKE 'Questions'").at(0).at(1).value_or("0"));
  };
  long least = std::numeric_limits<long>::max();
  for (int i = 0; i < 5; ++i) {
    prepare();
    const auto before = count();
    call();
    least = std::min(least, count() - before - 1);  // the second SHOW itself
  }
  return least;
}

}  // namespace

TEST_CASE("mysql several keys: eight known free keys are two statements, their release is one", "[T76]") {
  const mysql_fixture fixture;
  auto root = raw_mysql::root();
  stores::virtual_clock stands_still;  // a release of what was held for long may look for waiters
  lock_service locks(fixture.open(), {.cleanup_interval = 0ms, .time = &stands_still});
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) names.push_back("k" + std::to_string(i));
  const lock_keys keys(names);
  locks.acquire_all(keys).release();
  multi_lease held;
  CHECK(statements_of(
            root, [&] { held = multi_lease(); }, [&] { held = locks.acquire_all(keys); }) == 2);
  CHECK(statements_of(
            root, [&] { held = locks.acquire_all(keys); }, [&] { held.release(); }) == 1);
  // The service counts the same.
  const auto before = locks.statements();
  held = locks.acquire_all(keys);
  CHECK(locks.statements() == before + 2);
  held.release();
  CHECK(locks.statements() == before + 3);
}

TEST_CASE("mysql several keys: bytes of every kind are batched as they are", "[T76]") {
  const mysql_fixture fixture;
  lock_service locks(fixture.open(), {.cleanup_interval = 0ms});
  lock_service others(fixture.open(), {.cleanup_interval = 0ms});
  const lock_keys keys{"a'b", "a\\b", "a\"b", std::string_view("a\0b", 3), "\xff\xfe", "ü",
                       "a ",  "a",    "A",    std::string(300, 'x')};
  locks.acquire_all(keys).release();
  const auto held = locks.acquire_all(keys);
  REQUIRE(held.size() == 10);
  for (const auto& each : held) {
    CHECK(each.fencing_token() == 2);
    const auto row = others.holder(lock_key::from_stored(each.key()));
    REQUIRE(row);
    CHECK(row->fence == 2);
  }
}

TEST_CASE("mysql several keys: two processes in opposite order neither deadlock nor starve", "[T76]") {
  const mysql_fixture fixture;
  lock_service first(fixture.open(), {.cleanup_interval = 0ms});
  lock_service second(fixture.open(), {.cleanup_interval = 0ms});
  int turns = 0;  // guarded by the locks
  const auto work = [&](lock_service& locks, const std::vector<std::string>& names) {
    for (int i = 0; i < 50; ++i) {
      const auto held = locks.acquire_all(names, {.wait = 60s, .retry = {.pause = 1ms, .max_pause = 5ms}});
      ++turns;
    }
  };
  std::thread other([&] { work(second, {"b", "a"}); });
  work(first, {"a", "b"});
  other.join();
  CHECK(turns == 100);
}

}  // namespace dlock::test
