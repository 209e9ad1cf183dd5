// SPDX-License-Identifier: BSL-1.0

/// Tables of other programs with wake=on: a release by dlock wakes a waiter, and what a program frees by its own SQL is
/// found by polling. The contract suite "wake" runs on them, too.

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/store_contract.hpp"
#include "contract/store/waiting_store.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/mysql_user.hpp"

namespace dlock::test {

namespace {

struct team_wake_fixture {
  const std::string scheme = GENERATE("unique_insert", "state_row", "t_lock");
  std::unique_ptr<team_table_fixture> team = make_team_fixture(scheme, "&wake=on");
  actor holder{*team};
  raw_mysql root = raw_mysql::root();

  /// As a program frees a key that knows nothing of waiters.
  void free_by_hand(const std::string& key = "k") {
    const std::string table = team->table();
    const auto changed =
        scheme == "unique_insert" ? root.run(fmt::format("DELETE FROM {} WHERE resource = '{}'", table, key))
        : scheme == "state_row"
            ? root.run(
                  fmt::format("UPDATE {} SET lock_state = 0 WHERE lock_name = '{}' AND lock_state = 1", table, key))
            : root.run(fmt::format("UPDATE {} SET request_id = '', lock_count = 0, timeout = 0, version = version + 1 "
                                   "WHERE lock_key = '{}'",
                                   table, key));
    REQUIRE(changed == 1);
  }
  std::string rows() { return root.one("SELECT COUNT(*) FROM " + team->waiter_table()); }
};

}  // namespace

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a release wakes who waits longest, and no dead waiter",
                 "[wake][team]") {
  auto fence = holder.acquire("k");
  for (const char* const since : {"1", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 1000000"}) {
    root.run(fmt::format("INSERT INTO {} VALUES ('k', {}, {}, {})", team->waiter_table(), since, hex(id128::random()),
                         hex(id128::random())));
  }
  waiting_store first(*team);
  REQUIRE(first.works());
  waiting_store second(*team);
  REQUIRE(second.works());
  REQUIRE(eventually([&] { return rows() == "3"; }));  // one has been dead for so long that its row goes
  const int before = first.listener.yes, second_before = second.listener.yes;
  const auto freed = release_and_wake(holder, fence);
  CHECK(answer(freed) == outcome::yes);
  CHECK(freed.waiters == 1);
  CHECK(freed.statements == 3);  // the release, who waits, KILL QUERY
  CHECK(eventually([&] { return first.listener.yes > before; }));
  // It leaves without the key.
  first.unwatch();
  CHECK(eventually([&] { return second.listener.yes > second_before; }));
  second.unwatch();
  CHECK(eventually([&] { return rows() == "1"; }));
}

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a release that looks for nobody is one statement",
                 "[wake][team]") {
  const bool woken = GENERATE(false, true);
  CAPTURE(woken);
  const auto plain = make_team_fixture(scheme);
  actor one(woken ? *team : *plain);
  CHECK(one.store->caps().wakes_one == woken);
  CHECK(one.store->caps().others_release == woken);
  const auto fence = one.acquire("k");
  const auto freed = one.release("k", fence);
  CHECK(answer(freed) == outcome::yes);
  CHECK(freed.statements == 1);
  // It is the same statement for both.
  const auto again = one.acquire("k");
  const auto looked = release_and_wake(one, again);
  CHECK(answer(looked) == outcome::yes);
  CHECK(looked.waiters == 0);
  CHECK(looked.statements == (woken ? 2 : 1));
}

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a waiter polls on, and looks, for other programs",
                 "[wake][team]") {
  lock_service mine(team->url(), {.defaults = {.ttl = 60s, .wait = 60s, .retry = {.pause = 5ms, .max_pause = 5ms}},
                                  .close_limit = 0ms,
                                  .cleanup_interval = 0ms});
  holder.acquire("k", for_long);
  waiting_store other(*team);
  REQUIRE(other.works());
  auto waits = std::async(std::launch::async, [&] { return granted(mine.acquire("k")); });
  REQUIRE(eventually([&] { return rows() == "2"; }));
  const auto before = mine.statements();
  REQUIRE(eventually([&] { return mine.statements() > before + 20; }));
  const int heard = other.listener.yes;
  free_by_hand();
  CHECK(waits.get());
  CHECK(eventually([&] { return other.listener.yes > heard || !holder.sees_held("k"); }));
}

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a key that becomes free without a word is seen by a look",
                 "[wake][team]") {
  const std::string key = "kö";  // in whatever character set the column has
  holder.acquire(key, for_long);
  waiting_store waiter(*team, key);
  REQUIRE(waiter.works());
  // As often as it likes: nobody takes that for a fault of the wake-ups.
  for (int i = 0; i != 5; ++i) {
    const int before = waiter.listener.yes;
    root.run("SET NAMES utf8mb4");
    free_by_hand(key);
    CHECK(eventually([&] { return waiter.listener.yes > before; }));
    holder.acquire(key, for_long);
    waiter.unwatch();
    const int heard = waiter.listener.yes;
    waiter.watch();
    REQUIRE(eventually([&] { return waiter.listener.yes > heard; }));  // it works again
  }
  CHECK(waiter.listener.no == 0);
}

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, keys of another lock table are other keys",
                 "[wake][team]") {
  const auto neighbour = make_team_fixture(scheme, "&wake=on");
  mysql_store_fixture lease_tables;
  actor elsewhere(*neighbour), at_leases(lease_tables);
  const auto fence = holder.acquire("k"), other_fence = elsewhere.acquire("k"), lease_fence = at_leases.acquire("k");
  waiting_store waiter(*team);
  REQUIRE(waiter.works());
  CHECK(release_and_wake(elsewhere, other_fence).waiters == 0);
  CHECK(release_and_wake(at_leases, lease_fence).waiters == 0);
  CHECK(release_and_wake(holder, fence).waiters == 1);
}

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a waiter whose row somebody has removed enters it again",
                 "[wake][team]") {
  holder.acquire("k");
  waiting_store waiter(*team);
  REQUIRE(waiter.works());
  REQUIRE(rows() == "1");
  root.run("DELETE FROM " + team->waiter_table());
  CHECK(eventually([&] { return rows() == "1"; }));
}

TEST_CASE("wake: on t_lock, the last release of a request wakes, and none before", "[wake][team]") {
  t_lock_fixture team("&wake=on");
  actor first(team), second(team);
  const std::string name = "order-17";
  request ask{.resource = "k", .kind = lease_kind::expiring, .ttl = for_long, .request_id = name};
  const auto run = [&](actor& by, verb action, bool wake = false) {
    ask.action = action;
    ask.session = by.id;
    ask.nonce = 7;
    ask.wake = wake;
    return by.run(ask);
  };
  REQUIRE(answer(run(first, verb::insert)) == outcome::yes);
  REQUIRE(answer(run(second, verb::take)) == outcome::yes);
  waiting_store waiter(team);
  REQUIRE(waiter.works());
  const auto inner = run(second, verb::release, true);
  CHECK(answer(inner) == outcome::yes);
  CHECK(inner.waiters == 0);
  const auto last = run(first, verb::release, true);
  CHECK(answer(last) == outcome::yes);
  CHECK(last.waiters == 1);
}

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, without the waiter table or a right, waiters poll",
                 "[wake][team]") {
  const std::string lacks = GENERATE("nothing", "DELETE", "INSERT", "SELECT", "the table");
  CAPTURE(lacks);
  mysql_user user("dlock_wake_" + id128::random().hex().substr(0, 8));
  user.grant("SELECT, INSERT, UPDATE, DELETE ON " + team->table());
  for (const std::string right : {"SELECT", "INSERT", "DELETE"}) {
    if (right != lacks) user.grant(right + " ON " + team->waiter_table());
  }
  if (lacks == "the table") root.run("DROP TABLE " + team->waiter_table());
  heard said;
  const auto store = open_store(user.url(team->url()));
  store->listen(said);
  store->prepare();
  lock_service one(store, {.close_limit = 0ms});
  lock_service other(user.url(team->url()), {.close_limit = 0ms});
  std::optional<lease> held = one.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(other.acquire("k", {.wait = 60s})); });
  waiting_store waiter(store);
  const bool registers = lacks == "nothing" || lacks == "DELETE";
  const int reasons = lacks == "nothing" ? 0 : 1;
  CHECK(eventually([&] { return registers ? waiter.works() : said.reasons == 1; }));
  waiter.unwatch();
  CHECK(eventually([&] { return said.reasons == reasons; }));
  REQUIRE(eventually([&] { return other.statements() > 5; }));
  held.reset();
  CHECK(waits.get());
  CHECK(said.reasons == reasons);
  store->unlisten(said);
}

TEST_CASE("wake: on a team's table, what the URL says of it is checked", "[wake][team]") {
  const auto owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const auto scheme = GENERATE("unique_insert", "state_row", "t_lock");
  const auto with = [&](const std::string& more) { return open_store(owner + "?scheme=" + scheme + more); };
  CHECK_FALSE(with("")->caps().wakes_one);
  CHECK_FALSE(with("&wake=off")->caps().wakes_one);
  CHECK(with("&wake=on")->caps().wakes_one);
  CHECK_THROWS_MATCHES(with("&wake=yes"), std::invalid_argument,
                       Catch::Matchers::Message("dlock: wake=yes is not on or off"));
  const std::string longest(51, 't');
  CHECK_NOTHROW(with("&wake=on&table=" + longest));
  CHECK_NOTHROW(with("&table=t" + longest));
  CHECK_THROWS_MATCHES(with("&wake=on&table=t" + longest), std::invalid_argument,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("table=t" + longest)));
}

}  // namespace dlock::test
