// SPDX-License-Identifier: BSL-1.0

/// Five masters, some of which are killed, stopped, restarted empty or in somebody else's hands.

#include <fmt/format.h>

#include "contract/store/waiting_store.hpp"
#include "dlock/stores/redlock.hpp"
#include "stores/redis/redis_fixtures.hpp"
#include "support/recording_observer.hpp"

namespace dlock::test {

using clock = std::chrono::steady_clock;

namespace {

struct masters_fixture {
  /// On how many of those that run the key is there.
  int copies(const std::string& key = "k") {
    return static_cast<int>(std::count_if(masters.begin(), masters.end(), [&](auto& each) {
      return each.ask({"EXISTS", key}) == "1";
    }));
  }
  std::string where(std::size_t which) { return fmt::format("127.0.0.1:{}", masters[which].port()); }
  std::string text_of(lock_service& locks) {
    try {
      static_cast<void>(locks.try_acquire("k", {.ttl = 1s}));
    } catch (const error& problem) {
      return problem.what();
    }
    return {};
  }
  lock_service service(const std::string& parameters = "&restart_delay=0&master_timeout=2000",
                       std::chrono::milliseconds release_limit = 1s) {
    return lock_service{masters.url(parameters), {.release_limit = release_limit, .close_limit = 0ms}};
  }

  redis_masters masters{};
};

}  // namespace

TEST_CASE_METHOD(masters_fixture, "redlock: two of five masters are killed, and nobody notices") {
  auto a = service("&restart_delay=0&master_timeout=2000", 20s), b = service();
  auto held = a.acquire("k", {.ttl = 6s});
  masters[1].kill();
  masters[4].kill();
  const auto end = clock::now() + 7s;  // renewed by three
  while (clock::now() < end) {
    REQUIRE(held.remaining() > 0us);
    REQUIRE_FALSE(granted(b.try_acquire("k")));
    std::this_thread::sleep_for(10ms);
  }
  held.release();
  CHECK(copies() == 0);
  CHECK(granted(b.try_acquire("k")));
}

TEST_CASE_METHOD(masters_fixture, "redlock: a lease outlives all masters, restarted empty one after the other") {
  auto locks = service();
  const auto held = locks.acquire("k", {.ttl = 6s});
  for (auto& each : masters) {
    each.kill();
    each.start();
    REQUIRE(eventually([&] { return copies() == 5 || held.remaining() == 0us; }, 40s));  // by a renewal
    REQUIRE(held.remaining() > 0us);
  }
  CHECK(held.remaining() > 0us);
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(masters_fixture, "redlock: without a majority an error names who is missing, and nothing is held") {
  auto locks = service();
  CHECK(granted(locks.try_acquire("k")));
  for (const std::size_t which : {0U, 2U, 3U}) masters[which].kill();
  const auto text = text_of(locks);
  CHECK(text.find("3 of 5 masters must agree, and 2 can be counted on") != std::string::npos);
  for (const std::size_t which : {0U, 2U, 3U}) CHECK(text.find(where(which) + ": cannot connect") != std::string::npos);
  for (const std::size_t which : {1U, 4U}) CHECK(text.find(where(which)) == text.rfind(where(which)));  // in the URL
  CHECK(copies() == 0);
  CHECK_THROWS_MATCHES(open_store(masters.url("&restart_delay=0"))->prepare(), store_error,
                       MessageMatches(ContainsSubstring("2 can be counted on: " + where(0))));
  masters[0].start();
  const lease held = locks.acquire("k", {.wait = 20s});  // without anybody's doing
  CHECK(copies() == 3);
}

TEST_CASE_METHOD(masters_fixture,
                 "redlock: a master that is stopped is waited for once, and does later what it missed") {
  std::optional<lock_service> locks;
  const auto pairs = [&](int count) {
    const auto begun = clock::now();
    for (int i = 0; i < count; ++i) locks->acquire("k").release();
    return clock::now() - begun;
  };
  clock::duration first{};
  for (int i = 0; i == 0 || (i < 5 && first >= 2900ms); ++i) {  // once more where the machine stalled
    masters[2].go_on();
    locks.emplace(masters.url("&restart_delay=0&master_timeout=1500"),
                  service_options{.release_limit = 20s, .close_limit = 0ms});
    CHECK(granted(locks->try_acquire("k")));
    masters[2].stop();
    first = pairs(1);
  }
  CHECK(first >= 1500ms);
  CHECK(first < 2900ms);  // not both of the pair
  CHECK(pairs(20) < 20s);
  masters[2].go_on();
  // What was sent to it before nobody waited for it any more is not the last that it was sent.
  CHECK(eventually([&] { return copies() == 0; }));
  CHECK(eventually([&] {
    const auto held = locks->acquire("k");
    return copies() == 5;
  }));
}

TEST_CASE_METHOD(masters_fixture, "redlock: an attempt that a majority leaves without an answer holds nothing later") {
  auto locks = service("&restart_delay=0&master_timeout=1500&connect_timeout=20000");
  CHECK(granted(locks.try_acquire("k")));
  for (const std::size_t which : {0U, 1U, 2U}) masters[which].stop();
  CHECK(thrown([&] { return locks.try_acquire("k"); }) == errc::outcome_unknown);
  for (const std::size_t which : {0U, 1U, 2U}) masters[which].go_on();
  auto others = service();
  const lease held = others.acquire("k", {.wait = 20s});  // long before the ttl of that attempt has passed
  CHECK(copies() == 5);
}

TEST_CASE_METHOD(masters_fixture,
                 "redlock: a lost connection is ended at a majority of the masters, or it is not certain") {
  const auto store = open_store(masters.url("&restart_delay=0&master_timeout=2000&connect_timeout=20000"));
  fault why;
  const auto lost = store->connect(20s, why), other = store->connect(20s, why), another = store->connect(20s, why);
  REQUIRE(lost);
  REQUIRE(other);
  REQUIRE(another);
  masters[0].stop();
  masters[1].kill();
  masters[1].start();
  CHECK(store->terminate(*other, lost->identity()));
  CHECK_FALSE(lost->alive());  // by four of them; one was restarted since
  for (const std::size_t which : {2U, 3U}) masters[which].stop();
  CHECK_FALSE(store->terminate(*other, another->identity()));
  CHECK_FALSE(open_store(masters.url())->terminate(*another, another->identity()));  // known there alone
  for (const std::size_t which : {0U, 2U, 3U}) masters[which].go_on();
}

TEST_CASE_METHOD(masters_fixture, "redlock: who wins too few masters gives them back at once") {
  auto locks = service();
  for (const std::size_t which : {0U, 1U, 2U}) masters[which].ask({"SET", "k", "somebody's"});
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK(copies() == 3);
  masters[0].ask({"DEL", "k"});  // two of five: that program has lost it
  const lease held = locks.acquire("k");
  CHECK(copies() == 5);
  CHECK(masters[1].ask({"GET", "k"}) == "somebody's");
}

TEST_CASE_METHOD(masters_fixture,
                 "redlock: a master that was restarted empty does not count before its delay has passed") {
  constexpr auto delay = 8s;
  const std::string rule = fmt::format("&restart_delay={}", 8000);
  auto a = service(rule), b = service(rule);
  // All of them are new.
  CHECK(text_of(a).find("was started not long ago, and counts in") != std::string::npos);
  CHECK(granted(b.acquire("other", {.ttl = delay, .wait = 40s})));
  const lease held = a.acquire("k", {.ttl = delay, .wait = 40s, .renewal = renewal::none});
  // As if two had not been reached then.
  masters[3].ask({"DEL", "k"});
  masters[4].ask({"DEL", "k"});
  masters[2].kill();
  masters[2].start();
  CHECK_FALSE(granted(b.try_acquire("k", {.ttl = delay})));
  CHECK(held.remaining() > 0us);
  {  // What the rule is for: without it both have the key.
    auto c = service("&restart_delay=0");
    const auto second = c.try_acquire("k");
    CHECK(second);
    CHECK(held.remaining() > 0us);
  }
  masters[3].kill();
  masters[4].kill();
  CHECK(text_of(b).find(where(2) + ": was started not long ago, and counts in") != std::string::npos);
  const lease next = b.acquire("other", {.ttl = delay, .wait = 40s});
  CHECK(next);
}

TEST_CASE("redlock: a master that was restarted and forgets nothing counts at once") {
  std::vector<redis_server> durable(3);
  const auto url = fmt::format("redlock://127.0.0.1:{},127.0.0.1:{},127.0.0.1:{}/0?master_timeout=5000",
                               durable[0].port(), durable[1].port(), durable[2].port());
  lock_service locks{url, {.release_limit = 20s}};
  lease held = locks.acquire("k");
  durable[0].kill();
  durable[0].start();
  durable[1].kill();
  CHECK_NOTHROW(held.release());
  CHECK(granted(locks.acquire("k", {.wait = 20s})));
}

TEST_CASE_METHOD(masters_fixture, "redlock: a ttl that is longer than the delay of restarted masters is refused") {
  auto locks = service("&restart_delay=1000&persistence=none");
  CHECK_THROWS_MATCHES(
      locks.acquire("k", {.ttl = 2s, .wait = 20s}), store_error,
      MessageMatches(ContainsSubstring("a ttl is longer than restart_delay=1000 ms, after which a restarted master")));
}

TEST_CASE_METHOD(masters_fixture, "redlock: one server with two names has one vote") {
  const auto url =
      fmt::format("redlock://127.0.0.1:{0},localhost:{0},127.0.0.1:{1}", masters[0].port(), masters[1].port());
  CHECK_THROWS_MATCHES(open_store(url)->prepare(), std::invalid_argument,
                       MessageMatches(ContainsSubstring(
                           fmt::format("127.0.0.1:{0} and localhost:{0} are one server", masters[0].port()))));
}

TEST_CASE_METHOD(masters_fixture, "redlock: a master that has become a replica does not count") {
  auto locks = service();
  masters[0].ask({"REPLICAOF", "127.0.0.1", "1"});
  masters[1].kill();
  {
    const lease held = locks.acquire("k", {.wait = 20s});
    CHECK(copies() == 3);
  }
  masters[2].kill();
  const auto text = text_of(locks);
  CHECK(text.find(where(0) + ": hello: is a replica, which takes no writes") != std::string::npos);
  CHECK(text.find("2 can be counted on") != std::string::npos);
}

TEST_CASE("redlock: a URL that names too little or something twice is refused") {
  check_url_refused("redlock://a,b", "redlock URL: 2 of the 3 masters");
  check_url_refused("redlock://a,b,a", "a:6379 is named twice");
  check_url_refused("redlock://a,b,c?socket=/x", "socket= is one server");
  check_url_refused("redlock://a,b,c?scheme=setnx", "there is no scheme=");
  check_url_refused("redlock://a,b,c?fences=clock", "unknown parameter 'fences' for redlock");
  check_url_refused("redlock://a,b,c?master_timeout=0", "master_timeout=0 is not 1 to 86400000");
  check_url_refused("redlock:a,b,c", "redlock: must be followed by two slashes");
  CHECK(open_store("redlock://me:secret@a,b,c,d/2")->name() == "redlock://me:***@a,b,c,d/2");
}

TEST_CASE_METHOD(masters_fixture,
                 "redlock: that most masters were restarted together is neither an alarm nor somebody else's grant") {
  struct counter final : observer {
    std::atomic<int> splits{0};
    void on(const event& happened) override { splits += happened.what == event::kind::split_brain ? 1 : 0; }
  };
  const bool extended = GENERATE(false, true);
  CAPTURE(extended);
  const auto seen = std::make_shared<counter>();
  {
    lock_service locks{masters.url("&restart_delay=6000&master_timeout=2000"), {.close_limit = 0ms, .observer = seen}};
    auto held = locks.acquire("k", {.ttl = 6s, .wait = 60s});
    for (std::size_t i = 0; i < 3; ++i) {
      masters[i].kill();
      masters[i].start();
    }
    if (extended) {
      CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
      CHECK(held.loss() == loss_reason::unreachable);
    }
    try {
      held.release();
    } catch (const lock_lost& lost) {
      CHECK(lost.reason() == loss_reason::unreachable);
    } catch (const store_error&) {  // not all masters are there yet
    }
  }
  CHECK(seen->splits == 0);
}

namespace {

/// One service holds "k", and another one waits for it.
struct waiting_fixture : masters_fixture {
  std::string url(const std::string& with = {}) const {
    return masters.url("&restart_delay=0&master_timeout=2000" + with);
  }
  std::unique_ptr<lock_service> service_at(const std::string& at, const retry_policy& retry) {
    auto how = patient();
    how.observer = events;
    how.defaults.ttl = 30s;
    how.defaults.retry = retry;
    return std::make_unique<lock_service>(at, how);
  }
  auto wait_for_k(lock_service& waiter, std::size_t statements) {
    const auto before = waiter.statements();
    auto waits = std::async(std::launch::async, [&] { return granted(waiter.acquire("k")); });
    REQUIRE(eventually([&] { return waiter.statements() >= before + statements; }));
    return waits;
  }
  long listening() {
    return std::count_if(masters.begin(), masters.end(), [](auto& each) {
      return each.ask({"PUBSUB", "CHANNELS"}).find("dlock:free:k") != std::string::npos;
    });
  }

  std::shared_ptr<recording_observer> events = std::make_shared<recording_observer>();
};

constexpr retry_policy never{.pause = 1h, .max_pause = 1h}, often{.pause = 10ms, .max_pause = 10ms};

}  // namespace

TEST_CASE_METHOD(waiting_fixture,
                 "redlock: a release wakes a waiter that would poll in an hour, if a majority is there") {
  const auto holder = service_at(url(), never), waiter = service_at(url(), never);
  const long dead = GENERATE(0, 2);
  CAPTURE(dead);
  for (long i = 0; i < dead; ++i) masters[static_cast<std::size_t>(i)].kill();
  for (int i = 0; i < 5; ++i) {
    auto held = std::optional<lease>(holder->acquire("k"));
    auto waits = wait_for_k(*waiter, 4);  // a take and a poll, and the same again once a majority has subscribed it
    CHECK(listening() >= 3);
    held.reset();
    CHECK(waits.wait_for(8s) == std::future_status::ready);  // it would poll when the lease can end
    CHECK(waits.get());
    CHECK(eventually([&] { return listening() == 0; }));
  }
  CHECK(events->count(event::kind::waiters_poll) == 0);
}

TEST_CASE_METHOD(waiting_fixture,
                 "redlock: a waiter is woken when a majority has published the same release, and once") {
  const auto locks = open_store(url());
  counting_listener waits;
  locks->watch("k", id128::random(), waits);
  REQUIRE(eventually([&] { return waits.works() && listening() == 5; }));
  const int before = waits.yes;
  const auto publish = [&](std::size_t on, const char* value) { masters[on].ask({"PUBLISH", "dlock:free:k", value}); };
  for (const std::size_t each : {0U, 1U}) publish(each, "a");
  for (const std::size_t each : {2U, 3U}) publish(each, "b");
  for (const std::size_t each : {0U, 1U}) publish(each, "c");
  CHECK(waits.yes == before);
  for (const std::size_t each : {2U, 3U, 4U}) publish(each, "c");
  CHECK(eventually([&] { return waits.yes == before + 1; }));
  // What a master publishes arrives in its order, so whoever has heard of this has heard of all before.
  for (const std::size_t each : {0U, 1U, 2U, 3U, 4U}) publish(each, "d");
  CHECK(eventually([&] { return waits.yes == before + 2; }));
  locks->unwatch("k", {}, waits);
}

TEST_CASE_METHOD(waiting_fixture, "redlock: with wake=off, or without the right to subscribe, a waiter polls") {
  const auto holder = service_at(url(), never);
  const bool off = GENERATE(true, false);
  CAPTURE(off);
  for (auto& each : masters) each.ask({"ACL", "SETUSER", "quiet", "on", ">x", "~*", "+@all", "resetchannels"});
  const auto waiter =
      service_at(off ? url("&wake=off") : "redlock://quiet:x@" + url().substr(sizeof "redlock://" - 1), often);
  CHECK(waiter->caps().tells_free() != off);
  auto held = std::optional<lease>(holder->acquire("k"));
  auto waits = wait_for_k(*waiter, 4);
  CHECK(listening() == 0);
  if (!off) CHECK(events->wait_for(event::kind::waiters_poll));
  held.reset();
  CHECK(waits.get());
  CHECK(events->count(event::kind::waiters_poll) == (off ? 0 : 1));
}

TEST_CASE_METHOD(waiting_fixture, "redlock: a waiter finds by polling what another program has freed") {
  const auto waiter = service_at(url(), often);
  for (auto& each : masters) each.ask({"SET", "k", "another program's"});
  auto waits = wait_for_k(*waiter, 4);
  REQUIRE(eventually([&] { return listening() == 5; }));
  for (auto& each : masters) each.ask({"DEL", "k"});
  CHECK(waits.wait_for(8s) == std::future_status::ready);  // one that relied on notifications would poll after 10 s
  CHECK(waits.get());
}

}  // namespace dlock::test
