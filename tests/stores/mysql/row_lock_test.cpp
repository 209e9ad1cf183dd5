// SPDX-License-Identifier: BSL-1.0

/// A transaction of another program that has rows or a table locked, and what goes on beside it.

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <future>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/backends/mysql/schemes.hpp"
#include "dlock/lock_service.hpp"

namespace dlock::test {

namespace {

constexpr int locked = 8, live = 3;  // there are four connections

/// Where the keys are, and by which statement another program locks the first ones.
struct scene {
  std::string name{};
  std::string url{};
  std::function<lock_key(int)> key{};
  std::string user{};
  std::string locks{};
  bool table = false;  ///< it locks all of a table, in which only the first keys are
};

lock_key numbered(int i) { return lock_key("key " + std::to_string(i)); }

/// Names of the first keys, as SQL text.
std::string first_keys() {
  std::string names;
  for (int i = 0; i < locked; ++i) names += fmt::format("{}'{}'", i == 0 ? "" : ",", numbered(i).str());
  return names;
}

struct found {
  std::string name{};
  int pairs = 0;  ///< of other keys, while the rows were locked
  int lost = 0;   ///< leases of other keys
  std::vector<std::string> errors{};
};

/// Leases on the first keys are released while another program has their rows locked, for longer than the others' ttl.
found go_on_beside(const scene& where) {
  found what{.name = where.name};
  const auto end_of = [&](const auto& call) {
    try {
      call();
      return std::string();
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
  };
  lock_service locks(where.url, {.release_limit = 60s});
  std::vector<lease> released, kept;
  for (int i = 0; i < locked; ++i) released.push_back(locks.acquire(where.key(i), {.ttl = 60s}));
  for (int i = locked; i < locked + live; ++i) kept.push_back(locks.acquire(where.key(i), {.ttl = 10s}));
  { const auto once = locks.acquire(where.key(locked + live)); }
  raw_mysql stranger(where.user);
  stranger.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  if (!where.table) stranger.run("BEGIN");
  stranger.run(where.locks);
  std::vector<std::future<std::string>> releases;
  for (auto& each : released) {
    releases.push_back(std::async(std::launch::async, [&] { return end_of([&] { each.release(); }); }));
  }
  for (const auto end = std::chrono::steady_clock::now() + 12s; std::chrono::steady_clock::now() < end; ++what.pairs) {
    const auto said = end_of([&] { locks.acquire(where.key(locked + live), {.ttl = 60s, .wait = 5s}).release(); });
    if (!said.empty()) what.errors.push_back("pair: " + said);
  }
  stranger.run(where.table ? "UNLOCK TABLES" : "ROLLBACK");
  for (auto& each : releases) {
    if (const auto said = each.get(); !said.empty()) what.errors.push_back("release: " + said);
  }
  for (const auto& each : kept) what.lost += each.loss() == loss_reason::none ? 0 : 1;
  return what;
}

}  // namespace

TEST_CASE("mysql row locks: another program's transaction on some rows stops no other key, in no scheme") {
  mysql_store_fixture keys;
  unique_insert_fixture unique_insert;
  state_row_fixture state_row;
  shedlock_fixture shedlock;
  t_lock_fixture t_lock;
  mysql_row_fixture by_session, by_column, altered;
  const auto owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"), app = mysql_setting("DLOCK_TEST_MYSQL_APP_URL");
  const auto rows_of = [](const std::shared_ptr<const row_table>& table, const std::string& user) {
    raw_mysql with(user);
    for (int i = 0; i <= locked + live; ++i) with.run(fmt::format("INSERT INTO {} (id) VALUES ({})", table->table, i));
    return [table](int i) { return lock_key::of_row(table, {std::int64_t{i}}); };
  };
  const auto session_table = by_session.make_table({}), altered_table = altered.make_table({});
  const auto column_table = by_column.make_table({.renewal = row_renewal::column});
  const auto selects = [](const std::string& table, const std::string& column) {
    return fmt::format("SELECT * FROM {} WHERE {} IN ({}) FOR UPDATE", table, column, first_keys());
  };
  const auto first_rows = fmt::format("id < {}", locked);
  const auto altered_row = rows_of(altered_table, app);
  const std::vector<scene> scenes{
      {"keys", keys.url(), numbered, owner, selects(keys.tables.table("lock"), "lock_key")},
      {"unique_insert", unique_insert.url(), numbered, owner, selects(unique_insert.table(), "resource")},
      {"state_row", state_row.url(), numbered, owner, selects(state_row.table(), "lock_name")},
      {"shedlock", shedlock.url(), numbered, owner, selects(shedlock.table(), "name")},
      {"t_lock", t_lock.url(), numbered, owner, selects(t_lock.table(), "lock_key")},
      {"rows", by_session.url(), rows_of(session_table, app), app,
       fmt::format("UPDATE {} SET payload = payload + 1 WHERE {}", session_table->table, first_rows)},
      {"rows with an expiry column", by_column.url(), rows_of(column_table, app), app,
       fmt::format("SELECT * FROM {} WHERE {} FOR UPDATE", column_table->table, first_rows)},
      {"a table", altered.url(), [&](int i) { return i < locked ? altered_row(i) : numbered(i); }, app,
       fmt::format("LOCK TABLES {} WRITE", altered_table->table), true},
  };
  std::vector<std::future<found>> all;
  for (const auto& each : scenes) all.push_back(std::async(std::launch::async, [&] { return go_on_beside(each); }));
  for (auto& each : all) {
    const auto what = each.get();
    INFO(what.name);
    CHECK(what.pairs >= 15);  // without the bound: one or two in each five seconds
    CHECK(what.lost == 0);
    CHECK(what.errors == std::vector<std::string>{});
  }
}

}  // namespace dlock::test
