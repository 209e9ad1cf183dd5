// SPDX-License-Identifier: BSL-1.0
#include "engine/drivers/blocking_driver.hpp"

#include "dlock/stores/memory.hpp"
#include "engine/core/service_core.hpp"
#include "engine/operations/release_subscription.hpp"
#include "support/calls.hpp"
#include "support/faulty_store.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using engine::action;
using engine::blocking_driver;
using engine::interruption;

/// Waits until it is done, or twice interrupted; says what it was told.
struct waiting_operation final : engine::operation {
  action start(instant now) override {
    taken.push_back("start");
    return next(now);
  }
  action resume(instant now) override {
    taken.push_back("resume");
    return next(now);
  }
  action interrupt(interruption why, instant now) override {
    taken.push_back(why == interruption::cancelled ? "cancelled" : "closed");
    if (!stays) return {};
    until = now + 1s;
    return next(now);
  }
  action next(instant now) const { return now >= until ? action{} : action::wait(until); }

  instant until{};
  bool stays = false;  // though it was interrupted, until a second later
  std::vector<std::string> taken{};
};

/// Sends a poll, and ends.
struct poll_operation final : engine::operation {
  poll_operation() { poll.ask = {.action = verb::poll, .resource = "k"}; }
  action start(instant now) override {
    poll.queue_deadline = now + 2s;
    poll.timeout = 2s;
    return action::send(sent, true);
  }
  action resume(instant now) override {
    resumed_at = now;
    return {};
  }
  action interrupt(interruption, instant) override { return {}; }

  engine::statement poll{};
  std::array<engine::statement*, 1> sent{&poll};
  instant resumed_at{};
};

struct other_pause final : engine::pause {
  using pause::pause;
  void wake() noexcept override { woken = true; }
  std::atomic<bool> woken{false};
};

struct driver_fixture {
  stores::virtual_clock clock;
  std::shared_ptr<test::faulty_store> store =
      std::make_shared<test::faulty_store>(std::make_shared<stores::memory_store>(clock), &clock);
  std::shared_ptr<engine::service_core> core = engine::service_core::start(store, {.time = &clock});
  std::stop_source close, cancel;
  waiting_operation operation;

  ~driver_fixture() {
    core->close(0ms);
    core->finish();
  }
  std::thread run(std::optional<blocking_driver>& driver) {
    driver.emplace(core->all(), close.get_token(), cancel.get_token());
    return std::thread([&] { driver->run(operation); });
  }
  using steps = std::vector<std::string>;
};

}  // namespace

TEST_CASE_METHOD(driver_fixture, "blocking_driver: resumes what waits when the time has come, or when it is woken") {
  operation.until = clock.now() + 10s;
  std::optional<blocking_driver> driver;
  auto thread = run(driver);
  REQUIRE(clock.at_rest({.callers = 1}));
  driver->signal().wake();
  REQUIRE(clock.at_rest({.callers = 1}));
  clock.advance(10s);
  thread.join();
  CHECK(operation.taken == steps{"start", "resume", "resume"});
}

TEST_CASE_METHOD(driver_fixture, "blocking_driver: a wake-up before the wait is not lost") {
  operation.until = clock.now() + 10s;
  blocking_driver driver(core->all());
  driver.signal().wake();
  std::thread thread([&] { driver.run(operation); });
  REQUIRE(clock.at_rest({.callers = 1}));
  clock.advance(10s);
  thread.join();
  CHECK(operation.taken == steps{"start", "resume", "resume"});
}

TEST_CASE_METHOD(driver_fixture, "blocking_driver: a cancellation ends the wait, also one from before", "[T35]") {
  operation.until = clock.now() + 1h;
  std::optional<blocking_driver> driver;
  SECTION("while it waits") {
    auto thread = run(driver);
    REQUIRE(clock.at_rest({.callers = 1}));
    cancel.request_stop();
    thread.join();
  }
  SECTION("before") {
    cancel.request_stop();
    run(driver).join();
  }
  SECTION("it counts for more than the end of the service") {
    cancel.request_stop();
    close.request_stop();
    run(driver).join();
  }
  CHECK(operation.taken == steps{"start", "cancelled"});
}

TEST_CASE_METHOD(driver_fixture, "blocking_driver: the end of the service ends the wait") {
  operation.until = clock.now() + 1h;
  std::optional<blocking_driver> driver;
  auto thread = run(driver);
  REQUIRE(clock.at_rest({.callers = 1}));
  close.request_stop();
  thread.join();
  CHECK(operation.taken == steps{"start", "closed"});
}

TEST_CASE_METHOD(driver_fixture, "blocking_driver: what was interrupted is told once, and may still wait") {
  operation.until = clock.now() + 1h;
  operation.stays = true;
  std::optional<blocking_driver> driver;
  auto thread = run(driver);
  REQUIRE(clock.at_rest({.callers = 1}));
  close.request_stop();
  REQUIRE(clock.at_rest({.callers = 1}));
  cancel.request_stop();
  REQUIRE(clock.at_rest({.callers = 1}));
  clock.advance(1s);
  thread.join();
  REQUIRE(operation.taken.size() >= 3);
  CHECK(operation.taken[1] == "closed");
  CHECK(std::count(operation.taken.begin(), operation.taken.end(), "cancelled") == 0);
  CHECK(std::count(operation.taken.begin(), operation.taken.end(), "closed") == 1);
}

TEST_CASE_METHOD(driver_fixture,
                 "blocking_driver: sends on its own thread, with the looks of those whose pause ends now") {
  auto& pauses = core->all().pauses;
  blocking_driver driver(core->all());
  poll_operation mine, before;
  driver.run(before);  // there is a connection
  const auto batches = store->batches(verb::poll);
  engine::statement other;
  other.ask = {.action = verb::poll, .resource = "other"};
  other.queue_deadline = clock.now() + 2s;
  other.timeout = 2s;
  other_pause ends(pauses), later(pauses);
  ends.poll = &other;
  later.poll = &mine.poll;  // never sent by it
  pauses.enter(ends, clock.now(), clock.now());
  pauses.enter(later, clock.now(), clock.now() + 10s);
  std::thread::id thread{};
  store->next(verb::poll, {.ahead = [&] { thread = std::this_thread::get_id(); }});
  store->next(verb::poll, {.during = [&] { clock.advance(1ms); }});
  const auto begun = clock.now();
  driver.run(mine);
  CHECK(thread == std::this_thread::get_id());
  CHECK(mine.poll.answer.result == outcome::absent);
  CHECK(mine.resumed_at == begun + 1ms);
  CHECK(store->batches(verb::poll) == batches + 1);
  CHECK(test::eventually([&] { return pauses.polled(ends); }));
  CHECK(ends.woken);
  CHECK(other.answer.result == outcome::absent);
  CHECK_FALSE(later.woken);
  CHECK(pauses.leave(ends));
  CHECK(pauses.leave(later));
}

TEST_CASE_METHOD(driver_fixture, "poll_wait: its end waits for the answer to a poll that another thread has sent") {
  auto& pauses = core->all().pauses;
  blocking_driver driver(core->all());
  engine::queue_turn turn;
  engine::statement poll;
  std::optional<engine::poll_wait> wait;
  wait.emplace(core->all(), driver.signal());
  engine::frame_storage<1024> room;
  std::optional<engine::coroutine_operation<void>> pauses_once;
  pauses_once.emplace(room, driver.signal(),
                      [&](engine::flow& f) { return wait->run(f, turn, &poll, clock.now() + 10s, nullptr); });
  pauses_once->start(clock.now());
  engine::poll_scheduler::polls sent;
  REQUIRE(pauses.due(clock.now() + 10s, sent) == 1);
  REQUIRE(sent[0] == &poll);
  std::atomic<bool> ended{false};
  std::thread ends([&] {
    pauses_once.reset();
    wait.reset();
    ended = true;
  });
  CHECK(test::eventually([&] { return ended || clock.at_rest({.callers = 1}, 5ms); }));
  CHECK_FALSE(ended);
  poll.owner->answered(poll);
  ends.join();
}
