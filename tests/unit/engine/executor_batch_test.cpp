// SPDX-License-Identifier: BSL-1.0
// What is sent by one statement, and what becomes of those that share it.

#include "unit/engine/executor_fixture.hpp"
#include "unit/engine/whole_batch_store.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

struct batch_fixture : executor_fixture {
  std::shared_ptr<whole_batch_store> whole = std::make_shared<whole_batch_store>(store);
  std::deque<sent_statement> all{};

  sent_statement& add(sent_statement ask) { return all.emplace_back(std::move(ask)); }
  sent_statement& take(const std::string& key) { return add(ask(verb::take, key)); }
  /// All of them come while the only connection is busy, in their order.
  void submit_all(run_executor& at) {
    held_connection held(*this, at, priority::frees);
    for (auto& each : all) at->submit(each);
    held.end();
    REQUIRE(notified.reached(all.size()));
  }
};

/// And an executor of one connection.
struct batch_of_one : batch_fixture {
  run_executor at{whole, clock, 1};
};

using batches = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(batch_of_one, "executor batch: up to 64 requests share one statement, in the order of their keys") {
  std::string first, rest;
  for (int i = 99; i >= 0; --i) add(poll((i < 10 ? "0" : "") + std::to_string(i)));
  submit_all(at);
  REQUIRE(whole->batches().size() == 2);
  for (int i = 0; i < 100; ++i) {
    auto& into = i < 36 ? rest : first;  // the 64 that came first
    into += (into.empty() ? "" : " ") + std::string(i < 10 ? "0" : "") + std::to_string(i);
  }
  CHECK(whole->batches() == batches{first, rest});
  for (const auto& each : all) CHECK(each.answer.result == outcome::absent);
  CHECK(at->statements() == 3);  // and what kept the connection busy
}

TEST_CASE_METHOD(batch_of_one, "executor batch: each gets the answer to its own request") {
  auto held = ask(verb::insert, "b");
  at->run(held);
  REQUIRE(held.answer.result == outcome::yes);
  for (const auto* key : {"c", "b", "a"}) add(poll(key));
  submit_all(at);
  CHECK(whole->batches().back() == "a b c");
  CHECK(all[0].answer.result == outcome::absent);
  CHECK(all[1].answer.result == outcome::yes);
  CHECK(all[1].answer.holder.holder == id_of(1, 1));
  CHECK(all[2].answer.result == outcome::absent);
}

TEST_CASE_METHOD(batch_of_one, "executor batch: only what one statement can serve is sent together") {
  SECTION("one verb") {
    take("a"), add(poll("b")), take("c"), add(poll("d"));
    submit_all(at);
    CHECK(whole->batches() == batches{"a c", "b d"});
  }
  SECTION("no key twice, so that the second look is another statement's") {
    add(poll("a")), add(poll("b")), add(poll("a"));
    submit_all(at);
    CHECK(whole->batches() == batches{"a b", "a"});
  }
  SECTION("looks of all sessions, the others of one") {
    const auto action = GENERATE(verb::poll, verb::take, verb::insert, verb::extend, verb::release, verb::cancel);
    for (const auto* key : {"a", "b", "c"}) add(ask(action, key));
    all[1].ask.session = id_of(5, 5);
    submit_all(at);
    CHECK(whole->batches() == (action == verb::poll ? batches{"a b c"} : batches{"a c", "b"}));
  }
  SECTION("of one kind, ttl and hold") {
    for (const auto* key : {"a", "b", "c", "d"}) take(key);
    all[1].ask.kind = lease_kind::session;
    all[2].ask.ttl = 11s;
    all[3].ask.min_hold = 1s;
    submit_all(at);
    CHECK(whole->batches() == batches{"a", "b", "c", "d"});
  }
  SECTION("a take that follows a poll may meet a lock: it is sent alone, wherever it stands") {
    for (const auto* key : {"a", "b", "c"}) take(key);
    all[GENERATE(0U, 1U, 2U)].ask.polled = true;
    submit_all(at);
    CHECK(whole->batches().size() == 2);
    CHECK(store->count(verb::take) == 3);
    for (const auto& each : whole->batches())
      CHECK((each.size() == 1) == (all.at(static_cast<std::size_t>(each[0] - 'a')).ask.polled));
  }
  SECTION("a take-over is about one holder") {
    seen holder;
    for (const auto* key : {"a", "b"}) add(ask(verb::take_over, key)).ask.expected = &holder;
    submit_all(at);
    CHECK(whole->batches() == batches{"a", "b"});
  }
  SECTION("keys are not rows, and each table is another one") {
    const auto table = std::make_shared<row_table>(), other = std::make_shared<row_table>();
    const row_id row{.table = table}, same{.table = table}, another{.table = other};
    for (const auto* key : {"a", "b", "c", "d"}) add(poll(key));
    all[1].ask.row = &row;
    all[2].ask.row = &another;
    all[3].ask.row = &same;
    submit_all(at);
    CHECK(whole->batches() == batches{"a", "b d", "c"});
  }
}

TEST_CASE_METHOD(batch_of_one, "executor batch: a release with little time left takes no fresh ones down with it") {
  const auto of = [&](const std::string& key, microseconds left) {
    auto asked = within(release(key), left);
    asked.timeout = microseconds{0};
    add(asked);
  };
  of("old 1", 99ms);
  of("fresh 1", 1s);
  of("old 2", 20ms);
  of("fresh 2", 100ms);
  submit_all(at);
  CHECK(whole->batches() == batches{"old 1 old 2", "fresh 1 fresh 2"});
}

TEST_CASE_METHOD(batch_fixture, "executor batch: a store that serves one at a time is asked so") {
  store->can().batch = false;
  run_executor at(whole, clock, 1);
  for (const auto* key : {"b", "a"}) add(poll(key));
  submit_all(at);
  CHECK(whole->batches() == batches{"b", "a"});
}

TEST_CASE_METHOD(batch_of_one, "executor batch: what one sends for nobody in the same moment shares its statement") {
  auto mine = poll("b"), first = poll("a"), second = poll("c");
  const waiting_caller caller(*at, {&mine}, {&first, &second});
  CHECK(caller.answered());
  CHECK(notified.reached(2));
  CHECK(whole->batches() == batches{"a b c"});
}

TEST_CASE_METHOD(batch_of_one, "executor batch: who has nothing of his own to wait for does not wait") {
  auto other = poll("a");
  sent_statement* also = &other;
  at->run({}, {&also, 1});
  CHECK(notified.reached(1));
  CHECK(other.answer.result == outcome::absent);
}

TEST_CASE_METHOD(batch_of_one,
                 "executor batch: what nobody waits for ends in time, also where one sent it with his own") {
  const auto connects = hold_connects();
  auto mine = within(poll("b"), 200ms), other = within(poll("a"), 1s);
  const waiting_caller caller(*at, {&mine}, {&other});
  REQUIRE(connects->reached());
  REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  clock.advance(200ms);
  CHECK(caller.answered());
  CHECK_FALSE(mine.sent);
  CHECK(notified.count() == 0);
  clock.advance(800ms);
  CHECK(notified.reached(1));
  CHECK_FALSE(other.sent);
}

// ---- what becomes of it ---------------------------------------------------------------------------------------------

TEST_CASE_METHOD(batch_of_one, "executor batch: all that gets no answer together is one doubt", "[T20]") {
  for (const auto* key : {"a", "b", "c"}) take(key);
  store->next(verb::take, {.what = test::fate::vanish});
  submit_all(at);
  for (const auto& each : all) {
    CHECK(each.answer.result == outcome::unknown);
    REQUIRE(each.in_doubt != nullptr);
    CHECK(each.in_doubt == all[0].in_doubt);
  }
  CHECK(all[0].in_doubt->where.id != 0);
  CHECK_FALSE(all[0].in_doubt->gone);
  CHECK(whole->batches().size() == 1);  // never once more
  // Ended by another connection, it is gone for all of them.
  sent_statement ends = poll();
  ends.what = sent_statement::kind::terminate;
  ends.lost = all[0].in_doubt;
  at->run(ends);
  CHECK(ends.answer.result == outcome::yes);
  CHECK(all[2].in_doubt->gone);
  // The next one that gets no answer is another doubt.
  auto later = ask(verb::take, "d");
  store->next(verb::take, {.what = test::fate::drop});
  at->run(later);
  REQUIRE(later.in_doubt != nullptr);
  CHECK(later.in_doubt != all[0].in_doubt);
}

TEST_CASE_METHOD(batch_of_one, "executor batch: a row lock that fails a batch of releases does not fail the others") {
  for (const auto* key : {"a", "b", "c"}) {
    add(release(key));
    auto taken = ask(verb::insert, key);
    at->run(taken);
    REQUIRE(taken.answer.result == outcome::yes);
    all.back().ask.fence = taken.answer.fence;
  }
  const auto before = at->statements();
  store->next(verb::release, {.what = test::fate::fail, .why = row_lock, .skip = 1});  // b, with the others
  store->next(verb::release, {.what = test::fate::fail, .why = row_lock, .skip = 2});  // b, alone
  // Those that the first statement had done already are done: it fails as a whole, so nothing of it counts.
  submit_all(at);
  const auto asked = whole->batches();
  CHECK(batches(asked.end() - 4, asked.end()) == batches{"a b c", "a", "b", "c"});
  CHECK(all[1].answer.why.contended);
  for (const auto* each : {&all[0], &all[2]}) CHECK(each->answer.result != outcome::failed);
  CHECK(at->statements() - before == 4 + 1);
}

TEST_CASE_METHOD(batch_of_one, "executor batch: a row lock that fails a batch of takes is told to all, who look then") {
  for (const auto* key : {"a", "b", "c"}) take(key);
  store->next(verb::take, {.what = test::fate::fail, .why = row_lock, .skip = 1});
  submit_all(at);
  CHECK(whole->batches() == batches{"a b c"});
  for (const auto& each : all) {
    CHECK(each.answer.result == outcome::failed);
    CHECK(each.answer.why.contended);
  }
}

TEST_CASE_METHOD(batch_fixture, "executor batch: a release that waits for a locked row keeps no other waiting") {
  run_executor at(whole, clock, 2);
  fill(at, 2);
  const auto locked = std::make_shared<gate>();
  for (const auto* key : {"a", "b", "c"}) add(release(key));
  store->next(verb::release, {.what = test::fate::fail, .why = row_lock, .skip = 1});  // b, with the others
  store->next(verb::release, {.skip = 1, .before = locked});                           // one of them, alone
  at->submit(std::array{&all[0], &all[1], &all[2]});
  REQUIRE(locked->reached());
  CHECK(notified.reached(2));
  auto other = release("d");
  at->run(other);
  CHECK(other.answer.result == outcome::no);
  locked->open();
  REQUIRE(notified.reached(3));
  for (const auto& each : all) CHECK(each.answer.result == outcome::no);
}

TEST_CASE_METHOD(batch_fixture,
                 "executor batch: in a crowd two connections are used, and what waits goes out together") {
  run_executor at(whole, clock, 4);
  fill(at, 4);
  const auto numbered = [](const char* what, int i) { return what + std::to_string(i); };
  std::deque<sent_statement> crowd;
  std::deque<waiting_caller> callers;
  const auto asks = [&](const std::string& key) {
    callers.emplace_back(*at, crowd.emplace_back(within(release(key), 1h)));
  };
  const auto held = std::make_shared<gate>(), together = std::make_shared<gate>(), second = std::make_shared<gate>();
  const struct opened {
    std::array<std::shared_ptr<gate>, 3> gates;
    ~opened() {
      for (const auto& each : gates) each->open();
    }
  } at_end{{held, together, second}};
  store->next(verb::release, {.times = 4, .before = held, .deaf = true});
  for (int i = 0; i != 4; ++i) asks(numbered("each has its own ", i));
  REQUIRE(held->reached(4));
  store->next(verb::release, {.before = together, .deaf = true});
  for (int i = 0; i != 8; ++i) asks(numbered("in line ", i));
  REQUIRE(eventually([&] { return at->queued() == 8; }));
  held->open();
  REQUIRE(together->reached());
  CHECK(whole->batches().size() == 8 + 1);  // with those of fill()

  // One is under way. A second connection is used, a third is not while these two may be back soon.
  store->next(verb::release, {.before = second, .deaf = true});
  asks("second");
  REQUIRE(second->reached());
  asks("third"), asks("with it");
  REQUIRE(eventually([&] { return at->queued() == 2; }));
  SECTION("until one is back") {
    second->open();
    CHECK(callers.back().answered());
    CHECK(whole->batches().back() == "third with it");
  }
  SECTION("or has been under way for too long to wait for it") {
    REQUIRE(at_rest_after(engine::concurrency_limit::longest_hold - 1us, {.callers = 9, .busy = 2}));
    CHECK(at->queued() == 2);
    clock.advance(1us);
    CHECK(callers.back().answered());
    CHECK(whole->batches().back() == "third with it");
    CHECK(at->queued() == 0);
  }
}
