// SPDX-License-Identifier: BSL-1.0
// A dead holder whose verified transaction is still open, and takes that may wait.

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// Keeps the texts of `blocked`, and when they came.
struct witness final : observer {
  explicit witness(const stores::virtual_clock& time) : clock(time) {}
  void on(const event& event) override {
    if (event.what != event::kind::blocked) return;
    const std::lock_guard lock(mutex);
    texts.emplace_back(event.text);
    times.push_back(clock.now());
    key = event.key;
    fence = event.fence;
    if (back) back();
  }

  const stores::virtual_clock& clock;
  std::mutex mutex{};
  std::vector<std::string> texts{};
  std::vector<instant> times{};
  std::string key{};
  std::uint64_t fence = 0;
  std::function<void()> back{};
};

struct blocked_fixture : engine_fixture {
  std::shared_ptr<witness> observer = std::make_shared<witness>(clock);

  std::unique_ptr<lock_service> watched(std::chrono::milliseconds grace = 0ms) {
    auto settings = options();
    settings.observer = observer;
    settings.break_verified_after = grace;
    settings.connections = 1;
    return service(settings);
  }

  /// Granted to a session that nobody renews, and that is over now.
  void held_by_the_dead(const lock_key& key) {
    fault why;
    const auto connection = rows->connect(1s, why);
    const auto dead = id128::random();
    static_cast<void>(rows->session(*connection, session_verb::open,
                                    {.id = dead, .ttl = 5s, .host = "db7", .pid = 4312, .label = "worker"}));
    answer_to({.action = verb::insert, .resource = key.view(), .session = dead, .nonce = 1});
    clock.advance(6s);
  }
};

/// "k" is held by the dead, and its transaction is open.
struct blocked_key : blocked_fixture {
  blocked_key() {
    held_by_the_dead("k");
    store->block(77);
  }
};

}  // namespace

TEST_CASE_METHOD(blocked_key, "blocked: a waiter tells once which connection keeps a dead holder's key") {
  const auto locks = watched();
  CHECK(thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 30s}); }) == errc::timed_out);
  CHECK(store->count(verb::take_over) > 3);
  REQUIRE(observer->texts.size() == 1);
  CHECK(observer->texts[0].find("connection 77 ") != std::string::npos);
  CHECK(observer->texts[0].find("db7/4312 worker") != std::string::npos);
  CHECK(observer->texts[0].find("ended") == std::string::npos);
  CHECK(observer->key == "k");
  CHECK(observer->fence == 1);
  CHECK(locks->count(event::kind::blocked) == 1);
  CHECK(store->blockers_asked() == 1);
  // Nothing is ended without the option, however long it lasts.
  CHECK(store->settled() == 0);
  store->block(0);
  CHECK(granted(locks->try_acquire("k")));
}

TEST_CASE_METHOD(blocked_key, "blocked: a single attempt tells it and is busy") {
  const auto locks = watched(1s);
  CHECK_FALSE(granted(locks->try_acquire("k")));
  CHECK(observer->texts.size() == 1);
  CHECK(store->settled() == 0);
}

TEST_CASE_METHOD(blocked_fixture, "blocked: a key whose blocker can't be seen is just busy") {
  held_by_the_dead("k");
  store->block(77, false);
  const auto locks = watched(1s);
  CHECK(thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 3s}); }) == errc::timed_out);
  CHECK(observer->texts.empty());
  CHECK(store->settled() == 0);
}

TEST_CASE_METHOD(blocked_fixture, "blocked: a take-over refused for another reason asks for no blocker") {
  held_by_the_dead("k");
  store->next(verb::take_over, {.what = fate::fail, .why = deadlock});
  store->next(verb::take, {.what = fate::fail, .why = {.native = 1205, .transient = true, .contended = true}});
  const auto locks = watched();
  CHECK(while_time_passes([&] { return locks->acquire("k", {.wait = 10s}).fencing_token(); }) == 2);
  CHECK(store->blockers_asked() == 0);
}

TEST_CASE_METHOD(blocked_key, "blocked: break_verified_after ends the connection after that time, not before") {
  const auto locks = watched(1s);
  const auto fence = while_time_passes([&] { return locks->acquire("k", {.wait = 1h}).fencing_token(); });
  CHECK(fence == 2);
  CHECK(store->settled() == 1);
  REQUIRE(observer->texts.size() == 2);
  CHECK(observer->texts[0].find("ended") == std::string::npos);
  CHECK(observer->texts[1].find("connection 77 ") != std::string::npos);
  CHECK(observer->texts[1].find("; ended (break_verified_after)") != std::string::npos);
  CHECK(observer->times[1] - observer->times[0] >= 1s);
}

TEST_CASE_METHOD(blocked_key, "blocked: a connection that can't be ended is tried again each time after the grace") {
  store->settles(false);
  const auto locks = watched(1s);
  CHECK(thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 30s}); }) == errc::timed_out);
  REQUIRE(observer->texts.size() >= 3);
  CHECK(observer->texts.size() <= 31);
  for (std::size_t i = 1; i < observer->texts.size(); ++i) {
    CHECK(observer->texts[i].find("could not be ended") != std::string::npos);
    CHECK(observer->times[i] - observer->times[i - 1] >= 1s);
  }
}

TEST_CASE_METHOD(blocked_key, "blocked: another connection gets a grace of its own") {
  observer->back = [&] {
    if (observer->texts.size() == 1) store->block(78);
  };
  const auto locks = watched(1s);
  const auto fence = while_time_passes([&] { return locks->acquire("k", {.wait = 1h}).fencing_token(); });
  CHECK(fence == 2);
  REQUIRE(observer->texts.size() == 3);
  CHECK(observer->texts[1].find("connection 78 ") != std::string::npos);
  CHECK(observer->times[2] - observer->times[1] >= 1s);
  CHECK(store->settled() == 1);
}

TEST_CASE_METHOD(blocked_key, "blocked: an observer that is told may call back") {
  const auto locks = watched();
  lock_service* const raw = locks.get();
  bool could = false;
  observer->back = [&] { could = granted(raw->try_acquire("other")); };
  CHECK_FALSE(granted(locks->try_acquire("k")));  // with a pool of one connection
  CHECK(could);
}

TEST_CASE_METHOD(blocked_fixture, "blocked: break_verified_after is off or at least a second") {
  const auto with = [&](std::chrono::milliseconds grace) {
    return [this, grace] { static_cast<void>(watched(grace)); };
  };
  for (const auto bad : {-1ms, 1ms, 999ms}) {
    CHECK_THROWS_MATCHES(
        with(bad)(), std::invalid_argument,
        MessageMatches(ContainsSubstring("break_verified_after") && ContainsSubstring(std::to_string(bad.count()))));
  }
  CHECK_NOTHROW(with(0ms)());
  CHECK_NOTHROW(with(1s)());
  CHECK(store->tried() == 0);
}

TEST_CASE_METHOD(blocked_key, "blocked: a store without transactions is not asked who has the key") {
  store->no_transactions();
  const auto locks = watched(1s);
  CHECK_FALSE(granted(locks->try_acquire("k")));
  CHECK(store->count(verb::take_over) == 1);
  CHECK(store->blockers_asked() == 0);
  CHECK(observer->texts.empty());
}

TEST_CASE_METHOD(blocked_fixture, "blocked: where a take may wait, those who can't wait so long look first") {
  const auto theirs = held_elsewhere("k");
  bool waits = false;
  SECTION("where it may not, all take at once") {}
  SECTION("where it may") {
    store->let_takes_wait();
    waits = true;
  }
  const auto locks = watched();
  CHECK_FALSE(granted(locks->try_acquire("k")));
  CHECK(store->count(verb::poll) == 1);
  CHECK(store->count(verb::take) == (waits ? 0U : 1U));
  CHECK(thrown([&] { return locks->acquire("k", {.wait = 0ms}); }) == errc::timed_out);
  CHECK(store->count(verb::take) == (waits ? 0U : 2U));
  CHECK(thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 3999ms}); }) == errc::timed_out);
  CHECK(store->count(verb::take) == (waits ? 0U : 3U));
  const auto before = store->count(verb::take);
  CHECK(thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 4s}); }) == errc::timed_out);
  CHECK(store->count(verb::take) == before + 1);
}

TEST_CASE_METHOD(blocked_fixture, "blocked: a poll that finds the key free or new is followed by a grant") {
  store->let_takes_wait();
  const auto locks = watched();
  CHECK(granted(locks->try_acquire("new")));
  CHECK(store->count(verb::poll) == 1);
  CHECK(store->count(verb::insert) == 1);
  CHECK(granted(locks->try_acquire("new")));
  CHECK(store->count(verb::poll) == 2);
  CHECK(store->count(verb::take) == 1);
}
