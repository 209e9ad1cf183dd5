// SPDX-License-Identifier: BSL-1.0

// How an executor gets its connections.

#include "unit/engine/executor_fixture.hpp"

using namespace dlock::test;
using namespace dlock;
using names = std::vector<std::string>;

TEST_CASE_METHOD(executor_of<1>, "executor connections: one that can't be had is told at once, and frees its place") {
  store->cut();
  auto statement = within(poll(), 1h);
  at->run(statement);
  CHECK_FALSE(statement.sent);
  CHECK(statement.answer.why.connection);
  CHECK(statement.answer.why.text == "cut off");
  auto nobodys = within(poll(), 1h);
  at->submit(nobodys);
  CHECK(notified.reached(1));
  CHECK(nobodys.answer.why.text == "cut off");
  store->cut(false);
  at->run(statement);
  CHECK(statement.sent);
}

TEST_CASE_METHOD(executor_of<1>,
                 "executor connections: what another one would fail for as well is not the connection's") {
  store->refuse_connections({.native = 1045, .transient = false, .connection = true, .text = "wrong password"});
  auto statement = poll();
  at->run(statement);
  CHECK_FALSE(statement.answer.why.connection);
  CHECK(statement.answer.why.text == "wrong password");
}

TEST_CASE_METHOD(executor_of<2>, "executor connections: who waits for one leaves at his own limit") {
  const auto connects = hold_connects();
  auto early = within(poll("a"), 500ms), nobodys = within(poll("b"), 600ms);
  const waiting_caller leaves(*at, early);
  REQUIRE(connects->reached());
  REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  at->submit(nobodys);  // a second attempt
  REQUIRE(connects->reached(2));
  REQUIRE(clock.at_rest({.callers = 1, .busy = 2}));
  REQUIRE(at_rest_after(499ms, {.callers = 1, .busy = 2}));
  CHECK_FALSE(leaves.is_answered());
  clock.advance(1ms);
  CHECK(leaves.answered());
  CHECK_FALSE(early.sent);
  CHECK(early.answer.why.connection);
  CHECK(early.answer.why.transient);
  CHECK(notified.count() == 0);
  clock.advance(100ms);
  CHECK(notified.reached(1));
  CHECK_FALSE(nobodys.sent);

  // What comes late serves the next one.
  auto late = within(poll(), 1h);
  const waiting_caller next(*at, late);
  REQUIRE(clock.at_rest({.callers = 1, .busy = 2}));
  connects->open();
  CHECK(next.answered());
  CHECK(late.sent);
  CHECK(store->tried() == 2);
}

TEST_CASE_METHOD(executor_of<1>, "executor connections: who has no time left gets one that is nearly made") {
  auto statement = within(poll(), -1h);
  SECTION("who waits") { at->run(statement); }
  SECTION("what nobody waits for") {
    at->submit(statement);
    REQUIRE(notified.reached(1));
  }
  CHECK(statement.sent);
  CHECK(statement.answer.result == outcome::absent);
}

TEST_CASE_METHOD(executor_of<3>, "executor connections: never more attempts at one time than there are places") {
  const auto connects = hold_connects();
  at->prepare_renewals();
  std::deque<sent_statement> all;
  {
    std::deque<waiting_caller> callers;
    for (int i = 0; i < 20; ++i) callers.emplace_back(*at, all.emplace_back(within(poll(), 1s)));
    REQUIRE(connects->reached(4));
    REQUIRE(clock.at_rest({.callers = 20, .busy = 4}));
    clock.advance(1s);
    for (const auto& each : callers) CHECK(each.answered());
  }
  for (const auto& each : all) CHECK_FALSE(each.sent);
  CHECK(store->tried() == 4);
  CHECK(store->most_connecting() == 4);
  connects->open();
  CHECK(eventually([&] { return at->open() == 4; }));
  CHECK(store->tried() == 4);
}

TEST_CASE_METHOD(executor_of<2>, "executor connections: at the end attempts are cancelled, and none is left") {
  const auto connects = hold_connects();
  at->prepare_renewals();
  auto waits = within(poll(), 1h), nobodys = within(poll("b"), 1h);
  const waiting_caller waiting(*at, waits);
  at->submit(nobodys);
  REQUIRE(connects->reached(3));
  at.end();  // waits for the threads: those that connect as well
  CHECK(waiting.answered());
  CHECK(notified.reached(1));
  CHECK_FALSE(waits.sent);
  CHECK(store->connections() == 0);
  auto later = poll();
  at->run(later);
  CHECK_FALSE(later.sent);
  CHECK(store->tried() == 3);
}

TEST_CASE_METHOD(executor_fixture, "executor connections: one that is made in spite of the end is closed") {
  const auto connects = hold_connects();
  {
    run_executor at(store, clock, 2);
    at->prepare_renewals();
    REQUIRE(connects->reached());
    at->stop();
    connects->open();
  }
  CHECK(store->connections() == 0);
  CHECK(store.use_count() == 1);
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: a server with no more to give serves by those that it gave") {
  store->allow_connections(1);
  held_connection held(*this, at);
  connection_call next;
  auto wanted = within(next.in(*this), 1h);
  const waiting_caller waits(*at, wanted);
  REQUIRE(eventually([&] { return store->tried() >= 2; }));
  REQUIRE(clock.at_rest({.callers = 1}));
  // And whoever waits in vain learns the cause.
  auto vain = within(poll(), 0s);
  at->run(vain);
  CHECK(vain.answer.why.native == 1040);
  CHECK_FALSE(waits.is_answered());
  held.end();
  CHECK(waits.answered());
  CHECK(next.number == held.call.number);
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: where the only one is that of renewals it serves all") {
  store->allow_connections(1);
  open_for_renewals(at);
  auto statement = poll(), freed = release();
  SECTION("while it is idle") {}
  SECTION("once a renewal is done, and until then attempts are not made without a pause") {
    const auto stuck = store->hold(session_verb::renew);
    auto renewed = renewal();
    at->submit(renewed);
    REQUIRE(stuck->reached());
    auto waits = within(poll("other"), 1h);
    const waiting_caller waiting(*at, waits);
    CHECK(clock.at_rest({.callers = 1, .busy = 1}, 5s));
    CHECK(store->tried() == 2);
    stuck->open();
    CHECK(waiting.answered());
    CHECK(waits.sent);
    REQUIRE(notified.reached(1));
  }
  at->run(statement);
  at->run(freed);
  CHECK(statement.sent);
  CHECK(freed.sent);
  CHECK(store->connections() == 1);
}

TEST_CASE_METHOD(executor_of<3>, "executor connections: after a failure it tries again while others wait") {
  store->allow_connections(1);
  const held_connection held(*this, at);
  connection_call next;
  auto wanted = within(next.in(*this), 1h);
  wanted.owner = &notified;
  const bool somebody = GENERATE(true, false);
  CAPTURE(somebody);
  std::deque<waiting_caller> waiting;
  somebody ? static_cast<void>(waiting.emplace_back(*at, wanted)) : at->submit(wanted);
  REQUIRE(eventually([&] { return store->tried() == 2; }));
  REQUIRE(clock.at_rest({.callers = somebody ? 1U : 0U}));
  store->allow_connections(2);
  REQUIRE(at_rest_after(200ms - 1us, {.callers = somebody ? 1U : 0U}));
  CHECK(store->tried() == 2);
  clock.advance(1us);
  CHECK(eventually([&] { return next.number != 0; }));
  CHECK(next.number != held.call.number);
}

TEST_CASE_METHOD(executor_of<2>, "executor connections: without a thread to connect whoever waits is told so") {
  at.no_threads(true, false);
  auto statement = within(poll(), 1h), nobodys = within(poll("b"), 1h);
  const waiting_caller waits(*at, statement);
  CHECK(eventually([&] { return waits.is_answered(); }));
  CHECK(statement.answer.why.text == "no thread");
  at->submit(nobodys);
  CHECK(notified.reached(1));
  at.no_threads(false, false);
  if (!waits.is_answered()) at->stop();
}

TEST_CASE_METHOD(executor_of<2>,
                 "executor connections: without a thread to connect a renewal waits for one that is made") {
  const auto connects = hold_connects();
  auto statement = within(poll(), 1h);
  at->submit(statement);
  REQUIRE(connects->reached());
  at.no_threads(true, false);
  auto renewed = renewal();
  at->submit(renewed);  // returns
  CHECK(at.attempts() == 2);
  connects->open();
  CHECK(notified.reached(2));
  CHECK(renewed.sent);
}

// ---- renewals -------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_of<1>, "executor connections: that of renewals serves nothing else", "[T19]") {
  open_for_renewals(at);
  const held_connection held(*this, at);
  CHECK(store->connections() == 2);
  auto statement = within(poll(), 0s), freed = within(release(), 0s);
  at->run(statement);
  at->run(freed);
  CHECK_FALSE(statement.sent);
  CHECK_FALSE(freed.sent);
  auto renewed = renewal();
  at->submit(renewed);
  CHECK(notified.reached(1));
  CHECK(renewed.sent);
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: without one of its own a renewal gets the next that is free") {
  store->allow_connections(1);
  const auto after = std::make_shared<gate>();
  held_connection held(*this, at);
  connection_call next;
  auto wanted = within(next.in(*this), 1h);
  const waiting_caller other(*at, wanted);
  REQUIRE(clock.at_rest({.callers = 1}));
  store->next(session_verb::renew, {.before = after});
  auto renewed = renewal(1h);
  at->submit(renewed);
  REQUIRE(clock.at_rest({.callers = 1}));
  held.end();
  REQUIRE(after->reached());
  CHECK(next.number == 0);
  after->open();
  CHECK(notified.reached(1));
  CHECK(renewed.sent);
  CHECK(other.answered());
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: a renewal uses another one while its own is made") {
  fill(at, 1);
  const auto connects = hold_connects();
  auto renewed = renewal(500ms);
  at->submit(renewed);
  REQUIRE(connects->reached());  // its own is made in any case
  CHECK(notified.reached(1));
  CHECK(renewed.sent);
}

// What becomes of an executor's connections that are of no more use, and of what was to be sent on them.

TEST_CASE_METHOD(executor_of<1>, "executor connections: one that broke is dropped, and not used again", "[T67]") {
  connection_call before, after;
  auto first = before.in(*this);
  at->run(first);
  store->next(verb::poll, {.what = test::fate::vanish});
  auto breaks = poll();
  at->run(breaks);
  CHECK(breaks.answer.result == outcome::unknown);
  CHECK(at->open() == 0);
  CHECK(store->connections() == 0);
  auto next = after.in(*this);
  at->run(next);
  CHECK(next.answer.result == outcome::yes);
  CHECK(after.number != before.number);
}

TEST_CASE_METHOD(executor_of<1>,
                 "executor connections: in the place of one that broke another is made for those who wait") {
  const auto stuck = store->hold(verb::poll, {.what = test::fate::vanish});
  auto breaks = poll("a"), waits = poll("a"), nobodys = poll("a");
  const bool submitted = GENERATE(false, true);
  CAPTURE(submitted);
  {
    const waiting_caller first(*at, breaks);
    REQUIRE(stuck->reached());
    std::deque<waiting_caller> second;
    submitted ? at->submit(nobodys) : static_cast<void>(second.emplace_back(*at, waits));
    REQUIRE(clock.at_rest({.callers = submitted ? 0U : 1U}));
    stuck->open();
    CHECK(first.answered());
    // At once: nobody's time has come.
    const auto served = [&] { return submitted ? notified.count() == 1 : second.front().is_answered(); };
    CHECK(eventually(served));
    if (!served()) clock.advance(2s);
  }
  CHECK((submitted ? nobodys : waits).sent);
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: what the server has closed is not used, and all of it goes") {
  fill(at, 3);
  store->close_connections();
  auto statement = poll();
  at->run(statement);
  CHECK(statement.answer.result == outcome::absent);
  CHECK(store->count(verb::poll) == 1);
  // The new one, and that of renewals, which is needed for certain.
  CHECK(eventually([&] { return at->open() == 2; }));
  CHECK(store->connections() == 2);
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: what was not sent is sent again, on another connection, once") {
  fill(at, 4);
  store->close_connections(false);  // seen only as it is used
  auto statement = poll();
  at->run(statement);
  CHECK(statement.answer.result == outcome::absent);
  CHECK(store->count(verb::poll) == 2);
  CHECK(at->open() == 1);  // the others were not trusted any more

  // Once, and not after the limit, and not if it may have been done.
  store->next(verb::poll, {.what = test::fate::fail, .why = gone, .times = 2});
  at->run(statement);
  CHECK(statement.answer.result == outcome::failed);
  CHECK(store->count(verb::poll) == 4);
  store->next(verb::poll, {.what = test::fate::fail, .why = gone});
  auto late = within(poll(), 0s);
  at->run(late);
  CHECK(late.answer.result == outcome::failed);
  CHECK(store->count(verb::poll) == 5);
  store->next(verb::poll, {.what = test::fate::drop});
  at->run(statement);
  CHECK(statement.answer.result == outcome::unknown);
  CHECK(store->count(verb::poll) == 6);
  // What nobody waits for is sent again as well.
  store->next(verb::poll, {.what = test::fate::fail, .why = gone});
  at->submit(statement);
  CHECK(notified.reached(1));
  CHECK(statement.answer.result == outcome::absent);
  CHECK(store->count(verb::poll) == 8);
}

TEST_CASE_METHOD(executor_of<2>, "executor connections: what is to be sent again waits no longer than it would have") {
  fill(at, 1);
  const auto stuck = store->hold(verb::release, {.what = test::fate::fail, .why = gone});
  auto waits = within(release("a"), 1s), nobodys = within(release("b"), 1s);
  for (auto* each : {&waits, &nobodys}) each->timeout = 1h;
  // One whose statement another thread sends, and one that nobody waits for.
  const bool somebody = GENERATE(true, false);
  CAPTURE(somebody);
  held_connection busy(*this, at, priority::frees);
  store->refuse_connections({.native = 2002, .transient = true, .connection = true, .full = true, .text = "none"});
  std::optional<waiting_caller> caller;
  at->submit(nobodys);
  if (somebody) caller.emplace(*at, waits);
  REQUIRE(clock.at_rest({.callers = somebody ? 1U : 0U}));
  const auto connects = hold_connects();
  busy.end();
  REQUIRE(stuck->reached());
  REQUIRE(at_rest_after(500ms, {.callers = 0, .busy = 1}));
  stuck->open();
  REQUIRE(connects->reached());
  clock.advance(500ms);
  CHECK(notified.reached(1));
  CHECK(notified.count() == 1);
  CHECK_FALSE(nobodys.sent);
  if (caller && !caller->answered()) {
    CHECK(caller->is_answered());
    at->stop();
  }
  connects->open();
}

TEST_CASE_METHOD(executor_fixture,
                 "executor connections: where one has hung for long, none of the idle ones is used again", "[T63]") {
  const auto timeout = GENERATE(999ms, 1000ms);
  CAPTURE(timeout);
  run_executor at(store, clock, 4);
  fill(at, 3);
  const auto stuck = store->hold(verb::poll);
  auto statement = poll();
  statement.timeout = timeout;
  const waiting_caller hanging(*at, statement);
  REQUIRE(stuck->reached());
  clock.advance(timeout);
  CHECK(hanging.answered());
  CHECK(at->open() == (timeout < 1s ? 2 : 0));
}

// ---- another server -------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(executor_of<4>, "executor connections: those to a server that was left are not used any more",
                 "[T59]") {
  fill(at, 2);
  {
    held_connection disturbed_by_nobody(*this, at, priority::frees);
    store->change_server("other");
    {
      const held_connection first(*this, at, priority::frees);  // the other old one
      const held_connection second(*this, at, priority::frees);
      CHECK(second.call.server == "other");
      CHECK(store->connections() == 3);
    }
    CHECK(store->connections() == 2);
    CHECK_FALSE(disturbed_by_nobody.caller.is_answered());
    disturbed_by_nobody.end();
    CHECK(disturbed_by_nobody.asked.answer.result == outcome::yes);
  }
  CHECK(store->connections() == 1);
  connection_call after;
  auto next = after.in(*this);
  at->run(next);
  CHECK(after.server == "other");
  CHECK(at.greeted() == names{"server", "server", "other"});
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: idle ones to a server that was left are closed at once",
                 "[T59]") {
  fill(at, 3);
  store->change_server("other");
  // That of renewals is the first that leads elsewhere.
  at->prepare_renewals();
  CHECK(eventually([&] { return at.greeted().back() == "other" && store->connections() == 1; }));
  connection_call after;
  auto next = after.in(*this);
  at->run(next);
  CHECK(after.server == "other");
}

TEST_CASE_METHOD(executor_of<4>,
                 "executor connections: an attempt that began before the server changed changes nothing", "[T59]") {
  fill(at, 1);
  // One to the old server is being made; it is there, but not told yet, when another one leads elsewhere.
  const auto answered_late = std::make_shared<gate>();
  at.on_connected([&](const std::string& server) {
    if (server == "server") answered_late->pass();
  });
  at->prepare_renewals();
  REQUIRE(answered_late->reached());
  store->change_server("other");
  {
    const held_connection old(*this, at, priority::frees);
    const held_connection next(*this, at, priority::frees);
    CHECK(next.call.server == "other");
  }
  answered_late->open();
  CHECK(eventually([&] { return at->open() == 1; }));
  auto renewed = renewal();
  at->submit(renewed);
  REQUIRE(notified.reached(1));
  CHECK(eventually([&] { return at->open() == 2; }));
  CHECK(at.greeted() == names{"server", "server", "other", "other"});
}

TEST_CASE_METHOD(executor_of<4>, "executor connections: one is told of before anything is sent on it", "[T59]") {
  std::size_t sent = 99;
  at.on_connected([&](const std::string&) { sent = store->count(verb::poll); });
  auto statement = poll();
  at->run(statement);
  CHECK(statement.sent);
  CHECK(sent == 0);
}
