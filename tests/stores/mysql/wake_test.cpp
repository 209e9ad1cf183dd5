// SPDX-License-Identifier: BSL-1.0

/// A release that wakes a waiter of another process: the waiter table, the wake ids, and what a release does with them.
/// What is the same on every store is in contract/store.

#include <fmt/format.h>
#include <malloc.h>

#include <cctype>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/waiting_store.hpp"
#include "dlock/multi_lease.hpp"
#include "stores/mysql/on_connection.hpp"
#include "stores/mysql/parked/parked_connection.hpp"
#include "stores/sql/deadlock_cycles.hpp"
#include "support/mysql_trigger.hpp"
#include "support/mysql_user.hpp"
#include "support/recording_observer.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

/// As the names of locks have it.
std::string upper_hex(const id128& wake_id) {
  auto digits = wake_id.hex();
  std::transform(digits.begin(), digits.end(), digits.begin(), [](unsigned char c) { return std::toupper(c); });
  return digits;
}

/// A process that waits for a key, and does not run: nobody ends its sleep.
struct stopped_waiter {
  stopped_waiter(mysql_store_fixture& at, const std::string& key) {
    for (const auto* const lock : {"", ".p"}) root.run(fmt::format("DO GET_LOCK('dlock.{}{}', 0)", wake_id, lock));
    root.run(
        fmt::format("INSERT INTO {} SELECT lock_key, acquired_at_us - 1000000, X'{}', X'{}', NULL FROM {} WHERE "
                    "lock_key = '{}'",
                    at.tables.table("waiter"), wake_id, wake_id, at.tables.table("lock"), key));
  }

  raw_mysql root = raw_mysql::root();
  const std::string wake_id = upper_hex(id128::random());
};

struct wake_fixture {
  mysql_store_fixture fixture{};
  raw_mysql root = raw_mysql::root();
  actor holder{fixture};

  std::string table(const char* name) { return fixture.tables.table(name); }
  std::vector<std::string> wake_ids(const std::string& key = "k") {
    std::vector<std::string> found;
    for (auto& row : root.rows("SELECT HEX(wake_id) FROM " + table("waiter") + " WHERE lock_key = '" + key +
                               "' ORDER BY since_us, wake_id")) {
      found.push_back(row.at(0).value_or(""));
    }
    return found;
  }
  /// The connection that sleeps with that wake id.
  std::string sleeper(const std::string& wake_id) {
    return root.rows("SELECT IS_USED_LOCK('dlock." + wake_id + "')").at(0).at(0).value_or("");
  }
  long kills() { return std::stol(root.rows("SHOW GLOBAL STATUS LIKE 'Com_kill'").at(0).at(1).value()); }
};

/// How many statements a service has sent that now sends no more: its waiter has polled once more after it was
/// registered.
std::uint64_t settled_statements(lock_service& of) {
  auto sent = of.statements();
  REQUIRE(eventually([&] {
    std::this_thread::sleep_for(50ms);
    return std::exchange(sent, of.statements()) == sent;
  }));
  return sent;
}

}  // namespace

TEST_CASE_METHOD(wake_fixture, "wake: who waits longest is woken, and no row of a dead waiter is in the way") {
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
  REQUIRE(wake_ids().size() == 3);
  unsigned woken = 7;
  fence = release_and_take(holder, fence, woken);
  CHECK(woken == (stranger_first ? 0 : 1));
}

TEST_CASE_METHOD(wake_fixture, "wake: the row of a waiter that is awake stays, however old, that of a dead one goes") {
  const auto awake = upper_hex(id128::random()), dead = upper_hex(id128::random());
  root.run("DO GET_LOCK('dlock." + awake + ".p', 0)");  // between two sleeps: nobody has its wake id
  holder.acquire("k");
  for (const auto& wake_id : {awake, dead}) {
    root.run(
        fmt::format("INSERT INTO {} SELECT 'old', acquired_at_us - 120000000, X'{}', X'{}', NULL FROM {} WHERE "
                    "lock_key = 'k'",
                    table("waiter"), wake_id, wake_id, table("lock")));
  }
  waiting_store waiter(fixture);
  REQUIRE(eventually([&] { return wake_ids("old").size() < 2; }));
  CHECK(wake_ids("old") == std::vector{awake});
}

TEST_CASE_METHOD(wake_fixture, "wake: a parked connection that was killed is told of, and made again") {
  auto fence = holder.acquire("k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  root.run("KILL " + sleeper(wake_ids().at(0)));
  CHECK(eventually([&] { return waiter.listener.no != 0; }));
  CHECK(waiter.works());
  unsigned woken = 0;
  CHECK(eventually([&] {
    fence = release_and_take(holder, fence, woken);
    return woken == 1;
  }));
}

TEST_CASE_METHOD(wake_fixture, "wake: the end of a store whose server is mute waits for a moment") {
  auto url = fixture.url();
  const auto port = store_url::parse(url).hosts.at(0).port;
  tcp_proxy proxy{port};
  const auto direct = fmt::format(":{}/", port);
  auto store = open_store(url.replace(url.find(direct), direct.size(), fmt::format(":{}/", proxy.port())));
  store->prepare();
  holder.acquire("k");
  auto waiter = std::make_unique<waiting_store>(std::move(store));
  REQUIRE(waiter->works());
  proxy.fall_silent();
  waiter->unwatch();  // its thread asks the server to forget the waiter
  std::this_thread::sleep_for(50ms);
  const auto begun = std::chrono::steady_clock::now();
  waiter.reset();
  CHECK(std::chrono::steady_clock::now() - begun < 2s);  // a statement's limit is 5 s
}

TEST_CASE_METHOD(wake_fixture, "wake: a look at those who wait leaves out none that is between two sleeps") {
  const auto awake = upper_hex(id128::random());
  root.run("DO GET_LOCK('dlock." + awake + ".p', 0)");  // so is this one
  holder.acquire("k");
  root.run(fmt::format("INSERT INTO {} SELECT 'k', acquired_at_us, X'{}', X'{}', NULL FROM {} WHERE lock_key = 'k'",
                       table("waiter"), awake, awake, table("lock")));
  lock_service locks(fixture.open(), patient());
  CHECK(locks.waiters("k").count == 1);
  const auto held = locks.held_keys();
  REQUIRE(held.size() == 1);
  CHECK(held[0].waiters == 1);
}

TEST_CASE_METHOD(wake_fixture, "wake: a process that closes a cycle wakes the one that has to break it at once") {
  const auto a = holder.acquire("a"), b = holder.acquire("b");
  // The other process sleeps, holds `b`, and waits for `a`.
  const auto wake_id = upper_hex(id128::random());
  auto other = raw_mysql::root();
  for (const auto* const lock : {"", ".p"}) other.run(fmt::format("DO GET_LOCK('dlock.{}{}', 0)", wake_id, lock));
  const bool breaks = GENERATE(true, false);  // its wait ends first, or that of the one that closes the cycle
  CAPTURE(breaks);
  const lock_held_meanwhile theirs{
      .key = "b", .session = holder.id, .fence = b, .until = breaks ? instant{1us} : instant::max()};
  const auto held = stores::sql::write_held({.locks = {theirs}}, instant{});
  root.run(
      fmt::format("INSERT INTO {0} SELECT 'a', acquired_at_us, X'{1}', X'{1}', CONCAT(acquired_at_us, '{2}') "
                  "FROM {3} WHERE lock_key = 'a'",
                  table("waiter"), wake_id, held, table("lock")));
  const auto before = kills();
  const auto mine = fixture.open();
  nested_listener listener;
  listener.held = {.key = "a", .session = holder.id, .fence = a, .until = boot_clock::now() + 1h};
  mine->watch("b", listener.held.session, listener);
  CHECK(eventually([&] { return listener.heard > 0; }));
  // It asks for the other wait's confirmation, or for the end of it.
  CHECK(eventually([&] { return kills() > before; }));
  mine->unwatch("b", {}, listener);
}

TEST_CASE_METHOD(wake_fixture, "wake: a waiter whose row somebody has removed enters it again, at its place") {
  holder.acquire("k");
  waiting_store waiter(fixture), later(fixture);
  REQUIRE(waiter.works());
  REQUIRE(later.works());
  const auto before = wake_ids();
  REQUIRE(before.size() == 2);
  root.run("DELETE FROM " + table("waiter") + " WHERE wake_id = X'" + before.front() + "'");
  CHECK(eventually([&] { return wake_ids() == before; }));
}

TEST_CASE_METHOD(wake_fixture, "wake: a waiter that does not run keeps the others waiting once, for a second") {
  auto fence = holder.acquire("k");
  const stopped_waiter stopped(fixture, "k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  std::this_thread::sleep_for(1s);  // so that its checks come seldom
  for (int i = 0; i != 3; ++i) {
    const int before = waiter.listener.yes;
    const auto begun = std::chrono::steady_clock::now();
    const auto freed = release_and_wake(holder, fence);
    REQUIRE(answer(freed) == outcome::yes);
    CHECK(eventually([&] { return waiter.listener.yes > before; }));
    CHECK(std::chrono::steady_clock::now() - begun < (i == 0 ? 1'500ms : 250ms));
    fence = holder.acquire("k");
    CHECK(wake_ids().front() != stopped.wake_id);
    REQUIRE(eventually([&] { return !sleeper(wake_ids().front()).empty(); }));
  }
}

TEST_CASE_METHOD(wake_fixture, "wake: a process that enters and leaves its row reads no row of another waiter") {
  // A statement that read this one would wait for its lock.
  const auto other = upper_hex(id128::random());
  holder.acquire("k");
  root.run(
      fmt::format("INSERT INTO {} SELECT 'k', acquired_at_us - 1000000, X'{}', X'{}', NULL FROM {} WHERE "
                  "lock_key = 'k'",
                  table("waiter"), other, other, table("lock")));
  auto auditor = raw_mysql::root();
  auditor.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");  // locks no gaps
  auditor.run("START TRANSACTION");
  auditor.run("SELECT * FROM " + table("waiter") + " WHERE wake_id = X'" + other + "' FOR UPDATE");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  CHECK(wake_ids().size() == 2);
  waiter.unwatch();
  CHECK(eventually([&] { return wake_ids().size() == 1; }));
  waiter.watch();
}

TEST_CASE_METHOD(wake_fixture, "wake: a process finds its row also if the waiter table has a trigger") {
  audit log(fixture.tables);
  log.watch(table("waiter"), "AFTER INSERT");
  const auto fence = holder.acquire("k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  CHECK(release_and_wake(holder, fence).waiters == 1);
  CHECK(eventually([&] { return waiter.listener.yes > 1; }));
  waiter.unwatch();
  CHECK(eventually([&] { return wake_ids().empty(); }));
  waiter.watch();
}

TEST_CASE_METHOD(wake_fixture, "wake: who was woken and leaves without the key wakes the next") {
  auto fence = holder.acquire("k");
  waiting_store first(fixture);
  REQUIRE(first.works());
  waiting_store second(fixture);
  REQUIRE(second.works());
  const int before = first.listener.yes, second_before = second.listener.yes;
  const auto killed = kills();
  unsigned woken = 0;
  fence = release_and_take(holder, fence, woken);
  REQUIRE(woken == 1);
  REQUIRE(eventually([&] { return first.listener.yes > before; }));
  CHECK(kills() == killed + 1);
  first.unwatch();
  CHECK(eventually([&] { return kills() == killed + 2; }));
  CHECK(eventually([&] { return second.listener.yes > second_before; }));
}

TEST_CASE_METHOD(wake_fixture, "wake: a process has a row only once a release can see that it sleeps") {
  holder.acquire("k");
  const auto rows = "SELECT IS_USED_LOCK(CONCAT('dlock.', HEX(wake_id))) FROM " + table("waiter");
  for (int i = 0; i != 20; ++i) {
    waiting_store waiter(fixture);
    decltype(root.rows(rows)) found;
    REQUIRE(eventually([&] { return !(found = root.rows(rows)).empty(); }));
    CHECK(found.at(0).at(0).has_value());
    waiter.unwatch();
    REQUIRE(eventually([&] { return root.rows(rows).empty(); }));
  }
}

TEST_CASE_METHOD(wake_fixture, "wake: who finds that the holder had to wait itself is registered at once") {
  REQUIRE(answer(holder.release("k", holder.acquire("k"))) == outcome::yes);
  const auto statements = [&](bool holder_waited) {
    holder.nonce += holder.nonce % 2 == (holder_waited ? 0 : 1) ? 0 : 1;  // the next one is odd, or even
    const auto fence = holder.acquire("k");
    REQUIRE((holder.nonce % 2 != 0) == holder_waited);
    lock_service locks(fixture.url(), patient());
    auto waits = std::async(std::launch::async, [&] { return granted(locks.acquire("k")); });
    REQUIRE(eventually([&] { return wake_ids().size() == 1; }));
    const auto sent = settled_statements(locks);
    release_and_wake(holder, fence);
    CHECK(waits.get());
    return sent;
  };
  CHECK(statements(true) == 3);  // a take, and a poll before and after it is registered
  bool polls_more = false;       // a busy machine may make the first poll so late that there is no other one
  for (int i = 0; i != 10 && !polls_more; ++i) polls_more = statements(false) > 3;
  CHECK(polls_more);
}

TEST_CASE_METHOD(wake_fixture, "wake: who has just handed the key over registers before it asks for it again") {
  const bool at_once = GENERATE(true, false);
  CAPTURE(at_once);
  const auto sleeps = [&](const std::string& but) {
    return eventually([&] {
      const auto ids = wake_ids();
      return ids.size() == 1 && ids.front() != but && !sleeper(ids.front()).empty();
    });
  };
  std::uint64_t fewest = 100;
  // It may come back later than it should, and another process may be slow to take the key.
  for (int i = 0; i != 30 && fewest > (at_once ? 1 : 2); ++i) {
    lock_service locks(fixture.url(), patient());
    const auto first = holder.acquire("k");
    auto waited = std::async(std::launch::async, [&] { return locks.acquire("k"); });
    REQUIRE(sleeps(""));
    release_and_wake(holder, first);
    auto held = waited.get();
    waiting_store waiter(fixture);
    REQUIRE(waiter.works());
    const auto other = wake_ids().back();
    holder.nonce += holder.nonce % 2 == 0 ? 0 : 1;  // the next one is odd: its release looks for a waiter
    held.release();
    const auto fence = holder.acquire("k");
    if (!at_once) std::this_thread::sleep_for(20ms);
    const auto sent = locks.statements();
    auto waits = std::async(std::launch::async, [&] {
      return granted(locks.acquire("k", {.wait = 1min, .retry = {.pause = 1s, .max_pause = 1s, .jitter = 0}}));
    });
    waiter.unwatch();
    REQUIRE(sleeps(other));
    fewest = std::min(fewest, settled_statements(locks) - sent);
    release_and_wake(holder, fence);
    CHECK(waits.get());
  }
  // A poll; and a take before, if another process may have released the key meanwhile.
  CHECK(fewest == (at_once ? 1 : 2));
}

TEST_CASE_METHOD(wake_fixture, "wake: who was woken and gets the key does not sleep again") {
  lock_service locks(fixture.url(), patient());
  bool slept = true;
  for (int i = 0; i != 10 && slept; ++i) {  // it does if the take lasts for longer than it waits for that
    const auto fence = holder.acquire("k");
    auto waits = std::async(std::launch::async, [&] { return locks.acquire("k"); });
    REQUIRE(eventually([&] { return wake_ids().size() == 1 && !sleeper(wake_ids().front()).empty(); }));
    const auto wake_id = wake_ids().front();
    const auto before = settled_statements(locks);
    CHECK(release_and_wake(holder, fence).waiters == 1);
    const auto held = waits.get();
    CHECK(locks.statements() == before + 1);
    CHECK(eventually([&] { return wake_ids().empty(); }));
    slept = !sleeper(wake_id).empty();
  }
  CHECK_FALSE(slept);
}

TEST_CASE_METHOD(wake_fixture, "wake: a KILL that was meant for a wait that has ended wakes the next waiter") {
  waiting_store next(fixture);
  bool passed_on = false;
  for (int i = 0; i != 10 && !passed_on; ++i) {  // it comes soon after, as a rule
    const auto fence = holder.acquire("k");
    waiting_store first(fixture);
    REQUIRE(first.works());
    REQUIRE(next.works());
    const auto rows = wake_ids();
    REQUIRE(rows.size() == 2);
    const auto chosen = sleeper(rows.back());
    REQUIRE_FALSE(chosen.empty());
    first.unwatch();
    REQUIRE(eventually([&] { return wake_ids().size() == 1; }));
    const auto before = kills();
    REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
    root.run("KILL QUERY " + chosen);
    passed_on = eventually([&] { return kills() == before + 2; }, 500ms);
  }
  CHECK(passed_on);
}

TEST_CASE_METHOD(wake_fixture,
                 "wake: a user who may not end a stranger's statement releases, and the waiter polls again") {
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

TEST_CASE_METHOD(wake_fixture, "wake: a key that is free on its way to an earlier waiter is no reason to poll") {
  const auto earlier = upper_hex(id128::random());
  root.run("DO GET_LOCK('dlock." + earlier + ".p', 0)");  // it is awake: nobody has its wake id
  const auto store = fixture.open();
  for (int i = 0; i != 10; ++i) {
    const auto key = fmt::format("k{}", i);
    const auto fence = holder.acquire(key);
    root.run(
        fmt::format("INSERT INTO {} SELECT lock_key, acquired_at_us - 1, X'{}', X'{}', NULL FROM {} WHERE "
                    "lock_key = '{}'",
                    table("waiter"), earlier, id128::random().hex(), table("lock"), key));
    waiting_store waiter(store, key);
    REQUIRE(waiter.works());
    const int before = waiter.listener.yes;
    REQUIRE(answer(holder.release(key, fence)) == outcome::yes);
    REQUIRE(eventually([&] { return waiter.listener.yes > before; }));
    CHECK(waiter.listener.no == 0);
  }
}

TEST_CASE_METHOD(wake_fixture, "wake: many keys that become free in one moment without a ring are no reason to poll") {
  // As after a network that stood still: the rings are late, or lost.
  heard said;
  const auto store = fixture.open();
  store->listen(said);
  std::vector<std::unique_ptr<waiting_store>> waiters;
  for (int i = 0; i != 8; ++i) {
    holder.acquire(fmt::format("k{}", i));
    waiters.push_back(std::make_unique<waiting_store>(store, fmt::format("k{}", i)));
    REQUIRE(waiters.back()->works());
  }
  std::vector<int> before;
  for (const auto& each : waiters) before.push_back(each->listener.yes);
  root.run("UPDATE " + table("lock") + " SET session_id = NULL WHERE lock_key LIKE 'k_'");
  for (std::size_t i = 0; i != waiters.size(); ++i) {
    CHECK(eventually([&] { return waiters[i]->listener.yes > before[i]; }));
    CHECK(waiters[i]->listener.no == 0);
  }
  CHECK(said.reasons == 0);
  waiters.clear();
  store->unlisten(said);
}

TEST_CASE_METHOD(wake_fixture, "wake: of many keys that a process waits for, the one that is released is notified") {
  const auto store = fixture.open();
  std::vector<std::unique_ptr<waiting_store>> waiters;
  std::vector<std::uint64_t> fences;
  const auto name = [](std::size_t i) { return fmt::format("k{}", i); };
  for (std::size_t i = 0; i != 100; ++i) {
    fences.push_back(holder.acquire(name(i)));
    waiters.push_back(std::make_unique<waiting_store>(store, name(i)));
  }
  for (const auto& each : waiters) REQUIRE(each->works());
  for (std::size_t i = 0; i != 100; i += 25) {
    REQUIRE(eventually([&] { return !sleeper(wake_ids(name(i)).at(0)).empty(); }));
    const int before = waiters[i]->listener.yes, before_of_next = waiters[i + 1]->listener.yes;
    const request ask{
        .action = verb::release, .resource = name(i), .session = holder.id, .fence = fences[i], .wake = true};
    const auto freed = holder.run(ask);
    CHECK(answer(freed) == outcome::yes);
    CHECK(freed.waiters == 1);
    CHECK(eventually([&] { return waiters[i]->listener.yes > before; }));
    CHECK(waiters[i + 1]->listener.yes == before_of_next);
  }
}

TEST_CASE_METHOD(wake_fixture, "wake: cancels of what was granted wake a waiter as well") {
  const bool several = GENERATE(false, true);
  CAPTURE(several);
  std::vector<request> cancels;
  for (const char* const key : {"k", "l"}) {
    holder.acquire(key);
    cancels.push_back(
        {.action = verb::cancel, .resource = key, .session = holder.id, .nonce = holder.nonce, .wake = true});
  }
  if (!several) cancels.pop_back();
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  const auto replies = holder.run(cancels);
  for (const auto& each : replies) CHECK(answer(each) == outcome::yes);
  CHECK(replies[0].waiters == 1);
}

TEST_CASE_METHOD(wake_fixture, "wake: a release wakes a waiter also if the lock table has a trigger") {
  auto fence = holder.acquire("k");
  audit log(fixture.tables);
  log.watch("`locks`." + table("lock"), "AFTER UPDATE");
  unsigned woken = 7;
  fence = release_and_take(holder, fence, woken);
  CHECK(woken == 0);
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  REQUIRE(eventually([&] { return !sleeper(wake_ids().at(0)).empty(); }));
  const int before = waiter.listener.yes;
  fence = release_and_take(holder, fence, woken);
  CHECK(woken == 1);
  CHECK(eventually([&] { return waiter.listener.yes > before; }));
}

TEST_CASE_METHOD(wake_fixture, "wake: a process with wake=off wakes waiters of others") {
  lock_service quiet(fixture.url() + "&wake=off", patient()), mine(fixture.url(), patient());
  std::vector<std::string> keys{"k"};
  if (GENERATE(false, true)) keys.push_back("l");
  std::optional<multi_lease> held = quiet.acquire_all(keys);
  auto waits = std::async(std::launch::async, [&] { return granted(mine.acquire("k")); });
  REQUIRE(eventually([&] { return wake_ids().size() == 1 && !sleeper(wake_ids().front()).empty(); }));
  const auto before = kills();
  held.reset();
  CHECK(kills() == before + 1);
  CHECK(waits.get());
}

TEST_CASE_METHOD(wake_fixture,
                 "wake: by a proxy with connection numbers of its own no KILL is sent, and waiters poll") {
  tcp_proxy proxy(fixture.tables.port());
  proxy.count_by_itself();
  const auto url = fixture.tables.url_by({proxy.port()});
  auto observer = std::make_shared<recording_observer>();
  lock_service far(url, {.observer = observer}), near(fixture.url(), patient());
  const auto said = [&] { return observer->count(event::kind::waiters_poll) == 1; };
  std::optional<lease> held = far.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(near.acquire("k")); });
  REQUIRE(eventually([&] { return near.waiters("k").count == 1; }));
  const auto before = kills();
  held.reset();
  CHECK(eventually(said));
  CHECK(kills() == before);  // the waiter finds it by itself
  CHECK(waits.get());

  held = near.acquire("l");
  auto observer_of_next = std::make_shared<recording_observer>();
  lock_service next(url, {.observer = observer_of_next});
  waits = std::async(std::launch::async, [&] { return granted(next.acquire("l", {.wait = 60s})); });
  CHECK(eventually([&] { return observer_of_next->count(event::kind::waiters_poll) == 1; }));
  held.reset();
  CHECK(waits.get());
}

TEST_CASE_METHOD(wake_fixture, "wake: what sleeps at the server is no slow query by the server's defaults") {
  CHECK(static_cast<double>(stores::mysql::parked::parked_connection::slice.count()) <
        std::stod(root.one("SELECT @@global.long_query_time")));
}

TEST_CASE_METHOD(wake_fixture, "wake: a release with wake=off needs no waiter table, and says nothing of it") {
  const std::string lacks = GENERATE("a right", "the table");
  CAPTURE(lacks);
  mysql_user user("dlock_quiet_" + id128::random().hex().substr(0, 8));
  for (const char* const name : {"lock", "session", "floor", "schema_version"})
    user.grant("SELECT, INSERT, UPDATE, DELETE ON " + table(name));
  if (lacks == "the table") {
    user.grant("SELECT ON " + table("waiter"));
    root.run("DROP TABLE " + table("waiter"));
  }
  heard said;
  const auto store = open_store(user.url(fixture.url() + "&wake=off&schema=none"));
  store->listen(said);
  store->prepare();
  const auto on = connect(*store);
  for (const unsigned statements : {2U, 1U}) {  // it has learnt that there is none
    const request ask{
        .action = verb::release, .resource = "k", .session = holder.id, .fence = holder.acquire("k"), .wake = true};
    const auto freed = executed(*store, *on, ask);
    CHECK(answer(freed) == outcome::yes);
    CHECK(freed.statements == statements);
    CHECK_FALSE(holder.sees_held("k"));
  }
  CHECK(said.reasons == 0);
  store->unlisten(said);
}

TEST_CASE_METHOD(wake_fixture, "wake: without the waiter table releases work, and waiters poll") {
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
  check_polls(one, other);
  CHECK(waiter.listener.yes == 0);
}

TEST_CASE_METHOD(wake_fixture, "wake: a release frees the key whatever is wrong with the rows of waiters") {
  root.run("DROP TABLE " + table("waiter"));
  root.run("CREATE TABLE " + table("gone") +
           " (lock_key VARBINARY(255), since_us BIGINT, wake_id BINARY(16), session_id "
           "BINARY(16), held TEXT)");
  root.run("CREATE VIEW " + table("waiter") + " AS SELECT * FROM " + table("gone"));
  root.run("DROP TABLE " + table("gone"));
  CHECK(answer(release_and_wake(holder, holder.acquire("k"))) == outcome::yes);
  CHECK_FALSE(holder.sees_held("k"));
  lock_service locks(fixture.url() + "&schema=verify");
  for (const auto mode : {exclusive, shared, one_of(2)}) {
    locks.acquire("l", {.mode = mode}).release();
    locks.acquire("l", {.mode = mode}).release();  // to a key that is known
  }
  CHECK(locks.held_keys().empty());
  root.run("DROP VIEW " + table("waiter"));
}

TEST_CASE_METHOD(wake_fixture, "wake: without the waiter table nothing is kept of keys that were waited for") {
  root.run("DROP TABLE " + table("waiter"));
  heard said;
  const auto store = fixture.open();
  store->listen(said);
  const auto bytes_used = [] { return ::mallinfo2().uordblks; };  // with a sanitizer: 0
  const auto wait_for_keys = [&](int first) {
    std::vector<std::unique_ptr<waiting_store>> waiters;
    for (int i = first; i != first + 500; ++i)
      waiters.push_back(std::make_unique<waiting_store>(store, fmt::format("{:0>250}", i)));
  };
  wait_for_keys(0);
  REQUIRE(eventually([&] { return said.reasons == 1; }));
  const auto before = bytes_used();
  for (int i = 1; i != 40; ++i) wait_for_keys(500 * i);
  CHECK(eventually([&] { return bytes_used() < before + 1'000'000; }));
  store->unlisten(said);
}

TEST_CASE_METHOD(wake_fixture, "wake: a look that saw the row of an earlier wait says nothing to the present one") {
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

TEST_CASE_METHOD(wake_fixture, "wake: a waiter table that lacks a column is said at the start, with what to do") {
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
  check_polls(one, other, [&] { CHECK(one.waiters("k").count == 0); });
  CHECK(said.reasons == 1);
  store->unlisten(said);
  if (lacks != "held") return;
  const auto text = said.text();
  root.run(text.substr(text.find("ALTER TABLE")));
  CHECK(columns() == before);
  waiting_store waiter(fixture);
  CHECK(waiter.works());
}

TEST_CASE_METHOD(wake_fixture, "wake: the example of docs/waiting.md") {
  const auto url = fixture.url();
  // clang-format off
  // [woken]
  dlock::lock_service locks(url);                         // wake=on, the default
  auto held = locks.acquire("order:42", {.wait = 1min});  // sleeps at the server; a release elsewhere ends that at once
  dlock::lock_service quiet(url + "&wake=off");           // polls, and has no connections that sleep
  // [/woken]
  // clang-format on
  CHECK(held);
  CHECK_FALSE(granted(quiet.try_acquire("order:42")));
}

// Tables of other programs with wake=on: a release by dlock wakes a waiter, and what a program frees by its own SQL is
// found by polling. The contract suite "wake" runs on them, too.

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

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a release wakes who waits longest, and no dead waiter") {
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

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a release that looks for nobody is one statement") {
  const bool woken = GENERATE(false, true);
  CAPTURE(woken);
  const auto plain = make_team_fixture(scheme);
  actor one(woken ? *team : *plain);
  CHECK(one.store->caps().wakes_one() == woken);
  CHECK(one.store->caps().others_release() == woken);
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

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, a waiter polls on, and looks, for other programs") {
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

TEST_CASE_METHOD(team_wake_fixture,
                 "wake: on a team's table, a key that becomes free without a word is seen by a look") {
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

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, keys of another lock table are other keys") {
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

TEST_CASE("wake: on t_lock, the last release of a request wakes, and none before") {
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

TEST_CASE_METHOD(team_wake_fixture, "wake: on a team's table, without the waiter table or a right, waiters poll") {
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
  const int reasons = lacks == "nothing" ? 0 : 1;
  check_polls(one, other, [&] {
    waiting_store waiter(store);
    const bool registers = lacks == "nothing" || lacks == "DELETE";
    CHECK(eventually([&] { return registers ? waiter.works() : said.reasons == 1; }));
    waiter.unwatch();
    CHECK(eventually([&] { return said.reasons == reasons; }));
  });
  CHECK(said.reasons == reasons);
  store->unlisten(said);
}

TEST_CASE_METHOD(team_wake_fixture, "wake: a team's table that is dropped is not taken for its waiter table") {
  heard said;
  const auto store = open_store(team->url());
  store->listen(said);
  store->prepare();
  waiting_store waiter(store);
  REQUIRE(waiter.works());
  root.run("DROP TABLE " + team->table());
  REQUIRE(eventually([&] { return said.reasons == 1; }));
  CHECK_THAT(said.text(), Catch::Matchers::ContainsSubstring("doesn't exist") &&
                              !Catch::Matchers::ContainsSubstring("dlock schema"));
  waiter.unwatch();
  store->unlisten(said);
}

TEST_CASE("wake: on a team's table, what the URL says of it is checked") {
  const auto owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const auto scheme = GENERATE("unique_insert", "state_row", "shedlock", "t_lock");
  const auto with = [&](const std::string& more) { return open_store(owner + "?scheme=" + scheme + more); };
  CHECK_FALSE(with("")->caps().wakes_one());
  CHECK_FALSE(with("&wake=off")->caps().wakes_one());
  CHECK(with("&wake=on")->caps().wakes_one());
  CHECK_THROWS_MATCHES(with("&wake=yes"), std::invalid_argument,
                       Catch::Matchers::Message("dlock: wake=yes is not on or off"));
  const std::string longest(51, 't');
  CHECK_NOTHROW(with("&wake=on&table=" + longest));
  CHECK_NOTHROW(with("&table=t" + longest));
  CHECK_THROWS_MATCHES(with("&wake=on&table=t" + longest), std::invalid_argument,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("table=t" + longest)));
}

// fairness::fifo in the waiter table; tests/contract/store/fifo_test.cpp has what is the same on every store.

namespace {

struct place {
  mysql_store_fixture fixture{};
};
struct fifo_fixture : place, ordered_key {
  fifo_fixture() : ordered_key(fixture) {}
};

}  // namespace

TEST_CASE_METHOD(fifo_fixture, "fifo: the row of a dead waiter keeps nobody from the key") {
  raw_mysql root = raw_mysql::root();
  root.run("INSERT INTO " + fixture.tables.table("waiter") + " SELECT 'k', acquired_at_us - 1, X'" +
           id128::random().hex() + "', X'" + id128::random().hex() + "', NULL FROM " + fixture.tables.table("lock") +
           " WHERE lock_key = 'k'");
  let_go();
  CHECK_FALSE(poll(other).holder.others_first);
  CHECK(answer(take(other)) == outcome::yes);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: a process that does not run is passed over once") {
  const stopped_waiter stopped(fixture, "k");
  lock_service locks(fixture.url(), {.defaults = {.ttl = 60s, .wait = 60s, .fairness = fairness::fifo}});
  let_go();
  CHECK_FALSE(granted(locks.try_acquire("k")));
  std::this_thread::sleep_for(350ms);
  for (int i = 0; i != 3; ++i) CHECK(granted(locks.try_acquire("k")));
}

TEST_CASE_METHOD(fifo_fixture, "fifo: beside a process that does not run, who releases the key overtakes nobody") {
  const stopped_waiter stopped(fixture, "k");
  const service_options in_order{.defaults = {.ttl = 60s, .wait = 60s, .fairness = fairness::fifo}};
  lock_service loops(fixture.url(), in_order), waits(fixture.url(), in_order);
  auto waiter = std::async(std::launch::async, [&] { return granted(waits.acquire("k")); });
  REQUIRE(eventually([&] { return loops.waiters("k").count == 2; }));
  let_go();
  const auto begun = std::chrono::steady_clock::now();
  int grants = 0;
  while (waiter.wait_for(0s) != std::future_status::ready && std::chrono::steady_clock::now() - begun < 10s) {
    const auto held = loops.acquire("k");
    ++grants;
    std::this_thread::sleep_for(20ms);
  }
  CHECK(std::chrono::steady_clock::now() - begun < 2s);
  CHECK(grants <= 1);
  CHECK(waiter.get());
}

TEST_CASE_METHOD(fifo_fixture, "fifo: a row that a dead holder's transaction has locked is busy at once") {
  raw_mysql root = raw_mysql::root();
  const bool over = GENERATE(false, true);
  CAPTURE(over);
  if (over) {
    REQUIRE(one.close() == outcome::yes);
  } else {
    let_go();
  }
  const seen left = poll(other).holder;
  REQUIRE(left.gone == over);
  const request asked{.action = over ? verb::take_over : verb::take,
                      .resource = "k",
                      .session = other.id,
                      .nonce = ++other.nonce,
                      .expected = &left,
                      .polled = true,
                      .in_order = true};
  root.run("BEGIN");
  root.run("SELECT * FROM " + fixture.tables.table("lock") + " WHERE lock_key = 'k' FOR UPDATE");
  const auto busy = without_waiting(*other.connection, [&] { return other.run(asked); });
  CHECK(busy.result == outcome::failed);
  CHECK(busy.why.contended);
  root.run("COMMIT");
  const auto taken = other.run(asked);
  CHECK(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: without the waiter table keys are taken as ever, and it is said once") {
  const auto store = fixture.open();
  heard news;
  store->listen(news);
  const auto on = connect(*store);
  raw_mysql::root().run("DROP TABLE " + fixture.tables.table("waiter"));
  let_go();
  for (const auto action : {verb::poll, verb::take}) {
    const request asked{
        .action = action, .resource = "k", .session = other.id, .nonce = ++other.nonce, .in_order = true};
    CHECK(answer(executed(*store, *on, asked)) == outcome::yes);
  }
  CHECK(news.reasons == 1);
  store->unlisten(news);
}

}  // namespace dlock::test
