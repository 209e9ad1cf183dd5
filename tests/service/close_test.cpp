// SPDX-License-Identifier: BSL-1.0

#include "service/engine_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(one_service, "close: no new leases, and what is held is named", "[T90]") {
  auto a = locks->acquire("a");
  auto b = locks->acquire("b", {.ttl = 10s, .renewal = renewal::none});
  auto keys = locks->close(0ms);
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"a", "b"});
  CHECK(thrown([&] { return locks->acquire("c"); }) == errc::closed);
  CHECK(thrown([&] { return locks->try_acquire("c"); }) == errc::closed);
  a.release();
  b.release();
  CHECK(locks->close(0ms).empty());
  CHECK(is_free("a"));
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(one_service, "close: waits for leases to be released, but no longer than asked", "[T10][T90]") {
  auto held = locks->acquire("k");
  const auto begun = clock.now();
  CHECK(while_time_passes([&] { return locks->close(100ms); }) == std::vector<std::string>{"k"});
  CHECK(clock.now() - begun >= 100ms);
  std::thread releasing([&] { held.release(); });
  CHECK(locks->close(1h).empty());  // time stands still: only the release can end this
  releasing.join();
}

TEST_CASE_METHOD(engine_fixture, "close: a lease that outlives the service is renewed and released", "[T17][T90]") {
  std::optional<lease> held;
  {
    const auto locks = service();
    held = locks->acquire("k", {.ttl = 10s});
  }
  CHECK(live_on(*held, 60s, 10s));
  CHECK_FALSE(is_free("k"));
  const auto beats = store->count(session_verb::renew);
  held->release();
  CHECK(is_free("k"));
  // With the last lease everything ends: the session's row goes, connections close, nothing beats.
  CHECK(store->connections() == 0);
  CHECK(store->count(session_verb::close) == 1);
  clock.advance(1min);
  CHECK(store->count(session_verb::renew) == beats);
}

TEST_CASE_METHOD(engine_fixture, "close: the end of a service leaves no session, no connection, no thread") {
  {
    const auto locks = service();
    locks->acquire("a").release();
    locks->acquire("b", {.ttl = 10s}).release();
    CHECK(store->connections() > 0);
  }
  CHECK(store->connections() == 0);
  CHECK(store->count(session_verb::close) == 2);
}

TEST_CASE_METHOD(engine_fixture, "close: the destructor waits for close_limit", "[T10]") {
  auto locks = service([](auto& settings) { settings.close_limit = 2s; });
  auto held = locks->acquire("k");
  const auto begun = clock.now();
  while_time_passes([&] { locks.reset(); });
  CHECK(clock.now() - begun >= 2s);
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(engine_fixture, "close: a service is destroyed while its threads wait for keys", "[T89]") {
  const auto theirs = held_elsewhere("k");
  for (int round = 0; round < 20; ++round) {
    auto locks = service();
    std::vector<std::thread> threads;
    std::atomic<int> refused{0};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, raw = locks.get()] {
        if (thrown([&] { return raw->acquire("k", {.wait = 1h}); }) == errc::closed) ++refused;
      });
    }
    REQUIRE(clock.at_rest({.callers = 4}));  // three in the queue, one between two polls
    locks->close(1h);                        // time stands still: nothing else can end their waiting
    for (auto& each : threads) each.join();
    locks.reset();
    CHECK(refused == 4);
  }
}

TEST_CASE_METHOD(one_service, "close: without a store the end is bounded", "[T89]") {
  std::vector<lease> held;
  for (int i = 0; i < 50; ++i) held.push_back(locks->acquire("k" + std::to_string(i)));
  store->cut();
  while_time_passes([&] { held.clear(); });
  CHECK(locks->count(event::kind::release_failed) == 50);
  const auto before = store->tried();
  locks.reset();
  CHECK(store->tried() - before <= 4);  // not once for each of them
  CHECK(store->connections() == 0);
}

TEST_CASE_METHOD(one_service, "close: what could not be released before gets one more try", "[T07][T90]") {
  {
    const auto held = locks->acquire("k");
    store->next(verb::release, {.what = fate::fail, .why = {.native = 1, .text = "no"}, .times = 2});
  }
  REQUIRE(clock.at_rest());
  REQUIRE(store->count(verb::release) == 2);  // it waits for its next beat
  locks.reset();
  CHECK(store->count(verb::release) == 3);
  CHECK(fence_of("k") == 0);
}

TEST_CASE_METHOD(one_service, "close: a callback about a loss can't wait for the end of its service", "[T93]") {
  const auto held = locks->acquire("k");
  std::atomic<bool> refused{false};
  const std::stop_callback on_loss(held.lost_token(), [&] {
    try {
      locks->close(1h);
    } catch (const std::logic_error&) {
      refused = true;
    }
  });
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  CHECK(eventually([&] { return refused.load(); }));
  CHECK_NOTHROW(locks->acquire("l").release());
}

TEST_CASE_METHOD(engine_fixture, "close: an observer can't wait for the end of its service, on whatever thread") {
  struct closing final : observer {
    void on(const event&) override {
      if (of != nullptr) of->close(1h);
    }
    lock_service* of = nullptr;
  };
  const auto watch = std::make_shared<closing>();
  auto settings = options();
  settings.observer = watch;
  const auto locks = service(settings);
  watch->of = locks.get();
  locks->acquire("k").release();  // tells of three things, on this thread
  CHECK(locks->count(event::kind::observer_failed) == 3);
  watch->of = nullptr;
  CHECK_NOTHROW(locks->acquire("k").release());
}

TEST_CASE_METHOD(one_service, "close: a service may end while a callback about a loss runs", "[T93]") {
  std::optional<lease> held = locks->acquire("k");
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};
  bool finished = false;
  const std::stop_callback on_loss(held->lost_token(), [&] {
    inside = true;
    static_cast<void>(eventually([&] { return go_on.load(); }));
    finished = true;
  });
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  REQUIRE(eventually([&] { return inside.load(); }));
  held.reset();
  std::thread ending([&] { locks.reset(); });
  go_on = true;
  ending.join();
  CHECK(finished);  // it was waited for
}

namespace {

/// The virtual clock of a test that keeps a service's threads when they ask for the time, once `from` has come to hold:
/// for a moment so that `inside` can be set, and then as long as it is and `go_on` is not.
class holding_clock final : public running_clock {
 public:
  using running_clock::running_clock;
  instant now() const noexcept override {
    if (worker_of_ == this && from && from() && eventually([&] { return inside.load(); }, 100ms)) {
      static_cast<void>(eventually([&] { return go_on.load(); }));
    }
    return running_clock::now();
  }
  void on_thread_event(worker change) noexcept override {
    if (change == worker::begins) worker_of_ = this;
    running_clock::on_thread_event(change);
  }

  std::function<bool()> from{};  // set while nothing runs
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};

 private:
  static thread_local const holding_clock* worker_of_;
};
thread_local const holding_clock* holding_clock::worker_of_ = nullptr;

}  // namespace

TEST_CASE_METHOD(engine_fixture, "close: a callback about a loss is waited for, however far the loss itself has got",
                 "[T93]") {
  holding_clock slow(clock);
  auto locks = service([&](auto& settings) { settings.time = &slow; });
  std::optional<lease> held = locks->acquire("k");
  REQUIRE(clock.at_rest());
  // Whoever makes it lost goes no further as soon as it is.
  slow.from = [grant = detail::access::grant_of(*held)] { return grant->state.load() == engine::grant_state::lost; };
  std::atomic<bool> ended{false};
  bool finished = false;
  bool too_early = true;
  const std::stop_callback on_loss(held->lost_token(), [&] {
    slow.inside = true;
    // If it is not waited for, the service ends at once; this only gives it the time to do so.
    static_cast<void>(eventually([&] { return ended.load(); }, 300ms));
    too_early = ended;
    slow.go_on = true;
    finished = true;
  });
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  REQUIRE(eventually([&] { return slow.inside.load(); }));
  held.reset();
  locks.reset();
  ended = true;
  CHECK(finished);
  CHECK_FALSE(too_early);
}

TEST_CASE_METHOD(one_service, "close: a lost lease may be let go in its own callback", "[T89][T93]") {
  std::optional<lease> held = locks->acquire("k");
  std::atomic<bool> notified{false};
  std::optional<std::stop_callback<std::function<void()>>> on_loss;
  on_loss.emplace(held->lost_token(), [&] {
    held.reset();
    notified = true;
  });
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  CHECK(eventually([&] { return notified.load(); }));
  CHECK(is_free_after("k", 1500ms));
}

TEST_CASE_METHOD(engine_fixture, "close: the destructor does not wait for what its own thread's calls hold") {
  auto settings = options();
  settings.close_limit = 1h;
  lease held;
  multi_lease both;
  auto locks = service(settings);
  held = locks->acquire("k");
  both = locks->acquire_all({"l", "m"});
  locks.reset();  // time stands still
  CHECK_NOTHROW(held.ensure_held());
  CHECK_NOTHROW(both.ensure_held());
  CHECK(seen->count(event::kind::still_held) == 3);  // that they are left
}

TEST_CASE_METHOD(engine_fixture, "close: what the destructor waits for, and what it leaves, is told") {
  auto locks = service([](auto& settings) { settings.close_limit = 2s; });
  auto held = std::make_unique<lease>(locks->acquire("k"));
  while_time_passes([&] { locks.reset(); });
  std::vector<std::string> texts;
  for (const auto& each : seen->records()) {
    if (each.what == event::kind::still_held) texts.push_back(each.key + ": " + each.text);
  }
  REQUIRE(texts.size() == 2);
  CHECK(texts[0].starts_with("k: the service ends, and waits up to 2000 ms"));
  CHECK(texts[1].starts_with("k: the service has ended"));
}

TEST_CASE_METHOD(one_service, "close: release_all takes what is left from its holders, tells them, and frees it") {
  const auto kept = locks->acquire("kept");
  const auto own = locks->acquire("own", {.ttl = 1min, .renewal = renewal::none});
  std::atomic<bool> free_when_notified{false};
  const std::stop_callback on_loss(kept.lost_token(), [&] { free_when_notified = is_free("kept"); });
  const auto begun = clock.now();
  auto keys = while_time_passes([&] { return locks->close(100ms, release_all); });
  CHECK(clock.now() - begun >= 100ms);
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"kept", "own"});
  CHECK(kept.loss() == loss_reason::closed);
  CHECK(own.loss() == loss_reason::closed);
  CHECK(own.lost_token().stop_requested());
  CHECK_FALSE(free_when_notified);  // told first
  CHECK(fence_of("kept") == 0);
  CHECK(fence_of("own") == 0);
  CHECK(thrown([&] { return locks->acquire("other"); }) == errc::closed);
}

TEST_CASE_METHOD(one_service, "close: release_all takes nothing that is released in time, and waits for nothing") {
  auto held = locks->acquire("k");
  std::thread releasing([&] { held.release(); });
  CHECK(locks->close(1h, release_all).empty());  // time stands still
  releasing.join();
  CHECK(seen->count(event::kind::lost) == 0);
  CHECK(locks->close(0ms, release_all).empty());
}

TEST_CASE_METHOD(engine_fixture, "close: release_all gives back what the store grants after it") {
  const bool several = GENERATE(true, false);
  const bool tries = GENERATE(true, false);
  const auto locks = service();
  locks->acquire_all({"k", "l"}).release();
  const auto granting = std::make_shared<gate>();
  store->next(verb::take, {.after = granting});
  const concurrent_call acquiring([&] {
    const lock_options options{.wait = tries ? 0ms : 1h};
    if (several) {
      static_cast<void>(locks->acquire_all({"k", "l"}, options));
    } else {
      static_cast<void>(locks->acquire("k", options));
    }
  });
  REQUIRE(granting->reached());
  CHECK(locks->close(0ms, release_all).empty());
  granting->open();
  CHECK(acquiring.end() == errc::closed);
  CHECK(is_free("k"));
  CHECK(is_free("l"));
}

TEST_CASE_METHOD(one_service, "close: a limit may be as long as can be said, and not negative") {
  auto held = locks->acquire("k");
  CHECK_THROWS_AS(locks->close(-1ms), std::invalid_argument);
  CHECK_THROWS_AS(locks->close(-1ms, release_all), std::invalid_argument);
  CHECK_NOTHROW(locks->acquire("other").release());  // nothing was closed
  std::atomic<bool> over{false};
  std::thread closing([&] {
    CHECK(locks->close(std::chrono::milliseconds::max()).empty());
    over = true;
  });
  CHECK(eventually([&] { return thrown([&] { return locks->try_acquire("other"); }) == errc::closed; }));
  REQUIRE(clock.at_rest());
  CHECK_FALSE(over);
  held.release();
  closing.join();
}

TEST_CASE_METHOD(one_service, "close: release_all ends though the store is away") {
  const auto held = locks->acquire("k");
  store->cut();
  CHECK(while_time_passes([&] { return locks->close(0ms, release_all); }) == std::vector<std::string>{"k"});
  CHECK(held.loss() == loss_reason::closed);
  store->cut(false);
}

TEST_CASE_METHOD(engine_fixture, "close: an operator's call that is under way when the service ends gets its answer",
                 "[T17]") {
  auto locks = service();
  const auto held = foreign()->acquire("k", {.ttl = 10s, .renewal = renewal::none});
  const auto asks = store->hold(verb::poll);
  auto freed = std::async(std::launch::async, [&of = *locks] { return of.force_release("k"); });
  REQUIRE(asks->reached());
  locks.reset();
  asks->open();
  CHECK(freed.get());
  CHECK(store->count(verb::release) == 1);
}

TEST_CASE_METHOD(engine_fixture, "release: that of a key which an operator takes away looks for a waiter") {
  store->can().waits = waiting::woken;
  const auto held = foreign()->acquire("k", {.ttl = 10s, .renewal = renewal::none});
  CHECK(service()->force_release("k"));
  CHECK(store->looked() == 1);
}
