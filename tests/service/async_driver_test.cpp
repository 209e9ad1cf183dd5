// SPDX-License-Identifier: BSL-1.0
// Asynchronous calls, as the driver runs them: what waits, what is sent together, and what ends a wait.

#include "service/async_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// Pauses of always the same length.
lock_options pausing(std::chrono::milliseconds time, std::stop_token cancel = {}) {
  return {.wait = 1h,
          .retry = {.pause = time, .multiplier = 1, .max_pause = time, .jitter = 0},
          .cancel = std::move(cancel)};
}

}  // namespace

TEST_CASE_METHOD(async_fixture, "async: a lock is taken and released while no thread waits for it") {
  const auto taking = store->hold(verb::take);
  async_lock mine(*this, "k");
  mine.acquire();
  REQUIRE(taking->reached());
  CHECK_FALSE(mine.over());  // its statement is under way, and this thread is here
  taking->open();
  settle();
  REQUIRE(mine.over());
  REQUIRE(mine.held());
  CHECK(mine.on() != std::this_thread::get_id());
  CHECK(fence_of("k") == mine.held().fencing_token());
  const auto releasing = store->hold(verb::release);
  mine.release();
  REQUIRE(releasing->reached());
  CHECK_FALSE(mine.released());
  releasing->open();
  settle();
  REQUIRE(mine.released());
  CHECK(mine.released_end() == std::error_code());
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::granted) == 1);
  CHECK(seen->count(event::kind::released) == 1);
}

TEST_CASE_METHOD(async_fixture, "async: a thousand acquisitions under way need one thread and share statements") {
  constexpr std::size_t many = 1000;
  const auto before = foreign();
  std::deque<async_lock> all;
  for (std::size_t i = 0; i < many; ++i) {
    const auto key = "k" + std::to_string(i);
    before->acquire(key).release();  // its row is there: one request each
    all.emplace_back(*this, key);
  }
  const auto opening = store->hold(session_verb::open);
  for (auto& each : all) each.acquire();
  REQUIRE(opening->reached());
  const auto taking = store->hold(verb::take);
  opening->open();
  REQUIRE(taking->reached());
  settle({.busy = 1});  // those of the first batch are asked for, the others wait for the connection
  CHECK(core_of_home().all().statements.queued() >= many - 64);
  CHECK(std::none_of(all.begin(), all.end(), [](const auto& each) { return each.over(); }));
  taking->open();
  settle();
  CHECK(std::all_of(all.begin(), all.end(), [](const auto& each) { return static_cast<bool>(each.held()); }));
  CHECK(store->count(verb::take) == many);
  CHECK(store->batches(verb::take) <= 1 + (many - 1 + 63) / 64);

  const auto holding = store->hold(verb::release);
  for (auto& each : all) each.release();
  REQUIRE(holding->reached());
  holding->open();
  settle();
  CHECK(std::all_of(all.begin(), all.end(), [](const auto& each) { return each.released(); }));
  CHECK(fence_of("k0") == 0);
}

TEST_CASE_METHOD(async_fixture, "async: one release of many leases takes as few statements as they fit in") {
  constexpr std::size_t many = lock_keys::max_size;
  std::vector<lock_key> keys;
  for (std::size_t i = 0; i < many; ++i) keys.emplace_back("k" + std::to_string(i));
  multi_lease all;
  home->async_acquire_all(keys, {}, [&](const std::exception_ptr&, multi_lease held) { all = std::move(held); });
  settle();
  REQUIRE(all.size() == many);
  int ends = 0;
  async_release(std::move(all), [&](const std::exception_ptr& failure) {
    CHECK(failure == nullptr);
    ++ends;
  });
  CHECK_FALSE(all);
  settle();
  CHECK(ends == 1);
  CHECK(store->batches(verb::release) == (many + 63) / 64);
  CHECK(store->count(verb::release) == many);
  CHECK(is_free("k0"));
}

TEST_CASE_METHOD(async_fixture, "async: tasks and threads get one key in the order they came") {
  std::vector<int> order;  // guarded by the lock itself
  async_lock first(*this, "k"), third(*this, "k", {.wait = 1h});
  async_lock fifth(*this, "k", {.wait = 1h}), sixth(*this, "k", {.wait = 1h});
  const auto thread = [&](int which) {
    return std::thread([&, which] {
      const auto mine = home->acquire("k", {.wait = 1h});
      order.push_back(which);
    });
  };
  const auto task = [&](async_lock& which, int number, bool releases) {
    which.acquire([&, number, releases] {
      order.push_back(number);
      if (releases) which.release();
    });
  };
  task(first, 1, false);
  settle();
  auto second = thread(2);
  REQUIRE(clock.at_rest({.callers = 1}));
  task(third, 3, false);
  settle({.callers = 1});
  auto fourth = thread(4);
  REQUIRE(clock.at_rest({.callers = 2}));
  task(fifth, 5, true);  // on the thread that brings its answer
  settle({.callers = 2});
  task(sixth, 6, true);
  settle({.callers = 2});
  CHECK(standing() == 5);
  first.release();
  second.join();
  settle({.callers = 1});
  CHECK(order == std::vector{1, 2, 3});
  third.release();
  fourth.join();
  settle();
  CHECK(order == std::vector{1, 2, 3, 4, 5, 6});
  CHECK(sixth.released());
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: a wait ends at its deadline, in the queue and at the store") {
  const bool queued = GENERATE(true, false);
  const auto rival = foreign();
  lease theirs;
  async_lock mine(*this, "k"), late(*this, "k", {.wait = 5s});
  if (queued) {
    mine.acquire();
    settle();
  } else {
    theirs = rival->acquire("k", {.ttl = 1h});
  }
  late.acquire();
  settle();
  CHECK(standing() == (queued ? 1 : 0));
  settle_after(5s - 1us);
  CHECK_FALSE(late.over());
  settle_after(1us);
  REQUIRE(late.over());
  CHECK(late.end() == errc::timed_out);
  CHECK(seen->count(event::kind::busy) == 1);
  CHECK(standing() == 0);
  if (queued) mine.release();
  settle();
}

TEST_CASE_METHOD(async_fixture, "async: a cancellation ends the wait in the queue, and between two polls") {
  const bool queued = GENERATE(true, false);
  const auto rival = foreign();
  lease theirs;
  std::stop_source stop;
  async_lock mine(*this, "k"), other(*this, "k", {.wait = 1h, .cancel = stop.get_token()});
  if (queued) {
    mine.acquire();
    settle();
  } else {
    theirs = rival->acquire("k", {.ttl = 1h});
  }
  other.acquire();
  settle();
  stop.request_stop();
  settle();  // time stands still: nothing else could end the wait
  REQUIRE(other.over());
  CHECK(other.on() != std::this_thread::get_id());  // it is only marked: whoever cancels does not run it
  CHECK(other.end() == errc::cancelled);
  CHECK(standing() == 0);
  if (queued) mine.release();
  settle();
}

TEST_CASE_METHOD(async_fixture, "async: a cancellation waits for the answer to a statement, and a grant counts") {
  const bool busy = GENERATE(true, false);
  const auto rival = foreign();
  lease theirs;
  if (busy) theirs = rival->acquire("k", {.ttl = 1h});
  std::stop_source stop;
  async_lock mine(*this, "k", {.wait = 1h, .cancel = stop.get_token()});
  const auto taking = store->hold(verb::take);
  mine.acquire();
  REQUIRE(taking->reached());
  stop.request_stop();
  settle({.busy = 1});
  CHECK_FALSE(mine.over());
  taking->open();
  settle();
  REQUIRE(mine.over());
  if (busy) {
    CHECK(mine.end() == errc::cancelled);
  } else {
    REQUIRE(mine.held());
    mine.release();
    settle();
    CHECK(is_free("k"));
  }
}

TEST_CASE_METHOD(async_fixture, "async: tasks and threads that pause look together") {
  const bool leads = GENERATE(true, false);
  const auto rival = foreign();
  const auto a = rival->acquire("a", {.ttl = 1h});
  const auto b = rival->acquire("b", {.ttl = 1h});
  std::stop_source stop;
  async_lock mine(*this, "a", pausing(leads ? 80ms : 88ms, stop.get_token()));
  mine.acquire();
  settle();
  const concurrent_call other([&] { return home->acquire("b", pausing(leads ? 88ms : 80ms, stop.get_token())); });
  settle({.callers = 1});
  const auto polls = store->count(verb::poll);
  const auto batches = store->batches(verb::poll);
  settle_after(80ms, {.callers = 1});  // one of them must look, the other may
  CHECK(store->count(verb::poll) == polls + 2);
  CHECK(store->batches(verb::poll) == batches + 1);
  stop.request_stop();
  CHECK(other.end() == errc::cancelled);
  settle();
  CHECK(mine.end() == errc::cancelled);
}

TEST_CASE_METHOD(async_fixture, "async: a cancellation waits for a poll that another task has sent") {
  const auto rival = foreign();
  const auto a = rival->acquire("a", {.ttl = 1h});
  auto b = rival->acquire("b", {.ttl = 1h});
  std::stop_source stop;
  async_lock first(*this, "a", pausing(80ms)), other(*this, "b", pausing(88ms, stop.get_token()));
  first.acquire();
  other.acquire();
  settle();
  const auto polling = store->hold(verb::poll);
  settle_after(80ms, {.busy = 1});
  REQUIRE(polling->reached());
  stop.request_stop();
  settle({.busy = 1});
  CHECK_FALSE(other.over());
  polling->open();
  settle();
  CHECK(other.over());
  CHECK(other.end() == errc::cancelled);
  CHECK_FALSE(first.over());
}

TEST_CASE_METHOD(async_fixture, "async: a release without an answer is sent again after a pause") {
  async_lock mine(*this, "k");
  mine.acquire();
  settle();
  store->next(verb::release, {.what = fate::vanish});
  mine.release();
  settle();
  CHECK_FALSE(mine.released());
  CHECK(store->count(verb::release) == 1);
  settle_after(5ms);
  REQUIRE(mine.released());
  CHECK(mine.released_end() == std::error_code());
  CHECK(store->count(verb::release) == 2);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: close() ends the waits, and waits for the acquisitions and for what is held") {
  const auto theirs = held_elsewhere("other", {.ttl = 1h});
  async_lock mine(*this, "k"), queued(*this, "k", {.wait = 1h}), pauses(*this, "other", {.wait = 1h});
  async_lock late(*this, "late");
  mine.acquire();
  settle();
  queued.acquire();
  pauses.acquire();
  settle();
  std::vector<std::string> left{"?"};
  std::thread closing([&] { left = home->close(1h); });
  REQUIRE(clock.at_rest({.callers = 1}));
  late.acquire();
  settle({.callers = 1});
  for (const auto* each : {&queued, &pauses, &late}) {
    REQUIRE(each->over());
    CHECK(each->end() == errc::closed);
  }
  CHECK(fence_of("k") == mine.held().fencing_token());
  mine.release();
  closing.join();
  settle();
  CHECK(left.empty());
  CHECK(is_free("k"));
}

namespace {
/// An operation that waits until it is interrupted.
struct waits_for_ever final : engine::operation {
  int started = 0, interrupted = 0;
  engine::action start(instant) override { return ++started, engine::action::wait(instant::max()); }
  engine::action resume(instant) override { return engine::action::wait(instant::max()); }
  engine::action interrupt(engine::interruption, instant) override { return ++interrupted, engine::action{}; }
};
struct counted_run final : engine::async_run {
  using async_run::async_run;
  int finishes = 0, ends = 0;
  void finished(std::exception_ptr) noexcept override { ++finishes; }
  void ended() noexcept override { ++ends; }
};
}  // namespace

TEST_CASE_METHOD(async_fixture, "async: a cancellation in the midst of the beginning waits until it has begun") {
  engine::async_driver* driver = nullptr;
  waits_for_ever operation;
  std::vector<int> started;
  // Whatever is signalled is driven at once, as by another thread that is quick.
  engine::async_driver quick(
      core_of_home().all(), {},
      [&] {
        if (driver == nullptr) return;
        driver->drive();
        started.push_back(operation.started);
      },
      [] {});
  driver = &quick;
  std::stop_source stop;
  stop.request_stop();
  counted_run run(quick, stop.get_token());
  quick.start(run, operation);
  CHECK(started ==
        std::vector{0, 1});  // not from inside the cancellation: then it might be gone before start() is over
  CHECK(operation.interrupted == 1);
  CHECK(run.finishes == 1);
  CHECK(run.ends == 1);
}
