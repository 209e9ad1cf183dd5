// SPDX-License-Identifier: BSL-1.0

/// A release that wakes a waiter of another process: the waiter table, the bells, and what a release does with them. A
/// key that is taken again at once shows that it was the release which woke, because a look finds it held.

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/store/store_contract.hpp"
#include "contract/store/waiting_store.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"

namespace dlock::test {

namespace {

struct wake_fixture {
  mysql_store_fixture fixture{};
  raw_mysql root = raw_mysql::root();
  actor holder{fixture};

  std::string table(const char* name) { return fixture.tables.table(name); }
  std::vector<std::string> bells(const std::string& key = "k") {
    std::vector<std::string> found;
    for (auto& row : root.rows("SELECT HEX(bell) FROM " + table("waiter") + " WHERE lock_key = '" + key +
                               "' ORDER BY since_us, bell")) {
      found.push_back(row.at(0).value_or(""));
    }
    return found;
  }
  /// The connection that sleeps with that bell.
  std::string sleeper(const std::string& bell) {
    return root.rows("SELECT IS_USED_LOCK('dlock." + bell + "')").at(0).at(0).value_or("");
  }
  /// Releases it and takes it again. The fence; `woken`: how many were.
  std::uint64_t release_and_take(std::uint64_t fence, unsigned& woken) {
    const auto freed = release_and_wake(holder, fence);
    REQUIRE(answer(freed) == outcome::yes);
    woken = freed.waiters;
    const auto again = holder.take("k");
    REQUIRE(answer(again) == outcome::yes);
    return again.fence;
  }
};

}  // namespace

TEST_CASE_METHOD(wake_fixture, "wake: a release wakes a waiter of another process, and nobody where nobody waits",
                 "[wake]") {
  auto fence = holder.acquire("k");
  unsigned woken = 7;
  fence = release_and_take(fence, woken);
  CHECK(woken == 0);
  std::optional<waiting_store> waiter(fixture);
  REQUIRE(waiter->works());
  REQUIRE(bells().size() == 1);
  for (int i = 0; i != 20; ++i) {
    const int before = waiter->listener.yes;
    // Between two sleeps it is not to be woken, and looks at the key before the next.
    REQUIRE(eventually([&] {
      fence = release_and_take(fence, woken);
      return woken == 1;
    }));
    CHECK(eventually([&] { return waiter->listener.yes > before; }));
  }
  waiter->unwatch();
  CHECK(eventually([&] { return bells().empty(); }));
  fence = release_and_take(fence, woken);
  CHECK(woken == 0);
}

TEST_CASE_METHOD(wake_fixture, "wake: who waits longest is woken, and no row of a dead waiter is in the way",
                 "[wake]") {
  auto fence = holder.acquire("k");
  root.run("INSERT INTO " + table("waiter") + " SELECT 'k', acquired_at_us - 1, X'" + id128::random().hex() + "', X'" +
           id128::random().hex() + "', NULL FROM " + table("lock") + " WHERE lock_key = 'k'");
  // A release by this user can wake one of the two: which one it chose shows.
  const auto stranger = open_store(fixture.tables.app_url("&schema=verify"));
  stranger->prepare();
  const bool stranger_first = GENERATE(false, true);
  CAPTURE(stranger_first);
  std::optional<waiting_store> first, second;
  stranger_first ? first.emplace(stranger) : first.emplace(fixture);
  REQUIRE(first->works());
  stranger_first ? second.emplace(fixture) : second.emplace(stranger);
  REQUIRE(second->works());
  REQUIRE(bells().size() == 3);
  unsigned woken = 7;
  fence = release_and_take(fence, woken);
  CHECK(woken == (stranger_first ? 0 : 1));
}

TEST_CASE_METHOD(wake_fixture, "wake: a parked connection that was killed is told of, and made again", "[wake]") {
  auto fence = holder.acquire("k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  root.run("KILL " + sleeper(bells().at(0)));
  CHECK(eventually([&] { return waiter.listener.no != 0; }));
  CHECK(waiter.works());
  unsigned woken = 0;
  CHECK(eventually([&] {
    fence = release_and_take(fence, woken);
    return woken == 1;
  }));
}

TEST_CASE_METHOD(wake_fixture, "wake: a waiter whose row somebody has removed enters it again", "[wake]") {
  holder.acquire("k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  const auto bell = bells();
  root.run("DELETE FROM " + table("waiter"));
  CHECK(eventually([&] { return bells() == bell; }));
}

TEST_CASE_METHOD(wake_fixture, "wake: who was woken and leaves without the key wakes the next", "[wake]") {
  const auto kills = [&] { return std::stol(root.rows("SHOW GLOBAL STATUS LIKE 'Com_kill'").at(0).at(1).value()); };
  auto fence = holder.acquire("k");
  waiting_store first(fixture);
  REQUIRE(first.works());
  waiting_store second(fixture);
  REQUIRE(second.works());
  const int before = first.listener.yes, second_before = second.listener.yes;
  const auto killed = kills();
  unsigned woken = 0;
  fence = release_and_take(fence, woken);
  REQUIRE(woken == 1);
  REQUIRE(eventually([&] { return first.listener.yes > before; }));
  CHECK(kills() == killed + 1);
  first.unwatch();
  CHECK(eventually([&] { return kills() == killed + 2; }));
  CHECK(eventually([&] { return second.listener.yes > second_before; }));
}

TEST_CASE_METHOD(wake_fixture,
                 "wake: a user who may not end a stranger's statement releases, and the waiter polls again", "[wake]") {
  {
    heard said;
    const auto stranger = open_store(fixture.tables.app_url("&schema=verify"));
    stranger->listen(said);
    stranger->prepare();
    const auto on = connect(*stranger, 5s);
    auto fence = holder.acquire("k");
    waiting_store waiter(fixture);
    REQUIRE(waiter.works());
    // After a few such releases it does not rely on being woken any more.
    CHECK(eventually([&] {
      const int before = waiter.listener.yes;
      const request ask{.action = verb::release, .resource = "k", .session = holder.id, .fence = fence, .wake = true};
      const reply freed = executed(*stranger, *on, ask);
      CHECK(answer(freed) == outcome::yes);
      CHECK(freed.waiters == 0);
      CHECK(eventually([&] { return waiter.listener.yes > before || waiter.listener.no > 0; }));
      fence = holder.acquire("k");
      waiter.unwatch();
      waiter.watch();
      static_cast<void>(eventually([&] { return waiter.listener.yes > before + 1 || waiter.listener.no > 0; }, 2s));
      return waiter.listener.no > 0;
    }));
    CHECK(said.reasons == 1);
    stranger->unlisten(said);
  }
}

TEST_CASE_METHOD(wake_fixture, "wake: without the waiter table releases work, and waiters poll", "[wake]") {
  root.run("DROP TABLE " + table("waiter"));
  heard said;
  holder.store->listen(said);
  const auto fence = holder.acquire("k");
  waiting_store waiter(fixture);
  CHECK(answer(release_and_wake(holder, fence)) == outcome::yes);
  CHECK_FALSE(holder.sees_held("k"));
  CHECK(said.reasons == 1);
  holder.store->unlisten(said);
  lock_service one(fixture.url(), {.close_limit = 0ms}), other(fixture.url() + "&schema=verify", {.close_limit = 0ms});
  std::optional<lease> held = one.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(other.acquire("k", {.wait = 60s})); });
  REQUIRE(eventually([&] { return other.statements() > 5; }));
  held.reset();
  CHECK(waits.get());
  CHECK(waiter.listener.yes == 0);
}

TEST_CASE_METHOD(wake_fixture, "wake: a look that saw the row of an earlier wait says nothing to the present one",
                 "[wake]") {
  const auto fence = holder.acquire("k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  const auto waits_for_table = [&](const std::string& statement) {
    raw_mysql other = raw_mysql::root();
    return eventually([&] {
      return !other
                  .rows(
                      "SELECT 1 FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%' AND INFO "
                      "LIKE '" +
                      statement + "%" + fixture.tables.prefix() + "waiter%'")
                  .empty();
    });
  };
  root.run("LOCK TABLES " + table("waiter") + " WRITE");
  REQUIRE(waits_for_table("SELECT"));
  // Meanwhile the wait ends with the key, and the process waits again.
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  const auto on = connect(*waiter.store, 5s);
  const request ask{.action = verb::take, .resource = "k", .session = holder.id, .nonce = 77};
  REQUIRE(answer(executed(*waiter.store, *on, ask)) == outcome::yes);
  waiter.unwatch();
  counting_listener again;
  waiter.store->watch("k", id128::random(), again);
  root.run("LOCK TABLES " + table("waiter") + " READ");
  CHECK(waits_for_table("DELETE"));
  CHECK(again.yes == 0);
  root.run("UNLOCK TABLES");
  CHECK(eventually([&] { return again.yes > 0; }));
  waiter.store->unwatch("k", {}, again);
}

TEST_CASE_METHOD(wake_fixture, "wake: a waiter table that lacks a column is said at the start, with what to do",
                 "[wake]") {
  const std::string lacks = GENERATE("held", "session_id", "the table");
  CAPTURE(lacks);
  const auto columns = [&] { return root.rows("SHOW COLUMNS FROM " + table("waiter") + " LIKE 'held'"); };
  const auto before = columns();
  if (lacks == "the table") {
    root.run("DROP TABLE " + table("waiter"));
  } else {
    root.run("ALTER TABLE " + table("waiter") + " DROP COLUMN " + lacks);
  }
  // The first service hears what the store said before there was any.
  const auto store = open_store(fixture.url() + "&schema=create");
  store->prepare();
  store->prepare();
  heard said;
  store->listen(said);
  CHECK(said.reasons == 1);
  CHECK_THAT(said.text(), Catch::Matchers::ContainsSubstring(table("waiter")));
  if (lacks != "the table") CHECK_THAT(said.text(), Catch::Matchers::ContainsSubstring("'w." + lacks + "'"));
  lock_service one(store, {.close_limit = 0ms}), other(fixture.url(), {.close_limit = 0ms});
  std::optional<lease> held = one.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(other.acquire("k", {.wait = 60s})); });
  REQUIRE(eventually([&] { return other.statements() > 5; }));
  CHECK(one.waiters("k").count == 0);
  held.reset();
  CHECK(waits.get());
  CHECK(said.reasons == 1);
  store->unlisten(said);
  if (lacks != "held") return;
  const auto text = said.text();
  root.run(text.substr(text.find("ALTER TABLE")));
  CHECK(columns() == before);
  waiting_store waiter(fixture);
  CHECK(waiter.works());
}

TEST_CASE_METHOD(wake_fixture, "wake: the example of docs/waiting.md", "[wake]") {
  const auto url = fixture.url();
  // clang-format off
  // [woken]
  dlock::lock_service locks(url);                         // wake=on, the default
  auto held = locks.acquire("order:42", {.wait = 1min});  // sleeps at the server; a release elsewhere ends that at once
  dlock::lock_service quiet(url + "&wake=off");           // polls, and has no connections that sleep
  // [/woken]
  // clang-format on
  CHECK(held);
  CHECK_FALSE(quiet.try_acquire("order:42"));
}

}  // namespace dlock::test
