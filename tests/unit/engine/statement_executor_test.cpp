// SPDX-License-Identifier: BSL-1.0

// Who executes what, when, and in which order.

#include "engine/statements/blocked_caller.hpp"
#include "unit/engine/executor_fixture.hpp"
#include "unit/engine/whole_batch_store.hpp"

using namespace dlock::test;
using namespace dlock;

// ---- connections ----------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_of<4>, "statement_executor: connects when asked, not before, and keeps warm") {
  CHECK(at->open() == 0);
  connection_call first, again;
  auto statement = first.in(*this);
  at->run(statement);
  CHECK(statement.answer.result == outcome::yes);
  CHECK(at->open() == 1);
  auto other = again.in(*this);
  at->run(other);
  CHECK(again.number == first.number);
  CHECK(at->open() == 1);
}

TEST_CASE_METHOD(executor_of<2>, "statement_executor: never more connections than its size, others wait their turn",
                 "[T68]") {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  on_threads(16, [&](int i) {
    for (int round = 0; round < 20; ++round) {
      connection_call mine;
      mine.use = [&](connection&) {
        const int now = ++inside;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        --inside;
      };
      auto statement = mine.in(*this, i % 2 == 0 ? priority::frees : priority::takes);
      at->run(statement);
      done += statement.answer.result == outcome::yes ? 1 : 0;
    }
  });
  CHECK(done == 16 * 20);
  CHECK(most <= 2);
  CHECK(store->most_connections() <= 2);
}

TEST_CASE_METHOD(executor_of<1>, "statement_executor: what finds no connection in time is told why") {
  const held_connection held(*this, at);
  auto late = within(poll(), 0s);
  at->run(late);
  CHECK_FALSE(late.sent);
  CHECK(late.answer.result == outcome::failed);
  CHECK(late.answer.why.transient);
  CHECK_FALSE(late.answer.why.connection);
  CHECK(late.answer.why.text.find("busy") != std::string::npos);

  auto patient = within(poll(), 5s);
  auto nobodys = within(poll("other"), 5s);
  const waiting_caller waits(*at, patient);
  at->submit(nobodys);
  REQUIRE(clock.at_rest({.callers = 1}));
  REQUIRE(at_rest_after(5s - 1us, {.callers = 1}));
  CHECK_FALSE(waits.is_answered());
  CHECK(notified.count() == 0);
  clock.advance(1us);
  CHECK(waits.answered());
  CHECK(notified.reached(1));
  CHECK_FALSE(patient.sent);
  CHECK_FALSE(nobodys.sent);
  CHECK(nobodys.answer.why.text.find("busy") != std::string::npos);
  CHECK(store->count(verb::poll) == 0);
}

TEST_CASE_METHOD(executor_of<3>, "statement_executor: what hangs is interrupted at its limit, the healthy is not",
                 "[T63]") {
  const auto stuck = store->hold(verb::poll);
  auto hangs = poll();
  const waiting_caller hanging(*at, hangs);
  REQUIRE(stuck->reached());
  clock.advance(1s);
  const auto stop = std::make_shared<gate>();
  connection_call healthy(stop);
  auto well = healthy.in(*this);
  const waiting_caller other(*at, well);
  REQUIRE(stop->reached());
  REQUIRE(at_rest_after(1s - 1us, {.callers = 0}));
  CHECK_FALSE(hanging.is_answered());
  clock.advance(1us);
  CHECK(hanging.answered());
  CHECK(hangs.sent);
  CHECK(hangs.answer.result == outcome::unknown);
  CHECK_FALSE(other.is_answered());
  CHECK(at->open() == 1);
  stop->open();
  CHECK(other.answered());
  CHECK(well.answer.result == outcome::yes);
}

TEST_CASE_METHOD(executor_of<1>, "statement_executor: patience counts from the sending, not from the wait before it",
                 "[T63]") {
  held_connection held(*this, at);
  const auto begun = clock.now();
  auto waits = within(poll(), 1h);  // 2 s of patience
  auto hasty = poll("a");           // none: until its own limit
  hasty.timeout = 0us;
  const auto stuck = store->hold(verb::poll, {.times = 2});
  at->submit(waits);
  REQUIRE(clock.at_rest());
  clock.advance(30s);
  held.end();
  REQUIRE(stuck->reached());
  REQUIRE(clock.at_rest({.busy = 1}));
  CHECK(waits.sent_at == begun + 30s);
  REQUIRE(at_rest_after(2s - 1us, {.busy = 1}));
  CHECK(notified.count() == 0);
  clock.advance(1us);
  CHECK(notified.reached(1));
  CHECK(waits.answer.result == outcome::unknown);

  hasty.queue_deadline = clock.now() + 1s;
  at->submit(hasty);
  REQUIRE(stuck->reached(2));
  REQUIRE(clock.at_rest({.busy = 1}));
  REQUIRE(at_rest_after(1s - 1us, {.busy = 1}));
  CHECK(notified.count() == 1);
  clock.advance(1us);
  CHECK(notified.reached(2));
}

// ---- who executes ---------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_of<4>, "statement_executor: a lone caller executes its statement on its own thread") {
  const auto workers = at.workers();
  for (const auto which : {priority::takes, priority::frees}) {
    for (int round = 0; round < 3; ++round) {
      connection_call mine;
      auto statement = mine.in(*this, which);
      at->run(statement);
      CHECK(mine.thread == std::this_thread::get_id());
    }
  }
  CHECK(at.workers() == workers);
}

TEST_CASE_METHOD(executor_of<1>, "statement_executor: a renewal is never executed on a caller's thread, and goes first",
                 "[T19]") {
  fill(at, 1);
  happenings seen;
  std::thread::id thread{};
  store->next(session_verb::renew, {.ahead = [&] {
                thread = std::this_thread::get_id();
                seen.add("renewal");
              }});
  store->refuse_connections(away);
  connection_call takes, frees;
  takes.use = [&](connection&) { seen.add("take"); };
  frees.use = [&](connection&) { seen.add("free"); };
  auto taken = takes.in(*this);
  auto freed = frees.in(*this, priority::frees);
  auto renewed = renewal();
  held_connection held(*this, at);
  const waiting_caller taker(*at, taken);
  REQUIRE(clock.at_rest({.callers = 1}));
  const waiting_caller freer(*at, freed);
  REQUIRE(clock.at_rest({.callers = 2}));
  at->submit(renewed);
  held.end();
  CHECK(taker.answered());
  CHECK(freer.answered());
  CHECK(notified.reached(1));
  CHECK(seen.all() == order{"renewal", "free", "take"});
  for (const auto* each : {&std::as_const(held.caller), &taker, &freer}) CHECK(thread != each->thread());
}

TEST_CASE_METHOD(executor_of<1>,
                 "statement_executor: a renewal that somebody waits for is executed by another thread") {
  fill(at, 1);
  std::thread::id thread{};
  store->next(session_verb::renew, {.ahead = [&] { thread = std::this_thread::get_id(); }});
  auto renewed = renewal();
  const waiting_caller waits(*at, renewed);
  CHECK(waits.answered());
  CHECK(renewed.sent);
  CHECK(thread != waits.thread());
}

TEST_CASE_METHOD(executor_of<1>, "statement_executor: a late renewal is not sent any more, not even once it could be") {
  const auto connects = hold_connects();
  auto renewed = renewal(50ms);
  at->submit(renewed);
  REQUIRE(connects->reached());
  REQUIRE(clock.at_rest({.busy = 1}));
  clock.advance(50ms);
  REQUIRE(notified.reached(1));
  CHECK_FALSE(renewed.sent);
  connects->open();
  REQUIRE(clock.at_rest());
  CHECK(store->count(session_verb::renew) == 0);
}

TEST_CASE_METHOD(executor_fixture,
                 "statement_executor: threads are started as needed, one for each connection at most") {
  run_executor at(store, clock, 3, false);
  CHECK(at.workers() == 0);
  const auto stop = std::make_shared<gate>();
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  for (int i = 0; i < 10; ++i) all.push_back(calls.emplace_back(stop).in(*this, priority::frees));
  for (auto& each : all) each.owner = &notified;
  at->submit(all[0]);
  REQUIRE(stop->reached(1));
  REQUIRE(clock.at_rest({.busy = 1}));
  CHECK(at.workers() == 1);
  for (std::size_t i = 1; i < all.size(); ++i) at->submit(all[i]);
  REQUIRE(stop->reached(3));
  stop->open();
  CHECK(notified.reached(10));
  CHECK(at.workers() <= 4);
  CHECK(store->most_connections() == 3);
}

TEST_CASE_METHOD(
    executor_of<4>,
    "statement_executor: a caller does not come back late from a statement of others that stood before his") {
  fill(at, 3);
  const auto stuck = std::make_shared<gate>();
  connection_call first(stuck), mine;
  std::deque<held_connection> held;
  for (int i = 0; i < 3; ++i) held.emplace_back(*this, at, priority::frees);
  store->refuse_connections(away);
  // Nobody's release, which hangs, goes first. Whoever waits for the take does not do that one.
  auto nobodys = first.in(*this, priority::frees);
  nobodys.owner = &notified;
  auto wanted = mine.in(*this);
  const waiting_caller caller(*at, {&wanted}, {&nobodys});
  REQUIRE(clock.at_rest({.callers = 1}));
  for (auto& each : held) each.end();
  REQUIRE(stuck->reached());
  CHECK(caller.answered());
  stuck->open();
  CHECK(notified.reached(1));
}

// In which order an executor sends what waits, and what it leaves for releases.

namespace {

/// A clock on which one thread that waits does not go on, as if a debugger had stopped it, until it may.
class stopping_clock final : public running_clock {
 public:
  using running_clock::running_clock;
  void stop_this_thread() { stopped_ = std::this_thread::get_id(); }
  bool stopped() { return gate_.reached(); }
  void go_on() { gate_.open(); }

  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    if (std::this_thread::get_id() != stopped_) return running_clock::wait_until(wake, lock, until);
    lock.unlock();
    gate_.pass();
    lock.lock();
  }

 private:
  std::atomic<std::thread::id> stopped_{};
  gate gate_;
};

/// Runs a statement on a thread that stands still once it waits, until go_on() or its destructor.
struct stopped_caller {
  stopped_caller(stopping_clock& by, run_executor& at, sent_statement& asked)
      : time(by), thread([&by, &at, &asked] {
          by.stop_this_thread();
          at->run(asked);
        }) {}
  ~stopped_caller() { go_on(); }
  stopped_caller(const stopped_caller&) = delete;
  stopped_caller& operator=(const stopped_caller&) = delete;

  void go_on() {
    time.go_on();
    if (thread.joinable()) thread.join();
  }

  stopping_clock& time;
  std::thread thread;
};

}  // namespace

TEST_CASE_METHOD(executor_of<1>, "statement_executor: takes are executed in the order in which they came") {
  happenings seen;
  held_connection held(*this, at);
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  std::deque<waiting_caller> callers;
  order expected;
  for (std::size_t i = 0; i < 8; ++i) {
    expected.push_back(std::to_string(i));
    calls.emplace_back().use = [&seen, i](connection&) { seen.add(std::to_string(i)); };
    callers.emplace_back(*at, all.emplace_back(calls.back().in(*this)));
    REQUIRE(clock.at_rest({.callers = i + 1}));
    CHECK(at->queued() == i + 1);
  }
  held.end();
  for (const auto& each : callers) CHECK(each.answered());
  CHECK(seen.all() == expected);
}

TEST_CASE_METHOD(executor_of<1>, "statement_executor: releases go before extensions, and these before takes") {
  happenings seen;
  held_connection held(*this, at);
  std::deque<connection_call> calls;
  std::deque<sent_statement> all;
  std::deque<waiting_caller> callers;
  for (const auto& [in, name] :
       {std::pair{priority::takes, "take"}, {priority::extends, "extension"}, {priority::frees, "free"}}) {
    calls.emplace_back().use = [&seen, title = name](connection&) { seen.add(title); };
    callers.emplace_back(*at, all.emplace_back(calls.back().in(*this, in)));
    REQUIRE(clock.at_rest({.callers = callers.size()}));
  }
  held.end();
  for (const auto& each : callers) CHECK(each.answered());
  CHECK(seen.all() == order{"free", "extension", "take"});
}

TEST_CASE_METHOD(executor_fixture,
                 "statement_executor: a caller whose thread is stopped keeps no connection from others") {
  const auto in = GENERATE(priority::takes, priority::frees);
  stopping_clock time(clock);
  run_executor at(store, clock, 1, true, &time);
  held_connection held(*this, at, priority::frees);
  connection_call first, second;
  auto asked = first.in(*this, in);
  auto behind = second.in(*this);
  const stopped_caller stopped(time, at, asked);
  const auto its_thread = stopped.thread.get_id();
  REQUIRE(time.stopped());
  const waiting_caller other(*at, behind);
  REQUIRE(clock.at_rest({.callers = 1}));
  held.end();  // now it is the turn of the stopped one
  REQUIRE(clock.at_rest({.callers = 1}));
  REQUIRE(at_rest_after(engine::blocked_caller::grace - 1us, {.callers = 1}));
  CHECK_FALSE(other.is_answered());
  REQUIRE(at_rest_after(1us));
  CHECK(other.answered());
  CHECK(first.number != 0);
  CHECK(first.thread != its_thread);
  CHECK(second.number != 0);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: of a caller whose thread is stopped nothing is sent too late") {
  stopping_clock time(clock);
  run_executor at(store, clock, 1, true, &time);
  held_connection held(*this, at);
  connection_call first;
  auto asked = first.in(*this);
  stopped_caller stopped(time, at, asked);
  REQUIRE(time.stopped());
  clock.advance(3s);  // its limit has come
  held.end();
  REQUIRE(clock.at_rest());
  REQUIRE(at_rest_after(10ms));
  stopped.go_on();
  CHECK_FALSE(asked.sent);
  CHECK(first.number == 0);
}

TEST_CASE_METHOD(executor_fixture, "statement_executor: a caller whose thread is stopped is no work without an end") {
  stopping_clock time(clock);
  run_executor at(store, clock, 1, false, &time);
  at.no_threads(false, true);
  std::optional<held_connection> held(std::in_place, *this, at);
  connection_call first;
  auto asked = within(first.in(*this), 20ms);
  stopped_caller stopped(time, at, asked);
  const bool stands_still = time.stopped();
  held->end();  // now it is the turn of the stopped one, and nobody else can execute its statement
  // It counts as missing, and its limit has come: with a connection at hand it has a little longer.
  clock.advance(30ms);
  const auto next = at->tick(clock.now());
  stopped.go_on();
  CHECK(stands_still);
  CHECK(next > clock.now());
}

// When an executor looks after what runs and waits, and how it ends.

TEST_CASE_METHOD(executor_of<4>, "executor limits: says of each statement when it must be looked at", "[T63]") {
  fill(at, 3);
  open_for_renewals(at, 3);
  REQUIRE(at_rest_after(1h));
  const auto before = at.watched().size();
  const auto begun = clock.now();
  const auto stop = std::make_shared<gate>();
  connection_call first(stop), second(stop);
  auto patient = first.in(*this), hasty = within(second.in(*this), 100ms);
  hasty.timeout = 0us;
  store->next(session_verb::renew, {.before = stop});
  auto renewed = renewal(50ms);
  const waiting_caller slow(*at, patient);
  REQUIRE(stop->reached(1));
  const waiting_caller quick(*at, hasty);
  REQUIRE(stop->reached(2));
  at->submit(renewed);
  REQUIRE(stop->reached(3));
  REQUIRE(clock.at_rest({.busy = 1}));
  at->end_by(begun + 10ms);
  const auto all = at.watched();
  CHECK(std::vector<instant>(all.begin() + static_cast<std::ptrdiff_t>(before), all.end()) ==
        std::vector<instant>{begun + 2s, begun + 100ms, begun + 50ms, begun + 10ms});
  stop->open();
  CHECK(notified.reached(1));  // `renewed` is written until then
}

TEST_CASE_METHOD(executor_of<1>, "executor limits: what has no patience is interrupted at its own, also after a wait",
                 "[T63]") {
  held_connection held(*this, at);
  const auto stuck = store->hold(verb::poll);
  auto slow = within(poll(), 1s);
  slow.timeout = 0us;
  const waiting_caller waits(*at, slow);
  REQUIRE(clock.at_rest({.callers = 1}));
  REQUIRE(at_rest_after(900ms, {.callers = 1}));
  held.end();
  REQUIRE(stuck->reached());
  REQUIRE(at_rest_after(100ms - 1us));
  CHECK_FALSE(waits.is_answered());
  clock.advance(1us);
  CHECK(waits.answered());
  CHECK(slow.answer.result == outcome::unknown);
}

TEST_CASE_METHOD(executor_of<1>, "executor limits: what hangs is interrupted again and again") {
  const auto stop = std::make_shared<gate>();
  connection_call holds(stop);
  auto held = holds.in(*this);
  const waiting_caller holder(*at, held);
  REQUIRE(stop->reached());
  REQUIRE(at_rest_after(2s));
  CHECK(at->tick(clock.now()) == clock.now() + 100ms);
  stop->open();
  CHECK(holder.answered());
}

// ---- the end --------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_of<1>, "executor end: nobody waits, and nothing runs, beyond its time, and renewals end") {
  const auto stuck = store->hold(verb::poll);
  auto runs = within(poll("a"), 1h), waits = within(poll("a"), 1h), nobodys = within(release(), 1h);
  runs.timeout = 1h;
  const waiting_caller running(*at, runs);
  REQUIRE(stuck->reached());
  const waiting_caller waiting(*at, waits);
  REQUIRE(clock.at_rest({.callers = 1}));
  at->submit(nobodys);
  const auto connects = hold_connects();
  auto renewed = renewal(1h), later = renewal(1h);
  at->submit(renewed);
  REQUIRE(connects->reached());
  at->end_by(clock.now() + 300ms);
  CHECK(notified.reached(1));
  CHECK_FALSE(renewed.sent);
  REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  CHECK_FALSE(waiting.is_answered());
  CHECK_FALSE(running.is_answered());
  at->submit(later);
  CHECK(notified.count() == 2);
  CHECK_FALSE(later.sent);
  clock.advance(300ms);
  CHECK(running.answered());
  CHECK(runs.answer.result == outcome::unknown);
  CHECK(waiting.answered());
  CHECK(notified.reached(3));
  CHECK_FALSE(nobodys.sent);
}

TEST_CASE_METHOD(executor_of<1>, "executor end: what waits is answered, what runs is interrupted, nothing begins") {
  const auto stuck = store->hold(verb::poll);
  auto runs = within(poll("a"), 1h), waits = within(poll("a"), 1h), nobodys = within(release(), 1h);
  runs.timeout = 1h;
  const waiting_caller running(*at, runs);
  REQUIRE(stuck->reached());
  const waiting_caller waiting(*at, waits);
  at->submit(nobodys);
  REQUIRE(clock.at_rest({.callers = 1}));
  at->stop();
  CHECK(running.answered());
  CHECK(runs.answer.result == outcome::unknown);
  CHECK(waiting.answered());
  CHECK(notified.reached(1));
  for (const auto* each : {&waits, &nobodys}) {
    CHECK_FALSE(each->sent);
    CHECK(each->answer.why.text == "the service ends");
  }
  auto after = poll();
  at->run(after);
  CHECK_FALSE(after.sent);
  at->submit(after);
  CHECK(notified.count() == 2);
  CHECK(store->count(verb::release) == 0);
}

TEST_CASE_METHOD(executor_fixture, "executor end: what was about to be sent on a dead connection is answered") {
  auto polls = std::make_shared<whole_batch_store>(store);
  run_executor at(polls, clock, 2);
  fill(at, 1);
  const auto stop = std::make_shared<gate>();
  polls->hold_polls(stop);
  auto waits = within(release("a"), 1h), nobodys = within(release("b"), 1h);
  store->close_connections();
  const auto stop_at_once = [&] {
    REQUIRE(stop->reached());
    at->stop();
    polls->hold_polls(nullptr);
    stop->open();
  };
  SECTION("of a caller") {
    const waiting_caller caller(*at, {&waits}, {&nobodys});
    stop_at_once();
    CHECK(caller.answered());
    if (!caller.is_answered()) clock.advance(2h);
    CHECK_FALSE(waits.sent);
  }
  SECTION("of nobody") {
    at->submit(nobodys);
    stop_at_once();
  }
  CHECK(eventually([&] { return notified.count() == 1; }));
  CHECK_FALSE(nobodys.sent);
}

TEST_CASE_METHOD(executor_fixture, "executor end: a renewal that was about to be sent on a dead connection ends") {
  auto polls = std::make_shared<whole_batch_store>(store);
  run_executor at(polls, clock, 2);
  open_for_renewals(at);
  const auto stop = std::make_shared<gate>();
  polls->hold_polls(stop);
  store->close_connections();
  auto renewed = renewal(1h);
  at->submit(renewed);
  REQUIRE(stop->reached());
  at->end_by(clock.now() + 1h);
  polls->hold_polls(nullptr);
  stop->open();
  REQUIRE(clock.at_rest());
  CHECK(notified.count() == 1);
  CHECK_FALSE(renewed.sent);
}
