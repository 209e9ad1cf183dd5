// SPDX-License-Identifier: BSL-1.0

#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

/// A service under test, another program, and what tests of several keys ask.
struct multi_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = service();
  std::unique_ptr<lock_service> rival = foreign();

  /// Afterwards the keys' rows exist and are free, and the session is open.
  void known(const lock_keys& keys) { locks->acquire_all(keys).release(); }
  bool all_free(const lock_keys& keys) {
    return std::all_of(keys.begin(), keys.end(), [&](const auto& each) { return is_free(each); });
  }
  /// The keys of all such events, in their order.
  std::string keys_of(event::kind kind) {
    std::string keys;
    for (const auto& each : seen->records()) {
      if (each.what == kind) keys += each.key;
    }
    return keys;
  }
};

}  // namespace

TEST_CASE_METHOD(multi_fixture, "multi: known free keys are taken and released by one batch each") {
  known({"a", "b", "c"});
  const auto takes = store->batches(verb::take);
  const auto releases = store->batches(verb::release);
  {
    const auto held = locks->acquire_all({"c", "a", "b"});
    CHECK(held["a"].fencing_token() == 2);
    CHECK(held["c"].fencing_token() == 2);
    CHECK_FALSE(is_free("b"));
  }
  CHECK(store->batches(verb::take) == takes + 1);
  CHECK(store->batches(verb::release) == releases + 1);
  CHECK(store->count(session_verb::open) == 1);
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(multi_fixture,
                 "multi: other threads of the process learn that its keys are held without a statement") {
  const auto held = locks->acquire_all({"a", "b"});
  const auto before = locks->statements();
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("a")); }));
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire_all({"b", "c"})); }));
  CHECK(locks->statements() == before);
}

TEST_CASE_METHOD(multi_fixture, "multi: new keys are made, known ones taken") {
  known({"b"});
  const auto held = locks->acquire_all({"a", "b", "c"});
  CHECK(held["a"].fencing_token() == 1);
  CHECK(held["b"].fencing_token() == 2);
  CHECK(held["c"].fencing_token() == 1);
  CHECK_FALSE(is_free("a"));
}

TEST_CASE_METHOD(multi_fixture, "multi: a key named twice is taken once and released once", "[T77]") {
  {
    const auto held = locks->acquire_all({"a", "a", "b", "a"});
    CHECK(held.size() == 2);
    CHECK_FALSE(held["a"].reentered());
  }
  CHECK(store->count(verb::release) == 2);
  CHECK(seen->count(event::kind::split_brain) == 0);
}

TEST_CASE_METHOD(multi_fixture, "multi: one attempt is all or nothing", "[T76]") {
  known({"a", "b", "c"});
  const auto theirs = rival->acquire("b");
  CHECK_FALSE(granted(locks->try_acquire_all({"a", "b", "c"})));
  CHECK(store->batches(verb::cancel) == 1);
  CHECK(store->count(verb::cancel) == 2);
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK(fence_of("b") == theirs.fencing_token());
  CHECK(locks->close(0ms).empty());
}

TEST_CASE_METHOD(multi_fixture, "multi: keys that are given back after a while look for waiters") {
  store->can().waits = waiting::woken;
  locks = service();
  known({"a", "b", "c"});
  const auto theirs = rival->acquire("b");
  CHECK_FALSE(granted(locks->try_acquire_all({"a", "b", "c"})));
  CHECK(store->looked() == 0);
  store->next(verb::take, {.during = [&] { clock.advance(10ms); }});
  CHECK_FALSE(granted(locks->try_acquire_all({"a", "b", "c"})));
  CHECK(store->looked() == 2);
  CHECK(all_free({"a", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: a dead holder's key is taken over within the round", "[T30]") {
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire_all({"b", "d"}, {.ttl = 10s});
  crashed->cut();
  REQUIRE(at_rest_after(11s));  // it knows that it lost them: its end sends nothing
  const auto held = locks->try_acquire_all({"a", "b", "c", "d"});
  REQUIRE(held);
  CHECK(held["b"].fencing_token() == theirs["b"].fencing_token() + 1);
  CHECK(held["d"].fencing_token() == 2);
}

TEST_CASE_METHOD(multi_fixture, "multi: keys held before are entered again, only the new ones are freed",
                 "[T41][T43][T77]") {
  const auto outer = locks->acquire("b");
  {
    const auto held = locks->acquire_all({"a", "b", "c"});
    CHECK(held["b"].reentered());
    CHECK_FALSE(held["a"].reentered());
    CHECK(held["b"].fencing_token() == outer.fencing_token());
    const auto before = locks->statements();
    const auto again = locks->acquire_all({"a", "b"});
    CHECK(again["a"].reentered());
    CHECK(locks->statements() == before);
  }
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK_FALSE(is_free("b"));
  CHECK_NOTHROW(outer.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: an own expiry is extended by re-entry, never shortened", "[T12]") {
  const auto outer = locks->acquire("b", {.ttl = 2s, .renewal = renewal::none});
  const auto before = outer.remaining();
  const auto shorter = locks->acquire_all({"a", "b"}, {.ttl = 500ms, .renewal = renewal::none});
  CHECK(outer.remaining() == before);
  CHECK(shorter.remaining() < 500ms);
  const auto longer = locks->acquire_all({"b", "c"}, {.ttl = 5s, .renewal = renewal::none});
  CHECK(outer.remaining() > 4s);
  CHECK(longer.remaining() > 4s);
}

TEST_CASE_METHOD(multi_fixture, "multi: the policies of re-entry are those of one key", "[T43]") {
  const auto outer = locks->acquire("b");
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}, {.reentry = reentry::refuse}); }) == errc::already_held);
  CHECK_FALSE(granted(locks->try_acquire_all({"a", "b"}, {.reentry = reentry::busy})));
  CHECK(is_free("a"));
  CHECK_NOTHROW(outer.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: an attempt without an answer holds nothing in the end", "[T14][T76]") {
  known({"a", "b", "c"});
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  const auto settles = GENERATE(true, false);
  store->settles(settles);
  store->next(verb::take, {.what = fate, .skip = 1});
  CHECK(thrown([&] { return locks->try_acquire_all({"a", "b", "c"}); }) == errc::outcome_unknown);
  store->run_ghosts();
  store->settles(true);
  CHECK(as_time_passes([&] { return all_free({"a", "b", "c"}); }));
  const auto nonces = store->nonces();
  CHECK(std::set<std::uint64_t>(nonces.begin(), nonces.end()).size() == nonces.size());
}

TEST_CASE_METHOD(multi_fixture, "multi: a round in trouble is given back and made anew", "[T14]") {
  known({"a", "b", "c"});
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  store->next(verb::take, {.what = fate, .skip = 2});
  multi_lease held;
  while_time_passes([&] { held = locks->acquire_all({"a", "b", "c"}, {.wait = 1h}); });
  store->run_ghosts();
  CHECK_NOTHROW(held.ensure_held());
  for (const auto* key : {"a", "b", "c"}) CHECK(fence_of(key) == held[key].fencing_token());
  held.release();
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: what can't be given back at once is given back later", "[T76]") {
  known({"a", "b", "c"});
  const auto theirs = rival->acquire("c");
  store->next(verb::cancel, {.what = GENERATE(fate::drop, fate::vanish, fate::fail), .why = denied, .times = 2});
  CHECK_FALSE(granted(locks->try_acquire_all({"a", "b", "c"})));
  CHECK(as_time_passes([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: a refusal of the database ends it at once, nothing is held") {
  known({"a", "b", "c"});
  store->next(verb::take, {.what = fate::fail, .why = denied, .skip = 1});
  CHECK(thrown([&] { return locks->acquire_all({"a", "b", "c"}, {.wait = 1h}); }) == errc::store_failed);
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(multi_fixture,
                 "multi: a row lock that was not to be had counts as busy, polls tell which key it was") {
  known({"a", "b", "c"});
  const auto theirs = rival->acquire("b");
  const auto takes = store->count(verb::take);
  store->next(verb::take, {.what = fate::fail, .why = row_lock, .times = 3});
  const auto text = message_of([&] { return locks->acquire_all({"a", "b", "c"}, {.wait = 0ms}); });
  CHECK(text.starts_with("dlock: key 'b'"));
  CHECK(store->count(verb::take) == takes + 3 + 1);  // a, once it was seen to be free
  CHECK(all_free({"a", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: grants that were answered too late are given back, not handed out",
                 "[T25][T38]") {
  known({"a", "b"});
  const bool kept = GENERATE(true, false);
  const lock_options options{.ttl = 10s, .wait = 0ms, .renewal = kept ? renewal::automatic : renewal::none};
  store->next(verb::take, {.skip = 1, .during = [&] { clock.advance(40s); }});
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}, options); }) == errc::store_failed);
  CHECK(seen->count(event::kind::granted) == 2);  // by known()
  CHECK(eventually([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: after grants that were answered too late, what is held before is entered once",
                 "[T25][T41]") {
  known({"a", "b"});
  while_time_passes([&] {
    auto outer = locks->acquire("a", {.ttl = 1h, .renewal = renewal::none});
    store->next(verb::poll, {.during = [&] { clock.advance(1min); }});  // of c, which is new
    {
      const auto all = locks->acquire_all({"a", "b", "c"}, {.ttl = 30s, .wait = 1h, .renewal = renewal::none});
      CHECK(all["a"].reentered());
    }
    outer.release();
  });
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: a grant that gets too old while the others are asked for is given back",
                 "[T25]") {
  known({"a"});
  store->next(verb::poll, {.during = [&] { clock.advance(600ms); }});
  CHECK(thrown([&] {
          return locks->acquire_all({"a", "b"}, {.ttl = 500ms, .wait = 0ms, .renewal = renewal::none});
        }) == errc::store_failed);
  CHECK(eventually([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: grants under two sessions, the elder of which has ended, are all given back",
                 "[T25]") {
  known({"a", "b"});
  // b is granted. a has to ask once more, and the session ends before that: a's next take is under another one.
  store->next(verb::take, {.what = fate::fail, .why = row_lock});
  store->next(verb::poll, {.during = [&] { clock.advance(4h); }});
  CHECK(thrown([&] {
          return locks->acquire_all({"a", "b"}, {.ttl = 24h, .wait = 0ms, .renewal = renewal::none});
        }) == errc::store_failed);
  CHECK(eventually([&] { return all_free({"a", "b"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: bad options are refused before any statement") {
  CHECK_THROWS_AS(locks->acquire_all({"a", "b"}, {.ttl = 0s}), std::invalid_argument);
  CHECK_THROWS_AS(locks->try_acquire_all({"a", "b"}, {.wait = -1ms}), std::invalid_argument);
  CHECK(locks->statements() == 0);
}

TEST_CASE_METHOD(multi_fixture, "multi: a key held before that is lost while the others are taken fails it all",
                 "[T76]") {
  const auto outer = locks->acquire("b", {.ttl = 300ms, .renewal = renewal::none});
  store->next(verb::take, {.during = [&] { clock.advance(2s); }});
  CHECK(thrown([&] {
          return locks->acquire_all({"a", "b", "c"}, {.ttl = 1s, .wait = 1h, .renewal = renewal::none});
        }) == errc::lost);
  CHECK(eventually([&] { return all_free({"a", "c"}); }));
}

namespace {

/// The rival has b.
struct rival_fixture : multi_fixture {
  lease theirs{};

  void let_go() { theirs = lease(); }
  /// From now on: b is busy, until a round has seen that. When the waiter gets it, the rival has a, until the next
  /// round has seen that, and when the waiter gets that, the rival has b again. `others`: how many keys there are
  /// besides b.
  void two_rounds_in_vain(unsigned others) {
    theirs = rival->acquire("b");
    for (int i = 0; i < 2; ++i) {
      store->next(verb::poll, {.during = [this] { let_go(); }});  // of the round
      store->next(verb::poll, {});                                // of the one that is waited for
    }
    store->next(verb::take, {.skip = others + 1, .ahead = [this] { theirs = rival->acquire("a"); }});
    store->next(verb::take, {.skip = others, .ahead = [this] { theirs = rival->acquire("b"); }});
  }
  /// Takes, until a is taken alone, and held while b is waited for.
  static constexpr unsigned takes_in_vain = 6;
};

}  // namespace

TEST_CASE_METHOD(multi_fixture, "multi: a timeout names the busy key and its holder, nothing is held", "[T32][T76]") {
  const auto theirs = rival->acquire("b", {.ttl = 1h});
  const auto begun = clock.now();
  const auto text = while_time_passes([&] {
    return message_of([&] { return locks->acquire_all({"a", "b", "c"}, {.wait = 1s}); });
  });
  CHECK(clock.now() - begun >= 1s);
  CHECK(text.starts_with("dlock: key 'b': still busy after "));
  CHECK(text.find(", held by ") != std::string::npos);
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK(seen->count(event::kind::busy) == 1);
  // wait = 0 is one attempt.
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}, {.wait = 0ms}); }) == errc::timed_out);
  CHECK(is_free("a"));
}

TEST_CASE_METHOD(multi_fixture, "multi: who waits holds nothing, looks at the busy key only, and gets all", "[T76]") {
  known({"a", "b", "c"});
  auto theirs = rival->acquire("b");
  const auto before = store->count(verb::poll);
  multi_lease held;
  while_time_passes([&] {
    std::thread waiter([&] { held = locks->acquire_all({"a", "b", "c"}, {.wait = 1h}); });
    CHECK(eventually([&] { return store->count(verb::poll) >= before + 4; }));
    CHECK(store->count(verb::take) == 2 * 3);  // known(), and one round
    CHECK(is_free("a"));
    CHECK(is_free("c"));
    CHECK(elsewhere([&] { return granted(locks->try_acquire("a")); }));  // nor a turn
    theirs.release();
    waiter.join();
  });
  REQUIRE(held.size() == 3);
  CHECK_NOTHROW(held.ensure_held());
  CHECK(held["b"].fencing_token() == 3);
}

TEST_CASE_METHOD(multi_fixture, "multi: a cancelled wait leaves nothing behind", "[T33][T76]") {
  known({"a", "b", "c"});
  const bool here = GENERATE(true, false);  // held in this process, or in another
  auto& holder = here ? *locks : *rival;
  const auto theirs = holder.acquire("b");
  std::stop_source stop;
  const concurrent_call waiter([&] {
    return locks->acquire_all({"a", "b", "c"}, {.wait = 1h, .cancel = stop.get_token()});
  });
  CHECK(clock.at_rest({.callers = 1}));  // in the queue, or between two polls
  CHECK_FALSE(waiter.over());
  stop.request_stop();
  CHECK(waiter.over(20s));                // no time has passed
  if (!waiter.over()) clock.advance(2h);  // so that the test can end
  CHECK(waiter.end() == errc::cancelled);
  CHECK(all_free({"a", "c"}));
  CHECK_NOTHROW(theirs.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: a cancellation that comes together with a turn is not forgotten",
                 "[T33][T76]") {
  known({"a", "b"});
  for (int i = 0; i < 5; ++i) {
    auto first = locks->acquire("a");
    const auto second = locks->acquire("b");
    std::stop_source stop;
    const concurrent_call waiter([&] {
      return locks->acquire_all({"a", "b"}, {.wait = 1h, .cancel = stop.get_token()});
    });
    CHECK(clock.at_rest({.callers = 1}));
    first.release();
    stop.request_stop();  // the waiter has hardly noticed the turn yet
    CHECK(waiter.over(20s));
    if (!waiter.over()) clock.advance(2h);
    CHECK(waiter.end() == errc::cancelled);
    CHECK_NOTHROW(second.ensure_held());
  }
  CHECK(all_free({"a"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: close() ends the wait, and no new one begins", "[T17]") {
  known({"a", "b"});
  const auto theirs = rival->acquire("b");
  const auto polls = store->count(verb::poll);
  const auto end = while_time_passes([&] {
    const concurrent_call waiter([&] { return locks->acquire_all({"a", "b"}, {.wait = 1h}); });
    CHECK(eventually([&] { return store->count(verb::poll) > polls; }));
    locks->close(0ms);
    return waiter.end();
  });
  CHECK(end == errc::closed);
  CHECK(is_free("a"));
  CHECK(thrown([&] { return locks->acquire_all({"a", "c"}); }) == errc::closed);
  CHECK(thrown([&] { return locks->try_acquire_all({"a", "c"}); }) == errc::closed);
}

TEST_CASE_METHOD(rival_fixture, "multi: after three rounds in vain they are taken one by one, holding those before",
                 "[T76]") {
  locks = service([](auto& settings) { settings.max_waiters = 1; });  // it counts once
  known({"a", "b", "c"});
  two_rounds_in_vain(2);
  const auto takes = store->batches(verb::take);
  multi_lease held;
  while_time_passes([&] {
    std::thread waiter([&] { held = locks->acquire_all({"a", "b", "c"}, {.wait = 1h}); });
    // The third round has failed: a is held from now on, and b waited for.
    CHECK(eventually([&] { return store->batches(verb::take) == takes + takes_in_vain; }));
    const auto polls = store->count(verb::poll);
    CHECK(eventually([&] { return store->count(verb::poll) > polls + 2; }));
    CHECK_FALSE(is_free("a"));
    CHECK(is_free("c"));
    let_go();
    waiter.join();
  });
  REQUIRE(held.size() == 3);
  CHECK_NOTHROW(held.ensure_held());
  held.release();
  CHECK(all_free({"a", "b", "c"}));
}

TEST_CASE_METHOD(rival_fixture, "multi: what was taken one by one in vain is free at once, whatever min_hold says",
                 "[T76]") {
  known({"a", "b"});
  two_rounds_in_vain(1);
  const auto takes = store->batches(verb::take);
  CHECK(thrown_as_time_passes([&] {
          return locks->acquire_all({"a", "b"}, {.wait = 30s, .min_hold = 1h});
        }) == errc::timed_out);
  REQUIRE(store->batches(verb::take) >= takes + takes_in_vain);  // a was held
  CHECK(eventually([&] { return is_free("a"); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: the wait for a key that this process holds keeps no other from its threads",
                 "[T76]") {
  known({"a", "b"});
  auto mine = locks->acquire("b");
  multi_lease held;
  while_time_passes([&] {
    std::thread waiter([&] { held = locks->acquire_all({"a", "b"}, {.wait = 1h}); });
    // Other threads get a again and again.
    for (int i = 0; i < 20; ++i) CHECK(thrown([&] { return locks->acquire("a", {.wait = 1h}); }) == std::error_code());
    CHECK(store->batches(verb::cancel) == 0);
    CHECK(elsewhere([&] {
      mine.release();
      return true;
    }));
    waiter.join();
  });
  CHECK(held.size() == 2);
}

TEST_CASE_METHOD(rival_fixture, "multi: keys with an expiry of their own that are taken one by one get the same one",
                 "[T76]") {
  known({"a", "b"});
  const auto ttl = GENERATE(2000ms, 60'000ms);  // a ends while b is waited for, or does not
  two_rounds_in_vain(1);
  const auto takes = store->batches(verb::take);
  multi_lease held;
  while_time_passes([&] {
    std::thread waiter([&] {
      held = locks->acquire_all({"a", "b"}, {.ttl = ttl, .wait = 24h, .renewal = renewal::none});
    });
    CHECK(eventually([&] { return store->batches(verb::take) >= takes + takes_in_vain; }));
    const auto until = clock.now() + 5s;  // the short one ends meanwhile
    CHECK(eventually([&] { return clock.now() > until; }));
    let_go();
    waiter.join();
  });
  REQUIRE(held.size() == 2);
  CHECK(held["a"].remaining() + 1s >= held["b"].remaining());
}

TEST_CASE_METHOD(rival_fixture, "multi: the extension of one that was taken before waits while its row is locked",
                 "[T76]") {
  locks = service([](auto& settings) { settings.connections = 1; });
  known({"a", "b"});
  two_rounds_in_vain(1);
  const auto takes = store->batches(verb::take);
  multi_lease held;
  while_time_passes([&] {
    std::thread waiter([&] {
      held = locks->acquire_all({"a", "b"}, {.ttl = 60s, .wait = 24h, .renewal = renewal::none});
    });
    CHECK(eventually([&] { return store->batches(verb::take) >= takes + takes_in_vain; }));
    store->lock_row("a");
    const auto until = clock.now() + 10s;
    CHECK(eventually([&] { return clock.now() > until; }));
    let_go();
    CHECK(eventually([&] { return store->batches(verb::extend) > 3; }));
    store->unlock_row("a");
    waiter.join();
  });
  REQUIRE(held.size() == 2);
  CHECK(held["a"].remaining() + 1s >= held["b"].remaining());
}

TEST_CASE_METHOD(multi_fixture, "multi: a key that another thread of the same owner gets meanwhile is entered again",
                 "[T44]") {
  known({"a", "b"});
  const auto home = core();
  const owner who;
  const auto at = store->hold(verb::take);
  lease first;
  multi_lease all;
  std::thread early([&] {
    const owner_scope here(who);
    first = home.acquire("b", {}, false);
  });
  CHECK(at->reached());
  std::thread late([&] {
    const owner_scope here(who);
    all = home.acquire(lock_keys{"a", "b"}, {.wait = 1h}, false);
  });
  CHECK(eventually([&] { return home.waiting() == 1; }));
  at->open();
  early.join();
  late.join();
  REQUIRE(all.size() == 2);
  CHECK(all["b"].reentered());
  CHECK(all["b"].fencing_token() == first.fencing_token());
  CHECK_FALSE(all["a"].reentered());
  all.release();
  CHECK(is_free("a"));
  CHECK_FALSE(is_free("b"));
  first.release();
  home.close(0ms);
  home.finish();
}

TEST_CASE_METHOD(multi_fixture, "multi: the loss of one is the loss of all") {
  const auto outer = locks->acquire("b", {.max_hold = 1s});
  auto held = locks->acquire_all({"a", "b", "c"});
  clock.advance(1s);
  CHECK(held["a"].remaining() > 1s);
  CHECK(held.remaining() == 0us);
  CHECK(held.loss() == loss_reason::max_hold);
  CHECK(is_lost(held));
  CHECK(thrown([&] { return held.ensure_held(), 0; }) == errc::lost);
  // The others are freed all the same.
  CHECK(thrown([&] { return held.release(), 0; }) == errc::lost);
  CHECK_FALSE(held);
  CHECK(eventually([&] { return all_free({"a", "c"}); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: a key that was lost before can't be entered again, nothing is taken", "[T42]") {
  const auto outer = locks->acquire("b", {.ttl = 300ms, .renewal = renewal::none});
  clock.advance(400ms);
  CHECK(thrown([&] { return locks->acquire_all({"a", "b"}); }) == errc::lost);
  CHECK(is_free("a"));
}

TEST_CASE_METHOD(multi_fixture, "multi: they are released last first, and told so") {
  locks->acquire_all({"b", "c", "a"}).release();
  CHECK(keys_of(event::kind::granted) == "abc");
  CHECK(keys_of(event::kind::released) == "cba");
}

TEST_CASE_METHOD(multi_fixture, "multi: a release without an answer is repeated", "[T07][T08]") {
  auto held = locks->acquire_all({"a", "b", "c"});
  store->next(verb::release, {.what = GENERATE(fate::drop, fate::ghost, fate::vanish), .skip = 1});
  CHECK_NOTHROW(while_time_passes([&] { held.release(); }));
  const auto theirs = rival->try_acquire_all({"a", "b", "c"});
  CHECK(theirs);
  store->run_ghosts();
  CHECK_NOTHROW(theirs.ensure_held());
  CHECK(fence_of("b") == theirs["b"].fencing_token());
}

TEST_CASE_METHOD(multi_fixture, "multi: a release that fails for one key frees the others, and says so") {
  auto held = locks->acquire_all({"a", "b", "c"});
  store->next(verb::release, {.what = fate::fail, .why = denied, .skip = 1});
  CHECK(thrown([&] { return held.release(), 0; }) == errc::outcome_unknown);
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK(keys_of(event::kind::release_failed) == "b");
  const auto end = clock.now() + 5s;  // long before its session would end
  CHECK(eventually([&] {
    if (clock.now() < end) clock.advance(100ms);
    return is_free("b");
  }));
}

TEST_CASE_METHOD(multi_fixture, "multi: released after a loss, it throws lock_lost and touches nobody's keys",
                 "[T05]") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 1s});
  store->cut();
  clock.advance(2s);
  const auto theirs = rival->acquire_all({"a", "b"}, {.wait = 0ms});
  store->cut(false);
  CHECK(thrown([&] { return held.release(), 0; }) == errc::lost);
  CHECK_NOTHROW(theirs.ensure_held());
  CHECK(fence_of("a") == theirs["a"].fencing_token());
}

TEST_CASE_METHOD(multi_fixture,
                 "multi: a release that takes longer than the leases live finds them expired, and no split", "[T06]") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 10s, .renewal = renewal::none});
  lease theirs;
  store->next(verb::release, {.ahead = [&] {
                clock.advance(11s);
                theirs = rival->acquire("b", {.wait = 0ms});
              }});
  CHECK(caught<lock_lost>([&] { held.release(); }).reason() == loss_reason::expired);
  CHECK(locks->count(event::kind::split_brain) == 0);
  CHECK_NOTHROW(theirs.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: it may outlive its service, and its keys are freed with it", "[T17]") {
  auto held = locks->acquire_all({"a", "b"});
  locks.reset();
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(is_free("a"));
  held = multi_lease();
  CHECK(all_free({"a", "b"}));
}

TEST_CASE_METHOD(multi_fixture, "multi: min_hold keeps all of them, max_hold ends all", "[T20]") {
  locks->acquire_all({"a", "b"}, {.min_hold = 1s}).release();
  CHECK_FALSE(is_free("a"));
  CHECK_FALSE(is_free("b"));
  clock.advance(1s);
  CHECK(all_free({"a", "b"}));
  const auto held = locks->acquire_all({"a", "b"}, {.max_hold = 1s});
  clock.advance(1s);
  CHECK(held.loss() == loss_reason::max_hold);
  CHECK(is_lost(held));
  CHECK(is_free_after("a", 1500ms));
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(multi_fixture, "multi: it may be released by a callback of its own loss") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 1s});
  std::atomic<bool> over{false};
  const std::stop_callback on_loss(held.lost_token(), [&] {
    static_cast<void>(thrown([&] { return held.release(), 0; }));
    over = true;
  });
  clock.advance(2s);
  CHECK(eventually([&] { return over.load(); }));
  CHECK_FALSE(held);
}

TEST_CASE_METHOD(multi_fixture, "multi: its end does not wait for a callback of its loss that runs") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 1s});
  gate slow;
  {
    const std::stop_callback on_loss(held.lost_token(), [&] { slow.pass(); });
    clock.advance(2s);
    CHECK(slow.reached());
    held = multi_lease();  // would hang
    slow.open();
  }
  CHECK_FALSE(held);
}

TEST_CASE_METHOD(multi_fixture, "multi: nothing hangs on the session any more, whether it was granted or not",
                 "[T80]") {
  const lock_options options{.ttl = 1s, .wait = 0ms};
  const auto theirs = rival->acquire("b", {.ttl = 1h});
  CHECK_FALSE(granted(locks->try_acquire_all({"a", "b"}, options)));
  locks->acquire_all({"a", "c"}, options).release();
  CHECK(idle_session_ends());
}
