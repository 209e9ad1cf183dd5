// SPDX-License-Identifier: BSL-1.0

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

using waiting_fixture = inside_fixture;

}  // namespace

TEST_CASE_METHOD(waiting_fixture, "waiting: threads of one process get the key in the order they came", "[T33]") {
  auto held = home.acquire("k", {}, false);
  std::vector<int> order;  // guarded by the lock itself
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&, i] {
      const auto mine = home.acquire("k", {.wait = 1h}, false);
      order.push_back(i);
    });
    REQUIRE(queued(static_cast<std::size_t>(i) + 1));
  }
  held.release();
  for (auto& each : threads) each.join();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE_METHOD(waiting_fixture, "waiting: of all threads of a process one asks the store", "[T34]") {
  auto theirs = held_elsewhere("k", {.ttl = 1h});
  std::vector<std::thread> threads;
  std::atomic<int> granted{0};
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&] {
      const auto mine = home.acquire("k", {.wait = 1h}, false);
      ++granted;
    });
  }
  REQUIRE(queued(31));
  const auto before = home.statements();
  const auto begun = clock.now();
  while_time_passes([&] { std::this_thread::sleep_for(50ms); });
  const auto passed = clock.now() - begun;  // some 250 ms
  CHECK(home.statements() - before <=
        20 + static_cast<std::uint64_t>(passed / 1250us));  // 32 that ask would be far more
  theirs.release();
  while_time_passes([&] {
    for (auto& each : threads) each.join();
  });
  CHECK(granted == 32);
}

TEST_CASE_METHOD(waiting_fixture, "waiting: a thousand releases wake a thousand waiters", "[T33]") {
  std::atomic<int> entered{0};
  const auto body = [&] {
    for (int i = 0; i < 500; ++i) {
      const auto mine = home.acquire("k", {.wait = 1h}, false);
      ++entered;
    }
  };
  std::thread first(body), second(body), third(body);
  first.join();
  second.join();
  third.join();
  CHECK(entered == 1500);
}

TEST_CASE_METHOD(waiting_fixture, "waiting: the wait in the queue counts for the whole wait", "[T31]") {
  auto held = home.acquire("k", {}, false);
  const concurrent_call waiter([&] { return home.acquire("k", {.wait = 5s}, false); });
  REQUIRE(queued(1));
  clock.advance(5s);
  CHECK(waiter.end() == errc::timed_out);
  CHECK(seen->count(event::kind::busy) == 1);
}

TEST_CASE_METHOD(engine_fixture, "waiting: behind a thread that gets no answer from the store nobody hears busy",
                 "[T35]") {
  const bool head_of_several = GENERATE(true, false);
  const auto locks = service();
  locks->acquire_all({"k", "l"}).release();
  store->cut();
  const concurrent_call head([&] {
    const lock_options patient{.wait = 1h};
    if (head_of_several) {
      static_cast<void>(locks->acquire_all({"k", "l"}, patient));
    } else {
      static_cast<void>(locks->acquire("k", patient));
    }
  });
  REQUIRE(eventually([&] { return locks->count(event::kind::granted) == 2 && clock.at_rest({.callers = 1}); }));
  const auto ends_in_trouble = [&](auto call) {
    const auto failure = caught<store_error>(call);
    return failure.code() == errc::store_unreachable && failure.transient() &&
           std::string(failure.what()).find("cut off") != std::string::npos;
  };
  CHECK(ends_in_trouble([&] { return locks->try_acquire("k"); }));
  CHECK(ends_in_trouble([&] { return locks->try_acquire_all({"k", "m"}); }));
  // In line, which shortens no pause of the one in front.
  const lock_options brief{.wait = 20ms, .retry = {.max_pause = 1h}};
  CHECK(while_time_passes([&] { return ends_in_trouble([&] { return locks->acquire("k", brief); }); }));
  CHECK(while_time_passes([&] { return ends_in_trouble([&] { return locks->acquire_all({"k", "m"}, brief); }); }));
  // Once the store answers, busy means busy.
  const auto theirs = foreign()->acquire("k");
  store->cut(false);
  CHECK(while_time_passes([&] {
    return eventually([&] {
      try {
        return !granted(locks->try_acquire("k"));
      } catch (const store_error&) {
        return false;
      }
    });
  }));
  locks->close(0ms);
}

TEST_CASE_METHOD(one_service, "waiting: behind a first statement that hangs nobody hears busy", "[T35]") {
  locks->acquire("other").release();
  const auto hangs = store->hold(verb::take);
  const concurrent_call head([&] { return locks->acquire("k", {.wait = 1h}); });
  REQUIRE(hangs->reached());
  const concurrent_call brief([&] { return locks->acquire("k", {.wait = 1s}); });
  const concurrent_call patient([&] { return locks->acquire("k", {.wait = 2s}); });
  REQUIRE(clock.at_rest({.callers = 2, .busy = 0}));
  clock.advance(1s);
  CHECK(brief.end() == errc::timed_out);
  clock.advance(1s);
  CHECK(patient.end() == errc::store_unreachable);
  hangs->open();
  static_cast<void>(while_time_passes([&] { return head.end(); }));
}

TEST_CASE_METHOD(one_service, "waiting: for a session that another thread opens, it ends with the reason of that one") {
  const bool known = GENERATE(true, false);
  if (known) {
    store->next(session_verb::open, {.what = fate::fail, .why = away, .times = 2});
    CHECK(thrown([&] { return locks->try_acquire("first"); }) == errc::store_unreachable);
  }
  const auto opening = store->hold(session_verb::open, {.deaf = true});
  const concurrent_call other([&] { return locks->acquire("second", {.wait = 1h}); });
  REQUIRE(opening->reached());
  const auto failure =
      while_time_passes([&] { return caught<store_error>([&] { return locks->try_acquire("third"); }); });
  CHECK(failure.code() == errc::store_unreachable);
  CHECK_THAT(failure.what(), ContainsSubstring(known ? "away" : "another thread still tries"));
  opening->open();
  locks->close(0ms);
}

TEST_CASE_METHOD(one_service, "waiting: for a session that another thread opens, a cancellation and close() end it",
                 "[T14][T17][T35]") {
  const bool several = GENERATE(false, true), closes = GENERATE(false, true);
  const auto opening = store->hold(session_verb::open, {.deaf = true});
  const concurrent_call other([&] { return locks->acquire("other", {.wait = 1h}); });
  REQUIRE(opening->reached());
  std::stop_source stop;
  const lock_options patient{.wait = 1h, .cancel = stop.get_token()};
  const concurrent_call waiter([&] {
    if (several) return granted(locks->acquire_all({"a", "b"}, patient));
    return granted(locks->acquire("a", patient));
  });
  REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  if (closes) {
    locks->close(0ms);
  } else {
    stop.request_stop();
  }
  CHECK(waiter.over(20s));  // while the session is still being opened
  opening->open();
  CHECK(waiter.end() == (closes ? errc::closed : errc::cancelled));
  CHECK(is_free("a"));
}

TEST_CASE_METHOD(one_service, "waiting: no call opens sessions for ever that end before they can be used", "[T25]") {
  store->next(session_verb::open, {.times = 1000, .during = [&] { clock.advance(990ms); }});
  const bool several = GENERATE(false, true);
  const lock_options brief{.ttl = 1s, .wait = 3s};
  CHECK(thrown([&] {
          if (several) return granted(locks->try_acquire_all({"a", "b"}, brief));
          return granted(locks->try_acquire("a", brief));
        }) == errc::store_failed);
  CHECK(store->opened().size() < 20);
}

TEST_CASE_METHOD(waiting_fixture, "waiting: a cancellation ends it in the local line", "[T14][T35]") {
  auto held = home.acquire("k", {}, false);
  std::stop_source stop;
  const concurrent_call waiter([&] { return home.acquire("k", {.wait = 1h, .cancel = stop.get_token()}, false); });
  REQUIRE(queued(1));
  stop.request_stop();
  CHECK(waiter.end() == errc::cancelled);
  held.release();
  CHECK(granted(home.acquire("k", {.wait = 0ms}, false)));
}

TEST_CASE_METHOD(waiting_fixture, "waiting: a cancellation ends it in the pause between polls", "[T14][T35]") {
  const auto theirs = held_elsewhere("k");
  std::stop_source stop;
  const concurrent_call waiter([&] { return home.acquire("k", {.wait = 1h, .cancel = stop.get_token()}, false); });
  REQUIRE(eventually([&] { return store->count(verb::poll) >= 1; }));
  stop.request_stop();  // time stands still: nothing else could end the pause
  CHECK(waiter.end() == errc::cancelled);
  CHECK(fence_of("k") == theirs.fencing_token());
  // The turn was passed on.
  CHECK(thrown([&] { return home.acquire("k", {.wait = 0ms}, false); }) == errc::timed_out);
  CHECK(home.waiting() == 0);
}

TEST_CASE_METHOD(waiting_fixture, "waiting: a cancellation between two statements ends it after the answer", "[T14]") {
  const auto theirs = held_elsewhere("k");
  for (const auto each : {statement{verb::take}, statement{verb::poll}}) {
    std::stop_source stop;
    const auto at = store->hold(each);
    const concurrent_call waiter([&] { return home.acquire("k", {.wait = 1h, .cancel = stop.get_token()}, false); });
    REQUIRE(at->reached());
    stop.request_stop();
    at->open();
    CHECK(waiter.end() == errc::cancelled);
  }
  CHECK(fence_of("k") == theirs.fencing_token());
}

TEST_CASE_METHOD(engine_fixture, "waiting: a cancellation at any statement leaves no key held and no session in use",
                 "[T14][T80]") {
  const auto each =
      GENERATE(statement{session_verb::open}, statement{verb::take}, statement{verb::insert}, statement{verb::poll},
               statement{session_verb::remove_expired}, statement{verb::take_over});
  const auto end = GENERATE(fate::fail, fate::drop, fate::vanish);
  const auto locks = service();
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire(each == statement{verb::insert} ? "another" : "k", {.ttl = 1s});
  crashed->cut();
  clock.advance(1s);
  std::stop_source stop;
  store->next(each, {.what = end, .why = row_lock, .ahead = [&] { stop.request_stop(); }});
  lease mine;
  const auto code = thrown([&] { mine = locks->acquire("k", {.ttl = 1s, .wait = 1h, .cancel = stop.get_token()}); });
  CHECK(stop.stop_requested());
  CHECK((mine || code == errc::cancelled));  // what needs no pause goes on
  mine = lease{};
  REQUIRE(clock.at_rest());
  CHECK(is_free("k"));
  // What nobody uses any more is closed after a while.
  const auto closed = [&] { return store->count(session_verb::close); };
  const auto used = each == statement{session_verb::open} ? store->opened().size() - 1 : store->opened().size();
  for (int i = 0; i < 250 && closed() < used; ++i) REQUIRE(at_rest_after(334ms));
  CHECK(closed() == used);
}

TEST_CASE_METHOD(waiting_fixture,
                 "waiting: a key without a holder whose row a transaction has locked is named as such") {
  home.acquire("k", {}, false).release();
  store->next(verb::take, {.what = fate::fail, .why = row_lock, .times = 2});
  const auto busy = caught<lock_timeout>([&] { return home.acquire("k", {.wait = 0s}, false); });
  CHECK_THAT(busy.what(), ContainsSubstring("an open transaction has written or locked its row"));
}

TEST_CASE_METHOD(waiting_fixture, "waiting: a cancellation that comes with the grant changes nothing", "[T14]") {
  std::stop_source stop;
  store->next(verb::insert, {.during = [&] { stop.request_stop(); }});
  const auto held = home.acquire("k", {.cancel = stop.get_token()}, false);
  CHECK(held);
  CHECK(fence_of("k") == 1);
}

TEST_CASE_METHOD(waiting_fixture, "waiting: cancelled beforehand, it asks for nothing and enters nothing", "[T14]") {
  std::stop_source stop;
  stop.request_stop();
  const detail::lock_settings cancelled{.wait = 1h, .cancel = stop.get_token()};
  const auto mine = home.acquire("k", {}, false);
  const auto sent = home.statements();
  const lock_keys two{"k", "free"};
  for (const bool once : {false, true}) {
    CHECK(thrown([&] { return home.acquire("free", cancelled, once); }) == errc::cancelled);
    CHECK(thrown([&] { return home.acquire("k", cancelled, once); }) == errc::cancelled);
    CHECK(thrown([&] { return home.acquire(two, cancelled, once); }) == errc::cancelled);
    CHECK(elsewhere([&] { return thrown([&] { return home.acquire("k", cancelled, once); }); }) == errc::cancelled);
  }
  CHECK(home.statements() == sent);
}

TEST_CASE_METHOD(waiting_fixture, "waiting: waiters are bounded, and the refusal says so", "[T10][T36]") {
  const auto two = core(options([](auto& settings) { settings.max_waiters = 2; }));
  auto held = two.acquire("k", {}, false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { static_cast<void>(two.acquire("k", {.wait = 1h}, false)); });
  }
  REQUIRE(eventually([&] { return two.waiting() == 2; }));
  CHECK(elsewhere([&] { return thrown([&] { return two.acquire("k", {.wait = 1h}, false); }); }) ==
        errc::too_many_waiters);
  CHECK_FALSE(elsewhere([&] { return granted(two.acquire("k", {}, true)); }));
  held.release();
  for (auto& each : threads) each.join();
  two.close(0ms);
  two.finish();
}

TEST_CASE_METHOD(waiting_fixture, "waiting: close() ends it, in the queue and between polls", "[T90]") {
  const auto theirs = held_elsewhere("k");
  const concurrent_call polls([&] { return home.acquire("k", {.wait = 1h}, false); });
  REQUIRE(eventually([&] { return store->count(verb::poll) >= 1; }));
  const concurrent_call stands([&] { return home.acquire("k", {.wait = 1h}, false); });
  REQUIRE(queued(1));
  CHECK(home.close(1h).empty());  // and waits for neither of them, nor for time to pass
  CHECK(polls.end() == errc::closed);
  CHECK(stands.end() == errc::closed);
}

TEST_CASE_METHOD(waiting_fixture, "waiting: close() ends it though the key stays held in this process", "[T90]") {
  const auto held = home.acquire("k", {}, false);
  const concurrent_call stands([&] { return home.acquire("k", {.wait = 1h}, false); });
  REQUIRE(queued(1));
  CHECK(home.close(0ms) == std::vector<std::string>{"k"});
  CHECK(stands.end() == errc::closed);
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(engine_fixture, "waiting: the engine does not end under a waiter", "[T89][T90]") {
  auto home = core();
  auto held = home.acquire("k", {}, false);
  const concurrent_call stands([raw = home.core().get()] { return engine::acquire(*raw, "k", {.wait = 1h}); });
  REQUIRE(eventually([&] { return home.waiting() == 1; }));
  home.close(0ms);
  home.finish();
  held = lease{};
  home = {};
  CHECK(stands.end() == errc::closed);
  CHECK(eventually([&] { return store->connections() == 0; }));
}

TEST_CASE_METHOD(waiting_fixture, "waiting: an owner's second thread enters as soon as the first was granted",
                 "[T09][T33][T44]") {
  const owner shared;
  for (int round = 0; round < 200; ++round) {
    lease first, second;
    const auto enter = [&](lease& into) {
      const owner_scope here(shared);
      into = home.acquire("k", {.wait = 1h}, false);
    };
    std::thread early([&] { enter(first); });
    std::thread late([&] { enter(second); });
    early.join();
    late.join();  // would wait for the release of the other
    REQUIRE(first.fencing_token() == second.fencing_token());
    REQUIRE(first.reentered() != second.reentered());
    first.release();
    second.release();
  }
}
