// SPDX-License-Identifier: BSL-1.0
// Threads that wait for each other.

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// How a wait has ended.
struct ended {
  bool granted = false;
  std::string deadlock{};
  std::string timeout{};
};

struct cycle_fixture : engine_fixture {
  /// A thread that holds something, and waits for something else when it is told to.
  class actor {
   public:
    /// `hold` calls what it is given, while it holds something.
    using body = std::function<void(const std::function<void()>&)>;
    actor(body hold, std::function<void()> then)
        : wait_(std::async(std::launch::async, [this, hold = std::move(hold), then = std::move(then)] {
            ended result;
            try {
              hold([&] {
                holds_.set_value();
                told_.get_future().wait();
                then();
              });
              result.granted = true;
            } catch (const lock_deadlock& cycle) {
              result.deadlock = cycle.what();
              if (cycle.code() != errc::deadlock) result.deadlock = "has another code";
            } catch (const lock_timeout& busy) {
              result.timeout = busy.what();
            }
            return result;
          })) {
      holds_.get_future().wait();
    }
    void waits() { told_.set_value(); }
    ended end() { return wait_.get(); }

   private:
    std::promise<void> holds_{};
    std::promise<void> told_{};
    std::future<ended> wait_;
  };

  /// Waits for `key` while it holds `first`, by leases on its stack.
  std::unique_ptr<actor> thread(lock_service& with, const std::string& first, const std::string& key,
                                lock_options options = {.wait = 10s}) {
    return std::make_unique<actor>(
        [&with, first](const auto& then) {
          const auto held = with.acquire(first);
          then();
        },
        [&with, key, options] { const auto got = with.acquire(key, options); });
  }
  /// Each waits, one after the other, for so long that its wait was looked at.
  void wait_in_turn(const std::vector<actor*>& all) {
    for (std::size_t i = 0; i != all.size(); ++i) {
      all[i]->waits();
      REQUIRE(clock.at_rest({.callers = i + 1}));
      if (i + 1 == all.size()) return;
      REQUIRE(at_rest_after(15ms, {.callers = i + 1}));
    }
  }
  ended end_of(actor& of) {
    return while_time_passes([&] { return of.end(); });
  }
  /// The two of them wait for each other until the first wait ends: dlock can't know that they would for ever.
  void no_deadlock(actor& first, actor& second) {
    wait_in_turn({&first, &second});
    const auto end = end_of(first);
    CHECK_FALSE(end.timeout.empty());
    CHECK(end.deadlock.empty());
    CHECK(end_of(second).granted);
    CHECK(seen->count(event::kind::deadlock) == 0);
  }

  std::unique_ptr<lock_service> locks = service();
};

}  // namespace

TEST_CASE_METHOD(cycle_fixture, "cycle: the thread whose wait ends first is refused, and the other one gets its key") {
  const auto first = thread(*locks, "a", "b"), second = thread(*locks, "b", "a", {.wait = 5s});
  const bool closes = GENERATE(true, false);
  if (!closes) {
    wait_in_turn({second.get(), first.get()});
    CHECK_THAT(end_of(*second).deadlock, EndsWith(" holds it and waits for 'b'; the calling thread holds 'b'"));
    CHECK(end_of(*first).granted);
    CHECK(seen->count(event::kind::deadlock) == 1);
    return;
  }
  wait_in_turn({first.get(), second.get()});
  const auto refused = end_of(*second);
  CHECK_THAT(refused.deadlock, ContainsSubstring("dlock: key 'a': the wait would never end: another thread of "));
  CHECK_THAT(refused.deadlock, ContainsSubstring(" holds it and waits for 'b'; the calling thread holds 'b'"));
  CHECK(end_of(*first).granted);
  CHECK(seen->count(event::kind::deadlock) == 1);
  CHECK(seen->keys_of(event::kind::deadlock) == std::vector<std::string>{"b"});  // for observers that show none
  CHECK(seen->count(event::kind::busy) == 1);
  CHECK(locks->waiting() == 0);
  CHECK(is_free("a"));
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(cycle_fixture, "cycle: threads of several services are in one, and the exception names all of it") {
  const auto other = service();
  const auto first = thread(*locks, "a", "b"), second = thread(*other, "b", "c"), third = thread(*locks, "c", "d"),
             fourth = thread(*other, "d", "a", {.wait = 5s});
  wait_in_turn({third.get(), first.get(), second.get(), fourth.get()});
  const auto text = end_of(*fourth).deadlock;
  CHECK_THAT(text, ContainsSubstring(" holds it and waits for 'b'; another thread of "));
  CHECK_THAT(text, ContainsSubstring(" holds 'b' and waits for 'c'; another thread of "));
  CHECK_THAT(text, EndsWith(" holds 'c' and waits for 'd'; the calling thread holds 'd'"));
  for (auto* const each : {third.get(), second.get(), first.get()}) CHECK(end_of(*each).granted);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a try_ call returns nothing at once, and the waiter for its lock goes on") {
  const auto first = thread(*locks, "a", "b");
  distributed_mutex door(*locks, "a");
  const std::vector<std::function<bool()>> ways{[&] { return granted(locks->try_acquire("a", {.wait = 150ms})); },
                                                [&] {
                                                  return granted(locks->try_acquire_all({"a", "c"}, {.wait = 150ms}));
                                                },
                                                [&] { return locks->try_with_lock("a", {.wait = 150ms}, [] {}); },
                                                [&] { return door.try_lock_for(150ms); }};
  const auto& tries = ways[GENERATE(0U, 1U, 2U, 3U)];
  bool got = true;
  std::chrono::microseconds waited{0};
  actor second([&](const auto& then) { locks->with_lock("b", then); },
               [&] {
                 const auto begun = clock.now();
                 got = tries();
                 waited = clock.now() - begun;
               });
  wait_in_turn({first.get(), &second});
  const auto end = end_of(second);
  CHECK(end.granted);  // nothing was thrown
  CHECK_FALSE(got);
  CHECK(waited < 150ms);
  CHECK(end_of(*first).granted);
  CHECK(seen->count(event::kind::deadlock) == 1);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a wait in the process's own queue is part of it, whichever wait ends first") {
  const auto first = thread(*locks, "a", "b"), second = thread(*locks, "b", "c", {.wait = 5s}),
             third = thread(*locks, "c", "a");
  wait_in_turn({first.get(), second.get(), third.get()});
  const auto text = end_of(*second).deadlock;
  CHECK_THAT(text, ContainsSubstring("dlock: key 'c': the wait would never end: another thread of "));
  CHECK_THAT(text, ContainsSubstring(" holds it and waits for 'a'; another thread of "));
  CHECK_THAT(text, EndsWith(" holds 'a' and waits for 'b'; the calling thread holds 'b'"));
  CHECK(end_of(*first).granted);
  CHECK(end_of(*third).granted);
  CHECK(seen->count(event::kind::deadlock) == 1);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a call for several keys can close it, or be part of it") {
  const bool closes = GENERATE(true, false);
  const auto first = thread(*locks, "a", "c", {.wait = closes ? 10s : 5s});
  actor second([&](const auto& then) { locks->with_lock("c", then); },
               [&] {
                 const auto both = locks->acquire_all({"a", "b"}, {.wait = closes ? 5s : 10s});
               });
  if (closes) {
    wait_in_turn({first.get(), &second});
    CHECK_THAT(end_of(second).deadlock, ContainsSubstring("dlock: key 'a': the wait would never end"));
    CHECK(end_of(*first).granted);
  }
  if (!closes) {
    wait_in_turn({&second, first.get()});
    CHECK_THAT(end_of(*first).deadlock, ContainsSubstring("dlock: key 'c': the wait would never end"));
    CHECK(end_of(second).granted);
  }
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a wait behind a call for several keys closes it while that call queues") {
  std::promise<void> swapped, go;
  actor second(
      [&](const auto& then) {
        std::optional<lease> a, b = locks->acquire("b");
        then();
        // At last the other call queues for `b` while it holds `a`.
        a = locks->acquire("a");
        b.reset();
        REQUIRE(clock.at_rest({.callers = 1}));
        b = locks->acquire("b");
        a.reset();
        REQUIRE(clock.at_rest({.callers = 1}));
        swapped.set_value();
        go.get_future().wait();
        a = locks->acquire("a", {.wait = 10s});
      },
      [] {});
  auto both = std::async(std::launch::async, [&] { return locks->acquire_all({"a", "b"}, {.wait = 1h}).size(); });
  REQUIRE(clock.at_rest({.callers = 1}));
  second.waits();
  swapped.get_future().wait();
  REQUIRE(at_rest_after(15ms, {.callers = 1}));
  go.set_value();
  const auto refused = end_of(second);
  CHECK_THAT(refused.deadlock, ContainsSubstring("dlock: key 'a': the wait would never end: another thread of "));
  CHECK_THAT(refused.deadlock, EndsWith(" holds it and waits for 'b'; the calling thread holds 'b'"));
  CHECK(while_time_passes([&] { return both.get(); }) == 2);
  CHECK(seen->count(event::kind::deadlock) == 1);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a lock of a distributed_mutex counts") {
  const auto first = thread(*locks, "a", "b");
  distributed_mutex door(*locks, "b");
  actor second(
      [&](const auto& then) {
        const std::lock_guard lock(door);
        then();
      },
      [&] { const auto got = locks->acquire("a", {.wait = 5s}); });
  wait_in_turn({first.get(), &second});
  CHECK_FALSE(end_of(second).deadlock.empty());
  CHECK(end_of(*first).granted);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a chain that ends at a thread that does not wait is none") {
  const auto slow = locks->acquire("slow");
  const auto first = thread(*locks, "a", "slow", {.wait = 500ms}), second = thread(*locks, "b", "a");
  wait_in_turn({first.get(), second.get()});
  CHECK_FALSE(end_of(*first).timeout.empty());
  CHECK(end_of(*second).granted);
  CHECK(seen->count(event::kind::deadlock) == 0);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a lock that another thread may release, or that expires, closes none") {
  const auto with = [this](const lock_options& options) -> actor::body {
    return [this, options](const auto& then) { locks->with_lock("b", options, then); };
  };
  const std::vector<std::pair<const char*, actor::body>> ways{
      {"a lease on the heap",
       [this](const auto& then) {
         const auto held = std::make_unique<lease>(locks->acquire("b"));
         then();
       }},
      {"an owner that the program named",
       [this](const auto& then) {
         const owner_scope here;
         locks->with_lock("b", then);
       }},
      {"max_hold", with({.max_hold = 1h})},
      {"a lease without renewal", with({.ttl = 1min, .renewal = renewal::none})},
  };
  for (const auto& [what, hold] : ways) {
    CAPTURE(what);
    const auto first = thread(*locks, "a", "b", {.wait = 500ms});
    actor second(hold, [this] { const auto got = locks->acquire("a", {.wait = 10s}); });
    no_deadlock(*first, second);
  }
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a wait with a limit on its polls closes none") {
  const auto limited = GENERATE(true, false);
  const lock_options waits{.wait = 10s}, polls{.wait = 10s, .retry = {.limit = 1'000'000}};
  const auto first = thread(*locks, "a", "b", limited ? polls : waits);
  const auto second = thread(*locks, "b", "a", limited ? waits : polls);
  no_deadlock(*first, *second);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a wait that has ended leaves nothing behind") {
  const auto first = thread(*locks, "a", "b", {.wait = 100ms});
  std::promise<void> over;
  actor second(
      [&](const auto& then) {
        const auto held = locks->acquire("b");
        then();
      },
      [&] {
        over.get_future().wait();
        const auto got = locks->acquire("a", {.wait = 10s});
      });
  second.waits();
  wait_in_turn({first.get()});
  CHECK_FALSE(end_of(*first).timeout.empty());
  over.set_value();
  CHECK(end_of(second).granted);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a lock that was lost closes none") {
  // Time passes until the loss is noticed.
  const auto first = thread(*locks, "a", "b", {.wait = 1h}), second = thread(*locks, "b", "a", {.wait = 500ms});
  first->waits();
  REQUIRE(clock.at_rest({.callers = 1}));
  REQUIRE(at_rest_after(15ms, {.callers = 1}));
  REQUIRE(foreign()->force_release("a"));
  while_time_passes([&] { REQUIRE(seen->wait_for(event::kind::lost, 1)); });
  second->waits();
  CHECK(end_of(*second).deadlock.empty());
  CHECK(end_of(*first).granted);
}

namespace {

/// Threads that take two of a few keys, one inside the other, again and again. How often one was refused.
int nested_rounds(bool in_order) {
  lock_service locks("memory:");
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed != 8; ++seed) {
    threads.emplace_back([&, seed] {
      std::minstd_rand random(seed + 1);
      for (int round = 0; round != 40;) {
        auto first = random() % 4, second = random() % 4;
        if (first == second) continue;
        if (in_order && first > second) std::swap(first, second);
        try {
          const auto outer = locks.acquire("k" + std::to_string(first), {.wait = 1min});
          std::this_thread::yield();
          const auto inner = locks.acquire("k" + std::to_string(second), {.wait = 1min});
          if (in_order) std::this_thread::sleep_for(1ms);  // so that waits last long enough to be looked at
          ++round;
        } catch (const lock_deadlock&) {
          ++refused;
        }
      }
    });
  }
  for (auto& each : threads) each.join();
  return refused;
}

}  // namespace

TEST_CASE("cycle: threads that nest locks in any order make progress, and in one order are never refused") {
  CHECK(nested_rounds(false) > 0);
  CHECK(nested_rounds(true) == 0);
}
