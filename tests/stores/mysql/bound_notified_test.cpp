// SPDX-License-Identifier: BSL-1.0

/// Who waits for a lock that is bound to a connection: a connection waits at the server in his place, and tells. In
/// these tests nobody who waits looks again of his own accord.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/waiting_store.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/client/statement.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"
#include "support/in_child.hpp"
#include "support/mysql_global_setting.hpp"

namespace dlock::test {

namespace {

struct notified_fixture {
  const std::string scheme = GENERATE(as<std::string>{}, "named_lock", "for_update");
  std::unique_ptr<store_fixture> fixture = make_bound_fixture(scheme);
  raw_mysql root = raw_mysql::root();

  /// The connections that wait at the server for a key of this place.
  std::vector<std::string> waiting() {
    const auto* const table = dynamic_cast<for_update_fixture*>(fixture.get());
    const auto ours = table != nullptr
                          ? "INFO LIKE '%" + table->table() + "%SHARE%' AND INFO NOT LIKE '%NOWAIT%'"
                          : "INFO LIKE '%GET_LOCK(%" + dynamic_cast<named_lock_fixture&>(*fixture).prefix() + "%, 5)%'";
    std::vector<std::string> found;
    for (auto& row : root.rows("SELECT ID FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND " + ours)) {
      found.push_back(row.at(0).value_or(""));
    }
    return found;
  }
};

}  // namespace

TEST_CASE_METHOD(notified_fixture, "bound: who waits is told when the key is released, and sends nothing before",
                 "[notified]") {
  CAPTURE(scheme);
  lock_service other(fixture->url(), patient()), mine(fixture->url(), patient());
  std::optional<lease> held = other.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(mine.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().size() == 1; }));
  // Told that it works, it has asked once more.
  std::uint64_t sent = 0;
  REQUIRE(eventually([&] {
    const auto before = std::exchange(sent, mine.statements());
    ::usleep(50'000);
    return sent != 0 && before == sent;
  }));
  CHECK(mine.statements() == sent);
  held.reset();
  CHECK(waits.get());
  CHECK(other.try_acquire("k"));
}

TEST_CASE_METHOD(notified_fixture, "bound: who waits is told at once when the holder dies", "[notified]") {
  CAPTURE(scheme);
  lock_service mine(fixture->url(), patient());
  std::optional<actor> other(*fixture);
  other->acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(mine.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().size() == 1; }));
  other.reset();
  CHECK(waits.get());
}

TEST_CASE_METHOD(notified_fixture, "bound: a connection that waits is lost, told of, and made again", "[notified]") {
  CAPTURE(scheme);
  actor holder(*fixture);
  const auto fence = holder.acquire("k");
  const auto store = fixture->open();
  counting_listener listener;
  store->watch("k", {}, listener);
  std::vector<std::string> waits;
  REQUIRE(eventually([&] { return listener.yes != 0 && !(waits = waiting()).empty(); }));
  root.run("KILL " + waits.at(0));
  REQUIRE(eventually([&] { return listener.no != 0; }));
  const int lost = listener.no;
  REQUIRE(eventually([&] { return listener.yes > lost; }));
  const int again = listener.yes;
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  REQUIRE(eventually([&] { return listener.yes > again; }));
  store->unwatch("k", {}, listener);
  const int last = listener.yes;
  // Whatever was under way holds nothing at its end.
  CHECK(eventually([&] { return answer(holder.take("k")) == outcome::yes; }));
  CHECK(listener.yes == last);
}

// Connections wait for one key for 5 s, so the keys of a slow test may have changed their turns at any moment.
TEST_CASE_METHOD(notified_fixture, "bound: a connection that waits for a key without listeners goes to another key",
                 "[notified]") {
  CAPTURE(scheme);
  actor holder(*fixture);
  std::vector<std::uint64_t> fences;
  for (const char* key : {"1", "2", "3"}) fences.push_back(holder.acquire(key));
  const auto store = open_store(fixture->url() + "&waiters=2");
  store->prepare();
  counting_listener first, second, third;
  store->watch("1", {}, first);
  store->watch("2", {}, second);
  REQUIRE(eventually([&] { return first.yes != 0 && second.yes != 0; }));
  store->watch("3", {}, third);
  store->unwatch("2", {}, second);
  REQUIRE(eventually([&] { return third.yes != 0; }));
  CHECK(eventually([&] { return waiting().size() == 2; }));
  const int before = third.yes;
  REQUIRE(answer(holder.release("3", fences[2])) == outcome::yes);
  CHECK(eventually([&] { return third.yes > before; }));
  store->unwatch("1", {}, first);
  store->unwatch("3", {}, third);
  CHECK_FALSE(open_store(fixture->url() + "&waiters=0")->caps().tells_free);
}

TEST_CASE_METHOD(notified_fixture,
                 "bound: of the keys without a connection that waits the next is the one that waits longest",
                 "[notified]") {
  CAPTURE(scheme);
  struct event {
    std::string key;
    bool works;
  };
  struct logged final : key_listener {
    logged(std::string of, std::mutex& by, std::vector<event>& into) : key(std::move(of)), mutex(by), events(into) {}
    void may_be_free(bool works) noexcept override {
      const std::lock_guard lock(mutex);
      events.push_back({key, works});
    }
    std::string key;
    std::mutex& mutex;
    std::vector<event>& events;
  };
  std::mutex mutex;
  std::vector<event> events;
  const auto so_far = [&] {
    const std::lock_guard lock(mutex);
    return events;
  };
  const auto last = [&](const std::string& key) {
    std::optional<bool> works;
    for (const auto& each : so_far()) {
      if (each.key == key) works = each.works;
    }
    return works;
  };
  actor holder(*fixture);
  std::map<std::string, std::uint64_t> fences;
  for (const char* key : {"0", "1", "2", "3"}) fences[key] = holder.acquire(key);
  const auto store = open_store(fixture->url() + "&waiters=2");
  store->prepare();
  std::map<std::string, logged> listeners;
  const auto watch = [&](const char* key) {
    const auto listener_of_key = listeners.try_emplace(key, key, mutex, events).first;
    store->watch(key, {}, listener_of_key->second);
  };
  // Whoever waits for it at the server gets it, and its connection goes to another key.
  const auto free_and_take = [&](const char* key) {
    const auto before = so_far().size();
    REQUIRE(answer(holder.release(key, fences[key])) == outcome::yes);
    REQUIRE(eventually([&] {
      const auto now = so_far();
      return std::any_of(now.begin() + static_cast<std::ptrdiff_t>(before), now.end(),
                         [&](const event& each) { return each.key == key && each.works; });
    }));
    fences[key] = holder.acquire(key);
  };
  watch("1");
  watch("2");
  REQUIRE(eventually([&] { return last("1") == true && last("2") == true; }));
  watch("3");
  free_and_take("1");
  // The third one has the connection that was the first one's, or the second one's.
  std::size_t seen = 0;
  std::vector<std::string> without;
  REQUIRE(eventually([&] {
    without.clear();
    seen = so_far().size();
    for (const char* key : {"1", "2", "3"}) {
      if (last(key) == false) without.emplace_back(key);
    }
    return last("3").has_value() && !without.empty() && so_far().size() == seen;
  }));
  watch("0");
  free_and_take("2");
  REQUIRE(eventually([&] { return last("0").has_value(); }));
  const auto all = so_far();
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(seen);
  const auto newest = std::find_if(begin, all.end(), [](const event& each) { return each.key == "0"; });
  for (const auto& key : without) {
    CAPTURE(key);
    CHECK(std::any_of(begin, newest, [&](const event& each) { return each.key == key && each.works; }));
  }
  for (auto& [key, listener] : listeners) store->unwatch(key, {}, listener);
}

TEST_CASE_METHOD(notified_fixture, "bound: of more keys than connections that wait each gets one, and none for ever",
                 "[notified]") {
  CAPTURE(scheme);
  actor holder(*fixture);
  std::map<std::string, counting_listener> listeners;
  const auto store = open_store(fixture->url() + "&waiters=2");
  store->prepare();
  for (const char* key : {"1", "2", "3"}) holder.acquire(key);
  for (const char* key : {"1", "2", "3"}) store->watch(key, {}, listeners[key]);
  // A connection waits for one key for 5 s.
  CHECK(eventually([&] { return listeners["1"].yes != 0 && listeners["2"].yes != 0 && listeners["3"].yes != 0; }));
  CHECK(eventually([&] { return listeners["1"].no + listeners["2"].no + listeners["3"].no != 0; }));
  for (auto& [key, listener] : listeners) store->unwatch(key, {}, listener);
}

TEST_CASE("bound: a row that a program has locked by its primary key is seen to be held, and waited for",
          "[notified]") {
  for_update_fixture fixture;
  raw_mysql root = raw_mysql::root(), plain(fixture.url());
  // Where there is no other column, the key's index has all that is in the row.
  if (GENERATE(false, true)) plain.run("ALTER TABLE " + fixture.table() + " DROP COLUMN description");
  plain.run("INSERT INTO " + fixture.table() + " (id, resource) VALUES (7, 'k')");
  actor by(fixture);
  counting_listener listener;
  plain.run("BEGIN");
  REQUIRE_FALSE(plain.rows("SELECT id FROM " + fixture.table() + " WHERE id=7 FOR UPDATE").empty());
  CHECK(by.at("k").holder);
  by.store->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.yes != 0; }));
  std::string waits;
  REQUIRE(eventually([&] {
    const auto found =
        root.rows("SELECT ID FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND INFO LIKE '%" +
                  fixture.table() + "%' AND INFO NOT LIKE '%NOWAIT%'");
    if (!found.empty()) waits = found.at(0).at(0).value_or("");
    return !found.empty();
  }));
  wait_until_blocked(root, std::stoull(waits));
  CHECK(listener.yes - listener.no == 1);  // that it works, and no more
  const int before = listener.yes;
  plain.run("COMMIT");
  CHECK(eventually([&] { return listener.yes > before; }));
  by.store->unwatch("k", {}, listener);
  CHECK_FALSE(by.at("k").holder);
}

TEST_CASE_METHOD(notified_fixture, "bound: a child process lets go of a store while a caller of its parent's is told",
                 "[T47]") {
  CAPTURE(scheme);
  struct holding final : key_listener {
    std::atomic<bool> notified{false}, go_on{false};
    void may_be_free(bool) noexcept override {
      notified = true;
      go_on.wait(false);
    }
  } listener;
  actor holder(*fixture);
  holder.store->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.notified.load(); }));
  const int ended = in_child([&] { return holder.store.reset(), 0; });
  listener.go_on = true;
  listener.go_on.notify_all();
  holder.store->unwatch("k", {}, listener);
  CHECK(ended == 0);
}

TEST_CASE_METHOD(notified_fixture, "bound: a child process that lets go of a store ends no lock of its parent's",
                 "[T47]") {
  CAPTURE(scheme);
  actor holder(*fixture);
  const auto fence = holder.acquire("k");
  counting_listener listener;
  holder.store->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.yes != 0; }));
  REQUIRE(in_child([&] { return holder.store.reset(), 0; }) == 0);
  holder.store->unwatch("k", {}, listener);
  CHECK(listener.no == 0);
  actor other(*fixture);
  CHECK(answer(other.take("k")) == outcome::no);
  CHECK(answer(holder.release("k", fence)) == outcome::yes);
  // By the connection's statement. Another key: who waited at the server may have that one for a moment.
  holder.acquire("after");
}

TEST_CASE_METHOD(notified_fixture, "bound: one key is taken by a statement that is prepared once", "[mysql]") {
  CAPTURE(scheme);
  const auto executed = [&] {
    return std::stol(root.rows("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'").at(0).at(1).value());
  };
  actor by(*fixture);
  by.release("k", by.acquire("k"));
  const auto before = executed();
  for (int i = 0; i != 200; ++i) by.release("k", by.acquire("k"));
  CHECK((executed() - before >= 200) == stores::mysql::mysql_statement::in_two_steps);
}

TEST_CASE_METHOD(notified_fixture, "bound: where the server prepares nothing more, the statements are sent as text",
                 "[mysql]") {
  CAPTURE(scheme);
  const std::string key = "a?'\\\xc3\xb6";
  actor before(*fixture);
  before.release(key, before.acquire(key));  // makes its row
  const global_setting none_left("max_prepared_stmt_count", "0");
  actor holder(*fixture), other(*fixture);
  const auto fence = holder.acquire(key);
  CHECK(answer(other.take(key)) == outcome::no);
  CHECK(other.at(key).holder);
  CHECK(answer(holder.release(key, fence)) == outcome::yes);
  CHECK(answer(other.take(key)) == outcome::yes);
  CHECK(answer(before.take(key)) == outcome::no);  // by a statement that it has
}

}  // namespace dlock::test
