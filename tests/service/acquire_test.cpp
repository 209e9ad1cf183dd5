// SPDX-License-Identifier: BSL-1.0

#include "dlock/dlock.hpp"
#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

TEST_CASE_METHOD(one_service, "acquire: one statement for a known free key, three for a new one, none to re-enter") {
  auto held = locks->acquire("k");
  CHECK(locks->statements() == 3);
  held.release();
  CHECK(locks->statements() == 4);
  held = locks->acquire("k");
  CHECK(locks->statements() == 5);
  const auto again = locks->acquire("k");
  CHECK(again.reentered());
  CHECK(locks->statements() == 5);
  CHECK(store->count(session_verb::open) == 1);
}

TEST_CASE_METHOD(engine_fixture, "acquire: a busy key costs two statements when one attempt is asked for", "[T32]") {
  const auto theirs = held_elsewhere("k");
  const auto locks = service();
  CHECK_FALSE(granted(locks->try_acquire("k")));
  CHECK(locks->statements() == 2);
  CHECK(thrown([&] { return locks->acquire("k", {.wait = 0ms}); }) == errc::timed_out);
  CHECK(locks->statements() == 4);
}

TEST_CASE_METHOD(engine_fixture, "acquire: a retry limit of n sends n polls after the first attempt", "[T10][T32]") {
  const auto theirs = held_elsewhere("k");
  const auto locks = service();
  const auto end = while_time_passes(
      [&] { return thrown([&] { return locks->acquire("k", {.wait = 1h, .retry = {.limit = 3u}}); }); });
  CHECK(end == errc::timed_out);
  CHECK(locks->statements() == 2 + 3);
}

TEST_CASE_METHOD(engine_fixture, "acquire: a wait is bounded in time and in statements", "[T32]") {
  const auto theirs = held_elsewhere("k", {.ttl = 1h});
  const auto locks = service();
  const auto begun = clock.now();
  const auto text = while_time_passes([&] { return message_of([&] { return locks->acquire("k", {.wait = 1s}); }); });
  CHECK(text.starts_with("dlock: key 'k': still busy after "));
  CHECK(text.find(", held by ") != std::string::npos);
  CHECK(clock.now() - begun >= 1s);
  // Pauses of 10 to 250 ms, each at least halved: 5, 10, 20, 40, 80, 125, 125, ...
  CHECK(locks->statements() <= 2 + 14);
  CHECK(seen->count(event::kind::busy) == 1);
}

TEST_CASE_METHOD(engine_fixture, "acquire: no lease, no release", "[T02][T03]") {
  const auto theirs = held_elsewhere("k");
  const auto locks = service();
  {
    const auto none = locks->try_acquire("k");
    CHECK_FALSE(none);
    CHECK(none.fencing_token() == 0);
    CHECK_THROWS_AS(none.ensure_held(), std::logic_error);
  }
  CHECK(store->count(verb::release) == 0);
  CHECK(fence_of("k") == theirs.fencing_token());
}

TEST_CASE_METHOD(one_service, "acquire: two owners of one process exclude each other", "[T44]") {
  const auto mine = locks->acquire("k");
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("k")); }));
  CHECK(elsewhere([&] { return thrown([&] { return locks->acquire("k", {.wait = 0ms}); }); }) == errc::timed_out);
  const owner_scope other;
  CHECK_FALSE(granted(locks->try_acquire("k")));
}

TEST_CASE_METHOD(one_service, "acquire: the fence goes up by one at each grant, whoever gets it", "[T57]") {
  const auto rival = foreign();
  for (std::uint64_t i = 1; i <= 10; i += 2) {
    CHECK(locks->acquire("k").fencing_token() == i);
    CHECK(rival->acquire("k").fencing_token() == i + 1);
  }
}

TEST_CASE_METHOD(engine_fixture, "acquire: a dead holder's key is granted at its expiry, not before", "[T30][T91]") {
  const auto dying = service();
  const auto theirs = dying->acquire("k", {.ttl = 10s});
  const auto locks = foreign();
  store->cut();  // as a crash: nothing is renewed, nothing is released
  clock.advance(10s - 1us);
  CHECK_FALSE(granted(locks->try_acquire("k")));
  clock.advance(1us);
  const auto mine = locks->try_acquire("k");
  REQUIRE(mine);
  CHECK(mine.fencing_token() == theirs.fencing_token() + 1);
  CHECK(clock.at_rest());  // it knows that it lost the key: its end sends nothing
}

TEST_CASE_METHOD(engine_fixture, "acquire: who waits gets a dead holder's key soon after its expiry", "[T30]") {
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire("k", {.ttl = 1s});
  crashed->cut();
  const auto expiry = clock.now() + 1s;
  const auto locks = service();
  instant granted{};
  while_time_passes([&] {
    const auto mine = locks->acquire("k", {.wait = 1h});
    granted = clock.now();
  });
  CHECK(granted >= expiry);
  CHECK(granted <= expiry + 5s);  // not when it would have looked again by itself, or at the end of its wait
  CHECK(seen->count(event::kind::granted) == 1);
  CHECK(clock.at_rest());
}

TEST_CASE_METHOD(one_service, "acquire: a grant that was answered after its session's deadline is not handed out",
                 "[T25][T38]") {
  locks->acquire("k").release();
  const auto alive = store->opened();
  // The renewals hang as well: only then can a session end while an attempt is under way.
  store->next(session_verb::renew, {.what = fate::vanish, .times = 100});
  store->next(verb::take, {.during = [&] { clock.advance(31s); }});
  const auto held = while_time_passes([&] { return locks->acquire("k", {.wait = 1h}); });
  CHECK(held.fencing_token() == 3);  // the second grant was given back
  CHECK(held.remaining() > 25s);
  CHECK(store->opened().size() == 2);
  CHECK(store->opened().back() != alive.front());
  CHECK(store->count(verb::release) == 2);
}

TEST_CASE_METHOD(one_service, "acquire: one attempt that is answered too late fails, and frees the key", "[T25][T38]") {
  store->next(verb::insert, {.during = [&] { clock.advance(1s); }});
  CHECK(thrown([&] { return locks->try_acquire("k", {.ttl = 500ms, .renewal = renewal::none}); }) ==
        errc::store_failed);
  CHECK(fence_of("k") == 0);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service,
                 "acquire: what was granted too late is freed in the background when its release gets no answer",
                 "[T25][T38]") {
  const auto late = store->hold(verb::insert);
  store->next(verb::release, {.what = fate::vanish});
  std::thread asks([&] { locks->acquire("k", {.ttl = 10s, .wait = 10min, .renewal = renewal::none}).release(); });
  CHECK(late->reached());
  clock.advance(20s);  // the grant comes now, for ten seconds, and is not to be trusted any more
  const auto begun = clock.now();
  late->open();
  while_time_passes([&] { asks.join(); });
  CHECK(clock.now() - begun < 5s);
}

TEST_CASE_METHOD(one_service, "acquire: what was granted too late is free at once, whatever min_hold says", "[T25]") {
  store->next(verb::insert, {.during = [&] { clock.advance(1s); }});
  CHECK(thrown([&] { return locks->try_acquire("k", {.ttl = 500ms, .renewal = renewal::none, .min_hold = 1h}); }) ==
        errc::store_failed);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "acquire: after a grant that came too late the next one has its min_hold", "[T10][T25]") {
  const bool answered = GENERATE(true, false);
  store->next(verb::insert, {.during = [&] { clock.advance(1s); }});
  if (!answered) store->next(verb::release, {.what = fate::fail, .why = away, .times = 2});
  auto held = while_time_passes(
      [&] { return locks->acquire("k", {.ttl = 500ms, .wait = 1h, .renewal = renewal::none, .min_hold = 400ms}); });
  held.release();
  CHECK_FALSE(is_free("k"));
}

TEST_CASE_METHOD(one_service, "acquire: trust counts from the sending of the statement, not from its answer",
                 "[T29][T22]") {
  store->next(verb::insert, {.during = [&] { clock.advance(15s); }});
  const auto held = locks->acquire("k", {.ttl = 30s, .renewal = renewal::none});
  CHECK(held.remaining() == 30s - 15s - 1500ms);
  CHECK(held.remaining() <= locks->holder("k")->remaining);
}

TEST_CASE_METHOD(one_service, "acquire: what passes is retried, what does not fails at once", "[T49][T53]") {
  locks->acquire("k").release();
  const auto before = locks->statements();

  store->next(verb::take, {.what = fate::fail, .why = denied});
  const auto failure = caught<store_error>([&] { return locks->acquire("k"); });
  CHECK(failure.code() == errc::store_failed);
  CHECK(failure.native_code() == 1142);
  CHECK_FALSE(failure.transient());
  CHECK(std::string(failure.what()).find("denied") != std::string::npos);
  CHECK(locks->statements() == before + 1);
  CHECK(seen->count(event::kind::acquire_failed) == 1);

  store->next(verb::take, {.what = fate::fail, .why = deadlock});
  store->next(verb::poll, {.what = fate::fail, .why = row_lock});
  CHECK(while_time_passes([&] { return granted(locks->acquire("k")); }));
}

TEST_CASE_METHOD(one_service,
                 "acquire: a failure tells key and store once, and the observer's text leaves the key to it") {
  locks->acquire("order:42").release();
  store->next(verb::take, {.what = fate::fail, .why = denied});
  const std::string text = caught<store_error>([&] { return locks->acquire("order:42"); }).what();
  CHECK(text.starts_with("dlock: key 'order:42': after 0 ms: " + store->name() + ": denied"));
  CHECK(text.find("order:42") == text.rfind("order:42"));
  const auto last = seen->records().back();
  CHECK(last.what == event::kind::acquire_failed);
  CHECK(last.key == "order:42");
  CHECK(last.text == "after 0 ms: " + store->name() + ": denied");
}

TEST_CASE_METHOD(one_service, "acquire: a row lock that is not to be had means busy", "[T53]") {
  CHECK(granted(locks->try_acquire("k")));  // makes it
  // Each attempt looks whether the key is really held, and tries once more.
  store->next(verb::take, {.what = fate::fail, .why = row_lock, .times = 4});
  CHECK_FALSE(granted(locks->try_acquire("k")));
  CHECK(thrown([&] { return locks->acquire("k", {.wait = 0ms}); }) == errc::timed_out);
  store->next(verb::take, {.what = fate::fail, .why = row_lock});
  CHECK(granted(locks->try_acquire("k")));
}

TEST_CASE_METHOD(one_service, "acquire: an unreachable store fails at the end of the wait, with the cause") {
  store->cut();
  const auto begun = clock.now();
  const auto failure =
      while_time_passes([&] { return caught<store_error>([&] { return locks->acquire("k", {.wait = 300ms}); }); });
  CHECK(failure.code() == errc::store_unreachable);
  CHECK(std::string(failure.what()).find("cut off") != std::string::npos);
  CHECK(clock.now() - begun >= 300ms);
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::store_unreachable);
}

TEST_CASE_METHOD(engine_fixture, "acquire: trouble that passed does not explain a busy key") {
  const auto theirs = held_elsewhere("k");
  const auto locks = service();
  store->next(verb::take, {.what = fate::fail, .why = deadlock});
  const auto end = thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 200ms}); });
  CHECK(end == errc::timed_out);
}

TEST_CASE_METHOD(engine_fixture, "acquire: a hung statement is interrupted long before the wait ends", "[T63]") {
  const auto each = GENERATE(statement{session_verb::open}, statement{verb::take}, statement{verb::poll});
  const auto locks = service();
  const auto at = store->hold(each);
  lease held;
  std::thread waiter([&] { held = locks->acquire("k", {.wait = 1h}); });
  REQUIRE(at->reached());
  clock.advance(2s - 1us);
  CHECK(store->count(each) == 0);
  clock.advance(1us);
  CHECK(eventually([&] { return store->count(each) == 1; }));
  while_time_passes([&] { waiter.join(); });
  CHECK(held);
}

TEST_CASE_METHOD(one_service, "acquire: at the edge of the wait it is held and said, or neither", "[T31]") {
  const auto rival = foreign();
  std::mt19937 random(31);
  for (int round = 0; round < 60; ++round) {
    auto theirs = rival->acquire("k");
    const auto fence = theirs.fencing_token();
    std::atomic<bool> over{false};
    bool got = false;
    std::thread waiter([&] {
      try {
        const auto mine = locks->acquire("k", {.wait = 20ms, .retry = {.pause = 1ms, .max_pause = 3ms}});
        got = true;
      } catch (const lock_timeout&) {
      }
      over = true;
    });
    // At once and never, so that both ends are seen for sure; then around the end of the wait.
    const auto release_at = round == 0 ? 0 : round == 1 ? std::numeric_limits<unsigned>::max() : random() % 40;
    for (unsigned i = 0; !over; ++i) {
      if (i == release_at) theirs.release();
      clock.advance(1ms);
      std::this_thread::sleep_for(std::chrono::microseconds{random() % 500});
    }
    waiter.join();
    if (theirs) theirs.release();
    if (round == 0) CHECK(got);
    if (round == 1) CHECK_FALSE(got);
    CHECK(fence_of("k") == 0);
    // Exactly one more grant than before, if there was one: nothing was granted and forgotten.
    auto next = rival->acquire("k");
    CHECK(next.fencing_token() == fence + (got ? 2 : 1));
    next.release();
  }
}

TEST_CASE_METHOD(one_service, "acquire: bad options are refused before any statement") {
  CHECK_THROWS_AS(locks->acquire("k", {.ttl = 1ms}), std::invalid_argument);
  CHECK_THROWS_AS((void)locks->try_acquire("k", {.wait = -1ms}), std::invalid_argument);
  CHECK(locks->statements() == 0);
  CHECK(store->count(session_verb::open) == 0);
  CHECK_THROWS_AS(lock_service(store, {.connections = 0}), std::invalid_argument);
  CHECK_THROWS_AS(lock_service(std::shared_ptr<dlock::store>{}), std::invalid_argument);
}

// Calls that try: one attempt, or as long as the call itself says.

namespace {

struct try_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = service();
  std::unique_ptr<lock_service> rival = foreign();

  try_fixture() { set_default_service(*locks); }
  bool queued(std::size_t count) {
    const inside home(detail::access::core_of(*locks));
    return eventually([&] { return home.waiting() == count; });
  }
};

}  // namespace

TEST_CASE_METHOD(try_fixture, "try: with a wait each waits so long, and then says that the key is busy") {
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  const lock_options patient{.wait = 100ms};
  const auto macro = [&] {
    DISTRIBUTED_TRY_LOCKED_AS(held, "k", {.wait = 100ms}) { return true; }
    return false;
  };
  const std::vector<std::pair<const char*, std::function<bool()>>> calls{
      {"try_acquire", [&] { return granted(locks->try_acquire("k", patient)); }},
      {"try_acquire_all",
       [&] {
         return granted(locks->try_acquire_all({"j", "k"}, patient));
       }},
      {"try_with_lock", [&] { return locks->try_with_lock("k", patient, [] {}); }},
      {"try_with_locks",
       [&] {
         return locks->try_with_locks({"j", "k"}, patient, [] {});
       }},
      {"locked_or_skip",
       [&] {
         return locks->locked_or_skip(
             "k", [] {}, patient)();
       }},
      {"DISTRIBUTED_TRY_LOCKED_AS", macro},
      {"DISTRIBUTED_TRY_LOCKED", [&] {
         DISTRIBUTED_TRY_LOCKED("k", {.wait = 100ms}) { return true; }
         return false;
       }}};
  for (const auto& [name, call] : calls) {
    INFO(name);
    const auto busy = locks->count(event::kind::busy);
    const auto begun = clock.now();
    CHECK_FALSE(while_time_passes(call));
    CHECK(clock.now() - begun >= 100ms);
    CHECK(locks->count(event::kind::busy) == busy + 1);
  }
  CHECK(is_free("j"));
}

TEST_CASE_METHOD(try_fixture, "try: gets the key that becomes free within the wait") {
  auto mine = locks->acquire("k");
  std::uint64_t fence = 0;
  std::thread waiter([&] { fence = locks->try_acquire("k", {.wait = 1h}).fencing_token(); });
  REQUIRE(queued(1));
  mine.release();
  waiter.join();  // time stands still: only the release can have ended it
  CHECK(fence == 2);
}

TEST_CASE_METHOD(try_fixture, "try: without a wait of its own it is one attempt, whatever the defaults say") {
  const auto patient = service([](auto& settings) { settings.defaults.wait = 1h; });
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  // Time stands still: whoever waited would wait for ever.
  CHECK_FALSE(granted(patient->try_acquire("k")));
  CHECK_FALSE(granted(patient->try_acquire("k", {.ttl = 5s})));
  CHECK_FALSE(granted(patient->try_acquire("k", {.wait = 0ms})));
  CHECK_FALSE(granted(patient->try_acquire_all({"j", "k"})));
  CHECK_FALSE(patient->try_with_lock("k", [] {}));
  CHECK_FALSE(patient->locked_or_skip("k", [] {})());
}

TEST_CASE_METHOD(try_fixture, "try: with a wait nothing but busy is an answer") {
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  std::stop_source stop;
  stop.request_stop();
  CHECK(thrown([&] { return locks->try_acquire("k", {.wait = 1s, .cancel = stop.get_token()}); }) == errc::cancelled);
  CHECK_THROWS_AS(locks->try_acquire("k", {.wait = -1ms}), std::invalid_argument);
  locks->close(0ms);
  CHECK(thrown([&] { return locks->try_acquire("k", {.wait = 1s}); }) == errc::closed);
  CHECK(thrown([&] { return locks->try_acquire_all({"j", "k"}, {.wait = 1s}); }) == errc::closed);
}

TEST_CASE_METHOD(engine_fixture, "try: a key that this process leaves to other processes is free for one attempt") {
  running_clock running{clock};
  const auto mine = service([&](auto& settings) { settings.time = &running; });
  const auto hold = [&] {
    const auto held = mine->acquire("k");
    clock.advance(100ms);
  };
  elsewhere(hold);
  std::atomic<bool> granted{false};
  std::thread waiting([&] {
    const auto held = mine->acquire("k", {.wait = 1h});
    granted = true;
  });
  CHECK(clock.at_rest({.callers = 1}));
  CHECK_FALSE(granted);
  {
    const auto held = mine->try_acquire("k");
    CHECK(static_cast<bool>(held));
    CHECK(clock.at_rest({.callers = 1}));
    CHECK_FALSE(granted);
    CHECK(at_rest_after(20ms, {.callers = 1}));
    CHECK_FALSE(granted);  // it stands in the queue again
  }
  waiting.join();
  CHECK(granted);
}

TEST_CASE_METHOD(engine_fixture, "acquire: a process yields by the time alone where fences may leave numbers out") {
  const bool consecutive = GENERATE(true, false);
  store->can().consecutive_fences = consecutive;
  running_clock running{clock};
  const auto mine = service([&](auto& settings) { settings.time = &running; });
  const auto rival = foreign();
  for (int i = 0; i < 3; ++i) {
    elsewhere([&] {
      const auto held = mine->acquire("k");
      clock.advance(20ms);
    });
    // The next fence is greater by two: that of another process, or one that was left out.
    elsewhere([&] { const auto between = rival->acquire("k"); });
  }
  std::atomic<bool> granted{false};
  std::thread waiting([&] {
    const auto held = mine->acquire("k", {.wait = 1h});
    granted = true;
  });
  if (consecutive) {
    CHECK(eventually([&] { return granted.load(); }));
  } else {
    CHECK(clock.at_rest({.callers = 1}));
    CHECK_FALSE(granted);
  }
  clock.advance(20ms);
  waiting.join();
  CHECK(granted);
}

TEST_CASE_METHOD(try_fixture, "wait_forever: nobody sees its end") {
  const auto mine = locks->acquire("k", {.ttl = 24h * 30, .renewal = renewal::none});
  std::uint64_t fence = 0;
  std::thread waiter([&] { fence = locks->acquire("k", {.wait = wait_forever}).fencing_token(); });
  REQUIRE(queued(1));
  clock.advance(24h * 366 * 50);  // the lease is over, the wait is not
  while_time_passes([&] { waiter.join(); });
  CHECK(fence == 2);
}
