// SPDX-License-Identifier: BSL-1.0

// Waiting for a key at a store that tells when it may be free (store::watch).

#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

/// Another program holds the key "k", and a service waits for it on a thread of its own.
struct notified_fixture : engine_fixture {
  running_clock running{clock};
  std::unique_ptr<lock_service> other = foreign();
  std::optional<lease> held = other->acquire("k");
  std::stop_source cancel{};
  std::unique_ptr<lock_service> mine;
  std::thread waiter{};
  std::atomic<bool> over{false};
  static constexpr retry_policy seldom{.pause = 1h, .max_pause = 1h};
  bool granted = false;  // these three once it is over
  bool timed_out = false;
  bool cancelled = false;

  notified_fixture() {
    store->tells_free();
    mine = running_service();
  }
  ~notified_fixture() {
    cancel.request_stop();
    if (waiter.joinable()) waiter.join();
  }

  std::unique_ptr<lock_service> running_service() {
    return service([this](auto& settings) { settings.time = &running; });
  }
  /// A store that wakes one waiter at a release, instead.
  void wakes_one() {
    store->can().waits = waiting::woken;
    mine = service();
  }

  /// Other programs free the same keys, which it does not notice: whoever waits is notified and polls.
  void others_release() {
    auto& waits = store->can().waits;
    waits = waits == waiting::woken ? waiting::woken_beside_others : waiting::notified_beside_others;
    mine = running_service();
  }

  void wait_for(const std::vector<lock_key>& all, lock_options how) {
    how.cancel = cancel.get_token();
    waiter = std::thread([this, all, how] {
      try {
        if (all.size() == 1) {
          const auto one = mine->acquire(all[0], how);
        } else {
          const auto many = mine->acquire_all(lock_keys(all), how);
        }
        granted = true;
      } catch (const lock_timeout&) {
        timed_out = true;
      } catch (const lock_refused&) {
        cancelled = true;
      } catch (const store_error&) {
        // none of them
      }
      over = true;
    });
  }
  /// The same, until it knows that its watch of "k" works, and polls no more.
  void wait_for_notice(const std::vector<lock_key>& keys, lock_options how) {
    wait_for(keys, std::move(how));
    REQUIRE(pauses_after(2));
    REQUIRE(store->tell("k") == 1);
    REQUIRE(pauses_after(4));
  }
  /// The same at a store that wakes one waiter, of a wait of 10 s for keys that are known, "a" and "k".
  void wait_for_registration() {
    elsewhere([&] { mine->acquire("a").release(); });
    auto polls = store->count(verb::poll);
    wait_for({"a", "k"}, {.wait = 10s, .retry = seldom});
    REQUIRE(polled(++polls));
    CHECK(store->watched("k") == 0);
    for (const auto pass : {10ms, 0ms, 20ms}) {
      if (pass == 0ms) REQUIRE(store->tell("k", true) == 1);  // it works
      clock.advance(pass);
      REQUIRE(polled(++polls));
    }
  }
  static std::vector<lock_key> one_or_several(bool several) {
    return several ? std::vector<lock_key>{"a", "k"} : std::vector<lock_key>{"k"};
  }
  void end() { waiter.join(); }
  /// It waits for "k", which is released then, and gets it when its pause is over.
  void get_after_a_wait(const lock_options& how) {
    wait_for({"k"}, how);
    REQUIRE(has_polled());
    held.reset();
    clock.advance(10ms);
    end();
    REQUIRE(granted);
  }
  std::size_t sent() const { return store->count(verb::take) + store->count(verb::poll) + store->count(verb::insert); }
  bool at_rest() { return clock.at_rest({.callers = 1}); }
  bool rests_after(std::chrono::microseconds time) { return at_rest_after(time, {.callers = 1}); }
  /// It comes to rest after something has come to hold.
  template <class F>
  bool rests_once(F ready) {
    return eventually(ready) && at_rest();
  }
  /// It has polled so often in all.
  bool polled(std::size_t times) {
    return rests_once([&] { return store->count(verb::poll) == times; });
  }
  bool has_polled() {
    return rests_once([&] { return store->count(verb::poll) > 0; });
  }
  bool watches(const char* key) {
    return rests_once([&] { return store->watched(key) == 1; });
  }
  /// Another program releases "k", the store tells, and it gets the key.
  void get_it() {
    REQUIRE(at_rest());  // no request of its own is under way, which would find the key free
    held.reset();
    REQUIRE(store->tell("k", true) == 1);
    end();
    CHECK(granted);
  }
  /// It pauses, watches the key, and has sent at least so many statements.
  bool pauses_after(std::size_t statements) {
    return rests_once([&] { return sent() >= statements && store->watched("k") == 1; });
  }
};

}  // namespace

TEST_CASE_METHOD(notified_fixture, "notified: the last poll of a wait gets the time of a statement") {
  mine = service([](auto& settings) { settings.connections = 1; });
  elsewhere([&] { mine->acquire("x").release(); });
  wait_for_notice({"k"}, {.wait = 5s});
  REQUIRE(rests_after(4s));
  const auto busy = store->hold(verb::take);
  const concurrent_call caller([&] { return mine->acquire("x"); });
  REQUIRE(busy->reached());
  CHECK(at_rest_after(1s, {.callers = 1}));  // it waits for the connection
  CHECK_FALSE(over);
  busy->open();
  static_cast<void>(caller.end());
  end();
  CHECK(timed_out);
}

TEST_CASE_METHOD(notified_fixture, "notified: who waits sends nothing until the store tells that the key may be free") {
  wait_for_notice({"k"}, {.wait = 1h});
  const auto before = sent();
  REQUIRE(rests_after(4s));
  REQUIRE(sent() == before);

  held.reset();
  REQUIRE(at_rest());
  REQUIRE_FALSE(over);
  const auto takes = store->count(verb::take);
  const auto polls = store->count(verb::poll);
  store->tell("k");
  end();
  REQUIRE(granted);
  REQUIRE(store->count(verb::take) == takes + 1);
  REQUIRE(store->count(verb::poll) == polls);
  REQUIRE(store->watched("k") == 0);
}

TEST_CASE_METHOD(notified_fixture,
                 "notified: before the watch works, and once it does not, the key is polled with back-off") {
  wait_for({"k"}, {.wait = 1h});
  const auto polls_in_a_second = [&] {
    const auto before = store->count(verb::poll);
    for (int i = 0; i < 10; ++i) {
      clock.advance(100ms);
      if (!at_rest()) return std::size_t{0};
    }
    return store->count(verb::poll) - before;
  };
  REQUIRE(pauses_after(2));
  REQUIRE(polls_in_a_second() >= 1);
  store->tell("k", true);
  REQUIRE(pauses_after(sent()));
  REQUIRE(polls_in_a_second() == 0);
  store->tell("k", false);
  REQUIRE(pauses_after(sent()));
  REQUIRE(polls_in_a_second() >= 1);
}

TEST_CASE_METHOD(notified_fixture, "notified: a watch that has stopped working is begun anew") {
  wait_for({"k"}, {.wait = 1h});
  REQUIRE(pauses_after(2));
  REQUIRE(store->begun() == 1);
  store->tell("k", true);
  REQUIRE(pauses_after(4));
  REQUIRE(store->begun() == 1);
  store->tell("k", false);
  REQUIRE(pauses_after(6));
  REQUIRE(store->begun() == 2);
}

TEST_CASE_METHOD(notified_fixture, "notified: a key that was released to waiters is left to them for a while") {
  store->has_waiters(1);
  elsewhere([&] { mine->acquire("x").release(); });
  const auto takes = store->count(verb::take);
  wait_for({"x"}, {.wait = 1h});
  REQUIRE(watches("x"));
  SECTION("that one of them has had it already, the store tells") {
    store->tell("x");  // the watch works
    REQUIRE(at_rest());
    CHECK(store->count(verb::take) == takes);
    CHECK_FALSE(over);
    store->tell("x");
  }
  SECTION("or nobody comes") {
    REQUIRE(rests_after(4ms));
    CHECK(store->count(verb::take) == takes);
    CHECK_FALSE(over);
    clock.advance(1ms);
  }
  end();
  CHECK(granted);
}

TEST_CASE_METHOD(notified_fixture, "notified: among waiters those that were passed over more often ask first") {
  held.reset();
  store->has_waiters(3);
  elsewhere([&] { mine->acquire("k").release(); });
  held = other->acquire("k");
  wait_for({"k"}, {.wait = 1h});
  REQUIRE(watches("k"));
  REQUIRE(rests_after(5ms));
  REQUIRE_FALSE(over);
  for (const auto before_it : {2ms, 1ms}) {
    const auto takes = store->count(verb::take);
    held->release();
    held = other->acquire("k");
    store->tell("k");
    REQUIRE(at_rest());
    REQUIRE(rests_after(before_it - 1us));
    CHECK(store->count(verb::take) == takes);
    REQUIRE(rests_after(1us));
    CHECK(store->count(verb::take) == takes + 1);
    REQUIRE_FALSE(over);
  }
  held->release();
  store->tell("k");
  end();
  CHECK(granted);
}

TEST_CASE_METHOD(notified_fixture, "notified: what is told while a statement is under way is not lost") {
  wait_for({"k"}, {.wait = 1h});
  REQUIRE(pauses_after(2));
  // Told, it takes in vain and looks; before it has seen the answer, which names the holder, the key becomes free.
  store->next(verb::poll, {.during = [&] {
                held.reset();
                store->tell("k");
              }});
  store->tell("k");
  end();
  REQUIRE(granted);
}

TEST_CASE_METHOD(notified_fixture, "notified: a store that fails to tell delays the wait, and no more than that") {
  wait_for_notice({"k"}, {.wait = 1h});
  held.reset();
  clock.advance(10s);
  end();
  REQUIRE(granted);
}

TEST_CASE_METHOD(notified_fixture, "notified: the watch ends with the wait") {
  SECTION("which was too short") {
    wait_for_notice({"k"}, {.wait = 5s});
    clock.advance(5s);
    end();
    REQUIRE(timed_out);
  }
  SECTION("which was cancelled") {
    wait_for_notice({"k"}, {.wait = 1h});
    cancel.request_stop();
    end();
    REQUIRE(cancelled);
  }
  REQUIRE(store->watched("k") == 0);
}

TEST_CASE_METHOD(notified_fixture, "notified: what is told does not count as a retry") {
  const bool several = GENERATE(false, true);
  CAPTURE(several);
  wait_for(one_or_several(several), {.wait = 1h, .retry = {.limit = 1}});
  REQUIRE(pauses_after(2));
  for (int i = 0; i < 5; ++i) {
    const auto before = sent();
    store->tell("k");
    REQUIRE(pauses_after(before + 2));
  }
  get_it();
}

TEST_CASE_METHOD(notified_fixture,
                 "notified: a limit of retries ends the wait after its pauses, as where nothing is told") {
  const bool several = GENERATE(false, true);
  CAPTURE(several);
  const lock_options thrice{.wait = 1h,
                            .retry = {.pause = 100ms, .multiplier = 1, .max_pause = 100ms, .jitter = 0, .limit = 2}};
  wait_for(one_or_several(several), thrice);
  REQUIRE(pauses_after(2));
  REQUIRE(store->tell("k", true) == 1);  // the watch works
  REQUIRE(pauses_after(4));
  for (int i = 0; i < 2; ++i) {
    REQUIRE_FALSE(over);
    const auto before = sent();
    clock.advance(100ms);
    REQUIRE(eventually([&] { return sent() > before; }));
    REQUIRE(clock.at_rest({.callers = i == 0 ? 1U : 0U}));
  }
  end();
  CHECK(timed_out);
}

TEST_CASE_METHOD(notified_fixture, "notified: of several keys the busy one is watched") {
  wait_for({"a", "k", "z"}, {.wait = 1h});
  REQUIRE(watches("k"));
  REQUIRE(store->watched("a") + store->watched("z") == 0);
  get_it();
  REQUIRE(store->watched("k") == 0);
}

// ---- a store that wakes one waiter at a release that looks for it ---------------------------------------------------

TEST_CASE_METHOD(notified_fixture, "woken: a waiter polls first, then registers, and polls no more") {
  wakes_one();
  wait_for({"k"}, {.wait = 60s, .retry = seldom});
  REQUIRE(polled(1));
  CHECK(store->watched("k") == 0);
  clock.advance(10ms);
  REQUIRE(polled(2));
  REQUIRE(watches("k"));
  // That the watch works is a reason to look, and none to take.
  const auto takes = store->count(verb::take);
  REQUIRE(store->tell("k", true) == 1);
  REQUIRE(polled(3));
  CHECK(store->count(verb::take) == takes);
  clock.advance(10ms);
  REQUIRE(polled(4));
  REQUIRE(rests_after(5s));
  CHECK(store->count(verb::poll) == 4);
  held.reset();
  CHECK_FALSE(over);
  REQUIRE(store->tell("k", true) == 1);
  end();
  CHECK(granted);
  CHECK(store->watched("k") == 0);
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter for several keys registers for the busy one, and is woken by it") {
  wakes_one();
  wait_for_registration();
  const auto before = sent();
  REQUIRE(rests_after(5s));
  CHECK(sent() == before);
  CHECK(is_free("a"));
  SECTION("released") {
    held.reset();
    const auto takes = store->count(verb::take);
    REQUIRE(store->tell("k", true) == 1);
    end();
    CHECK(granted);
    CHECK(store->count(verb::take) == takes + 2);  // a round, without a poll before it
    CHECK(store->looked() == 2);                   // the releases of both, for others may wait as well
  }
  SECTION("cancelled") {
    cancel.request_stop();
    end();
    CHECK(cancelled);
  }
  SECTION("timed out") {
    clock.advance(5s);
    end();
    CHECK(timed_out);
  }
  CHECK(store->watched("k") == 0);
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter for several keys goes from one that is free to another one") {
  wakes_one();
  wait_for_registration();
  auto first = other->acquire("a");
  held.reset();
  // What it hears of "k" in the round that finds "a" busy is nothing to the wait for "a".
  store->next(verb::poll, {.during = [&] { store->tell("k"); }});
  REQUIRE(store->tell("k", true) == 1);
  REQUIRE(at_rest());
  clock.advance(10ms);  // as of the first key that it waits for
  REQUIRE(watches("a"));
  CHECK(store->watched("k") == 0);
  const auto takes = store->count(verb::take);
  store->tell("a", true);  // it works
  REQUIRE(rests_after(20ms));
  CHECK(store->count(verb::take) == takes);
  first.release();
  store->tell("a");
  end();
  CHECK(granted);
  CHECK(store->watched("a") == 0);
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter for several keys keeps no place while it queues for another one") {
  wakes_one();
  wait_for_registration();
  std::optional<lease> theirs;
  elsewhere([&] { theirs = mine->acquire("a"); });
  held.reset();
  REQUIRE(store->tell("k", true) == 1);
  CHECK(eventually([&] { return store->watched("k") == 0; }));
  CHECK_FALSE(over);
  theirs.reset();
  end();
  CHECK(granted);
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter for several keys does not rely on the release of a young grant") {
  wakes_one();
  wait_for_registration();
  held->release();
  held = other->acquire("k");
  REQUIRE(store->tell("k", true) == 1);
  REQUIRE(at_rest());
  const auto polls = store->count(verb::poll);
  REQUIRE_FALSE(over);
  held->release();  // which looks for nobody
  clock.advance(20ms);
  CHECK(eventually([&] { return over.load(); }, 5s));
  end();
  CHECK(granted);
  CHECK(store->count(verb::poll) == polls + 1);
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter for a row registers and polls on, and its release looks") {
  wakes_one();
  store->lock_rows();
  mine = service();
  const auto row = lock_key::of_row(row_fixture::table_named("orders", row_renewal::session), {std::int64_t{1}});
  held = other->acquire(lock_key::from_stored(row.view()));  // as the memory store knows it
  wait_for({row}, {.wait = 10s, .retry = {.pause = 100ms, .max_pause = 100ms, .jitter = 0.0}});
  const auto watched = [&] { return store->watched(row.view()) == 1; };
  REQUIRE(as_time_passes([&] { return watched() && at_rest(); }, 10ms));
  REQUIRE(store->tell(row.view(), true) == 1);
  REQUIRE(at_rest());
  for (int i = 0; i < 3; ++i) {
    const auto polls = store->count(verb::poll);
    clock.advance(100ms);
    REQUIRE(polled(polls + 1));
  }
  held.reset();
  CHECK_FALSE(over);
  REQUIRE(store->tell(row.view()) == 1);
  end();
  CHECK(granted);
  CHECK_FALSE(watched());
  CHECK(store->looked() == 1);
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter that is not notified any more polls again") {
  wakes_one();
  wait_for({"k"}, {.wait = 60s});
  const auto pass = [&](std::size_t polls) {
    return eventually([&] {
      if (store->count(verb::poll) >= polls) return true;
      clock.advance(1ms);
      return !at_rest();
    });
  };
  REQUIRE(pass(3));
  REQUIRE(eventually([&] { return store->watched("k") == 1; }));
  store->tell("k", true);
  REQUIRE(pass(6));
  store->tell("k", false);
  const auto before = store->count(verb::poll);
  CHECK(pass(before + 5));
  held.reset();
  REQUIRE(as_time_passes([&] { return over.load(); }, 1ms));
  end();
  CHECK(granted);
}

TEST_CASE_METHOD(notified_fixture, "woken: a release looks for a waiter if one may be there") {
  wakes_one();
  mine->acquire("a").release();
  CHECK(store->looked() == 0);
  auto held_long = mine->acquire("b");
  clock.advance(10ms);
  held_long.release();
  CHECK(store->looked() == 1);
  get_after_a_wait({.ttl = 60s, .wait = 60s});
  CHECK(store->looked() == 2);
}

TEST_CASE_METHOD(notified_fixture, "woken: a release looks if one in the background has found a waiter before") {
  wakes_one();
  store->has_waiters(1);
  store->next(verb::release, {.what = fate::fail, .why = denied});
  { const auto goes_on_in_background = mine->acquire("a"); }
  REQUIRE(clock.at_rest());
  REQUIRE(store->count(verb::release) == 2);
  REQUIRE(store->looked() == 1);
  store->has_waiters(0);
  mine->acquire("a").release();
  CHECK(store->looked() == 2);
  mine->acquire("a").release();
  CHECK(store->looked() == 2);  // the last one has found nobody
}

TEST_CASE_METHOD(notified_fixture, "woken: a release that min_hold delays says nothing of waiters") {
  wakes_one();
  store->has_waiters(1);
  auto held_long = mine->acquire("b");
  clock.advance(10ms);
  held_long.release();
  REQUIRE(store->looked() == 1);
  store->has_waiters(0);
  mine->acquire("b", {.min_hold = 5ms}).release();
  CHECK(store->looked() == 1);
  clock.advance(5ms);
  mine->acquire("b").release();
  CHECK(store->looked() == 2);
}

TEST_CASE_METHOD(notified_fixture, "woken: a service whose own waiters poll looks for those of others all the same") {
  store->can().waits = waiting::polls_and_wakes;
  mine = service();
  auto held_long = mine->acquire("b");
  clock.advance(10ms);
  held_long.release();
  CHECK(store->looked() == 1);
  get_after_a_wait({.ttl = 60s, .wait = 60s, .retry = {.pause = 10ms, .max_pause = 10ms}});
  CHECK(store->looked() == 2);
  CHECK(engine::promises_to_look(store->nonces().back()));
  CHECK(store->begun() == 0);
}

TEST_CASE_METHOD(notified_fixture, "woken: a release looks for a waiter once min_hold has passed") {
  store->can().keeps_order = true;
  wakes_one();
  const auto looks_after = [&](microseconds time) {
    const auto before = store->looked();
    auto kept = mine->acquire("b", {.min_hold = 5ms, .fairness = fairness::fifo});
    clock.advance(time);
    kept.release();
    return store->looked() != before;
  };
  CHECK_FALSE(looks_after(4ms));
  clock.advance(1ms);
  CHECK(looks_after(5ms));
}

TEST_CASE_METHOD(notified_fixture,
                 "woken: who had to wait, or serves in order, promises others that its release looks") {
  store->can().keeps_order = true;
  wakes_one();
  const auto last_promises = [&] { return engine::promises_to_look(store->nonces().back()); };
  mine->acquire("a").release();
  CHECK_FALSE(last_promises());
  CHECK(store->looked() == 0);
  mine->acquire("a", {.fairness = fairness::fifo}).release();
  CHECK(last_promises());
  CHECK(store->looked() == 1);
  const bool kept_for_a_while = GENERATE(false, true);
  get_after_a_wait({.ttl = 60s, .wait = 60s, .min_hold = kept_for_a_while ? 1ms : 0ms});
  CHECK(last_promises() == !kept_for_a_while);
}

TEST_CASE_METHOD(notified_fixture, "woken: a limit of polls is kept, and nothing is registered") {
  wakes_one();
  wait_for({"k"}, {.wait = 60s, .retry = {.pause = 100ms, .max_pause = 100ms, .jitter = 0.0, .limit = 3}});
  const auto polls = [&] {
    while (!over) {
      clock.advance(10ms);
      static_cast<void>(clock.at_rest({}, 20ms));
    }
    return store->count(verb::poll);
  };
  CHECK(polls() == 4);
  end();
  CHECK(timed_out);
  CHECK(store->begun() == 0);
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter that keeps the order registers at once, and its release looks") {
  store->can().waits = waiting::woken;
  store->can().keeps_order = true;
  mine = service();
  wait_for({"k"}, {.wait = 60s, .retry = seldom, .fairness = fairness::fifo});
  REQUIRE(watches("k"));  // time stands still
  const auto asked = store->in_order();
  CHECK(asked == store->count(verb::take) + store->count(verb::poll));
  CHECK(store->registered() == 0);
  REQUIRE(store->tell("k", true) == 1);  // it works
  REQUIRE(rests_once([&] { return store->in_order() > asked; }));
  CHECK(store->registered() == 1);
  get_it();
  CHECK(store->registered() == 2);
  CHECK(store->looked() == 1);  // though it has been held for no time
}

TEST_CASE_METHOD(notified_fixture,
                 "woken: a waiter that gets no place asks in no order after a while, and for a place again") {
  store->can().keeps_order = true;
  wakes_one();
  wait_for({"k"}, {.wait = 60s, .retry = {.pause = 100ms, .max_pause = 100ms}, .fairness = fairness::fifo});
  REQUIRE(eventually([&] { return store->watched("k") == 1; }));
  const auto all = [&] { return store->count(verb::take) + store->count(verb::poll); };
  REQUIRE(as_time_passes([&] { return all() > store->in_order(); }, 10ms));
  CHECK(store->in_order() >= 10);
  const auto kept = store->in_order();
  REQUIRE(as_time_passes([&] { return store->begun() == 2; }, 10ms));
  CHECK(store->in_order() == kept);
  CHECK(store->watched("k") == 1);
  REQUIRE(store->tell("k", true) == 1);  // it has one now
  REQUIRE(as_time_passes([&] { return store->in_order() > kept; }, 10ms));
  get_it();
}

TEST_CASE_METHOD(notified_fixture, "woken: a waiter keeps its place when its session begins") {
  store->can().keeps_order = true;
  store->let_takes_wait();  // so it looks first, and has no session
  wakes_one();
  wait_for({"k"}, {.wait = 3s, .retry = seldom, .fairness = fairness::fifo});
  REQUIRE(watches("k"));
  REQUIRE(store->tell("k", true) == 1);  // it works
  REQUIRE(at_rest());
  const auto takes = store->count(verb::take);
  CHECK(store->opened().empty());
  REQUIRE(store->tell("k", true) == 1);
  REQUIRE(rests_once([&] { return store->count(verb::take) > takes; }));
  CHECK(store->opened().size() == 1);
  CHECK(store->begun() == 1);
  get_it();
}

// ---- a store whose keys other programs free without its knowledge ---------------------------------------------------

TEST_CASE_METHOD(notified_fixture, "hinted: a waiter that the store notifies asks at once") {
  const bool one = GENERATE(false, true);
  const bool several = !one && GENERATE(false, true);
  CAPTURE(one, several);
  if (one) wakes_one();
  others_release();
  wait_for(one_or_several(several), {.wait = 60s, .retry = seldom});
  REQUIRE(has_polled());
  if (one) clock.advance(10ms);  // it polls before it registers
  REQUIRE(watches("k"));
  const auto polls = store->count(verb::poll);
  REQUIRE(store->tell("k") == 1);
  REQUIRE(rests_once([&] { return store->count(verb::poll) > polls; }));  // it may have been free before
  held.reset();
  REQUIRE(at_rest());
  REQUIRE_FALSE(over);
  REQUIRE(store->tell("k") == 1);  // time stands still
  end();
  CHECK(granted);
  CHECK(store->watched("k") == 0);
}

TEST_CASE_METHOD(notified_fixture, "hinted: a waiter polls with the pauses that the policy asks for") {
  const bool one = GENERATE(false, true);
  const bool several = !one && GENERATE(false, true);
  CAPTURE(one, several);
  if (one) wakes_one();
  others_release();
  const lock_options steady{.wait = 60s, .retry = {.pause = 100ms, .multiplier = 1, .max_pause = 100ms, .jitter = 0.0}};
  wait_for(one_or_several(several), steady);
  REQUIRE(has_polled());
  if (one) clock.advance(10ms);
  REQUIRE(eventually([&] { return store->watched("k") == 1; }));
  REQUIRE(store->tell("k") == 1);  // the watch works
  REQUIRE(at_rest());
  for (int i = 0; i < 5; ++i) {
    const auto polls = store->count(verb::poll);
    REQUIRE(rests_after(99ms));
    CHECK(store->count(verb::poll) == polls);
    clock.advance(1ms);
    REQUIRE(polled(polls + 1));
  }
  held.reset();  // without a word
  clock.advance(100ms);
  end();
  CHECK(granted);
}

TEST_CASE_METHOD(notified_fixture, "hinted: a key that this process leaves alone for others is not watched") {
  others_release();
  store->has_waiters(1);
  elsewhere([&] { mine->acquire("x").release(); });
  wait_for({"x"}, {.wait = 1h});
  REQUIRE(rests_after(4ms));
  CHECK_FALSE(over);
  clock.advance(1ms);
  end();
  CHECK(granted);
  CHECK(store->begun() == 0);
}

TEST_CASE_METHOD(notified_fixture, "hinted: a thread behind a waiter shortens its pauses, as where nothing is told") {
  others_release();
  wait_for({"k"}, {.wait = 60s, .retry = {.pause = 10s, .max_pause = 10s, .jitter = 0.0}});
  REQUIRE(eventually([&] { return store->watched("k") == 1; }));
  REQUIRE(store->tell("k") == 1);
  REQUIRE(polled(2));
  auto behind = std::async(std::launch::async, [&] {
    mine->acquire("k", {.wait = 60s, .retry = {.pause = 100ms, .max_pause = 100ms}}).release();
  });
  REQUIRE(clock.at_rest({.callers = 2}));
  held.reset();
  clock.advance(100ms);
  behind.get();
  end();
  CHECK(granted);
}

// What a service does when its store notices something without being asked (store_listener).

namespace {

struct notices_fixture : engine_fixture {
  std::size_t delete_lock(std::string_view key, std::uint64_t fence) {
    const auto session = store->opened().back();
    return store->notice([&](store_listener& to) { to.lock_deleted(key, session, fence); });
  }
  std::size_t suspect() {
    return store->notice([](store_listener& to) { to.renew_now(); });
  }
};

}  // namespace

TEST_CASE_METHOD(with_service<notices_fixture>,
                 "notices: a lock that the store reports as deleted is lost at once, and only that one") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  const auto other = locks->acquire("other", {.ttl = 10s});
  REQUIRE(delete_lock("k", held.fencing_token()) == 1);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::taken_over);
  CHECK_THROWS_AS(held.ensure_held(), lock_lost);
  CHECK_NOTHROW(other.ensure_held());
  CHECK(seen->wait_for(event::kind::lost, 1));
}

TEST_CASE_METHOD(with_service<notices_fixture>,
                 "notices: a report about an earlier grant of the key ends no later one") {
  const auto before = locks->acquire("k", {.ttl = 10s}).fencing_token();
  const auto held = locks->acquire("k", {.ttl = 10s});
  REQUIRE(delete_lock("k", before) == 1);
  REQUIRE(clock.at_rest());
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(with_service<notices_fixture>, "notices: a report that overtakes its grant ends it all the same") {
  locks->acquire("warm up", {.ttl = 10s}).release();
  const auto next = locks->acquire("k", {.ttl = 10s}).fencing_token() + 1;
  REQUIRE(delete_lock("k", next) == 1);
  REQUIRE(clock.at_rest());
  const auto held = locks->acquire("k", {.ttl = 10s});
  REQUIRE(held.fencing_token() == next);
  clock.advance(20ms);
  CHECK(is_lost(held));
}

TEST_CASE_METHOD(with_service<notices_fixture>, "notices: a report that matches no grant is forgotten after a second") {
  const auto next = locks->acquire("k", {.ttl = 10s}).fencing_token() + 1;
  REQUIRE(delete_lock("k", next) == 1);
  for (int i = 0; i != 11; ++i) REQUIRE(at_rest_after(100ms));
  const auto held = locks->acquire("k", {.ttl = 10s});
  REQUIRE(held.fencing_token() == next);
  REQUIRE(at_rest_after(100ms));
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(with_service<notices_fixture>,
                 "notices: when the store suspects a loss the sessions are renewed at once") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  SECTION("a session that lives on keeps its leases") {
    REQUIRE(suspect() == 1);
    CHECK(eventually([&] { return store->count(session_verb::renew) == 1; }));
    CHECK_NOTHROW(held.ensure_held());
  }
  SECTION("a session that is gone loses them long before the renewal that was due") {
    store->next(session_verb::renew, {.what = fate::say, .answer = outcome::no});
    REQUIRE(suspect() == 1);
    CHECK(is_lost(held));
    CHECK(held.loss() == loss_reason::renewal_refused);
  }
}

TEST_CASE_METHOD(with_service<notices_fixture>, "notices: a renewal that is under way is followed by another one") {
  const auto held = locks->acquire("k", {.ttl = 10s});
  const auto gate = store->hold(session_verb::renew);
  clock.advance(3400ms);
  REQUIRE(gate->reached());
  REQUIRE(suspect() == 1);
  gate->open();
  CHECK(eventually([&] { return store->count(session_verb::renew) == 2; }));
}

TEST_CASE_METHOD(notices_fixture, "notices: a service that has ended hears nothing more") {
  service().reset();
  CHECK(eventually([&] { return suspect() == 0; }));
}

TEST_CASE_METHOD(with_service<notices_fixture>,
                 "notices: a store says why its waiters poll, and the observer hears it") {
  REQUIRE(store->notice([](store_listener& to) { to.waiters_poll("a reason"); }) == 1);
  REQUIRE(seen->wait_for(event::kind::waiters_poll, 1));
  CHECK(seen->records().back().text == "a reason");
}
