// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

#include "service/multi_fixture.hpp"
#include "support/granted.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// The rival has b.
struct rival_fixture : multi_fixture {
  lease theirs{};

  void let_go() { theirs = lease(); }
  /// From now on: in each of two rounds b looks free to the one who waits, and is gone again when all are taken.
  /// `granted`: how many others a round gets, which it gives back.
  void two_rounds_in_vain(unsigned granted) {
    theirs = rival->acquire("b");
    for (int i = 0; i < 2; ++i) {
      store->next(verb::poll, {});  // of the round
      store->next(verb::poll, {.during = [this] { theirs = rival->acquire("b", {.wait = 0ms}); }});
      if (granted > 1) store->next(verb::cancel, {.times = granted - 1});
      store->next(verb::cancel, {.during = [this] { let_go(); }});
    }
  }
};

}  // namespace

TEST_CASE_METHOD(multi_fixture, "multi: a timeout names the busy key and its holder, nothing is held",
                 "[multi][T32][T76]") {
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

TEST_CASE_METHOD(multi_fixture, "multi: who waits holds nothing, looks at the busy key only, and gets all",
                 "[multi][T76]") {
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

TEST_CASE_METHOD(multi_fixture, "multi: a cancelled wait leaves nothing behind", "[multi][T33][T76]") {
  known({"a", "b", "c"});
  const bool here = GENERATE(true, false);  // held in this process, or in another
  auto& holder = here ? *locks : *rival;
  const auto theirs = holder.acquire("b");
  std::stop_source stop;
  std::error_code end;
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    end = thrown([&] { return locks->acquire_all({"a", "b", "c"}, {.wait = 1h, .cancel = stop.get_token()}); });
    over = true;
  });
  CHECK(clock.at_rest({.callers = 1}));  // in the queue, or between two polls
  CHECK_FALSE(over);
  stop.request_stop();
  const bool at_once = eventually([&] { return over.load(); });  // no time has passed
  CHECK(at_once);
  if (!at_once) clock.advance(2h);  // so that the test can end
  waiter.join();
  CHECK(end == errc::cancelled);
  CHECK(all_free({"a", "c"}));
  CHECK_NOTHROW(theirs.ensure_held());
}

TEST_CASE_METHOD(multi_fixture, "multi: close() ends the wait, and no new one begins", "[multi][T17]") {
  known({"a", "b"});
  const auto theirs = rival->acquire("b");
  const auto polls = store->count(verb::poll);
  const auto end = while_time_passes([&] {
    std::error_code code;
    std::thread waiter([&] { code = thrown([&] { return locks->acquire_all({"a", "b"}, {.wait = 1h}); }); });
    CHECK(eventually([&] { return store->count(verb::poll) > polls; }));
    locks->close(0ms);
    waiter.join();
    return code;
  });
  CHECK(end == errc::closed);
  CHECK(is_free("a"));
  CHECK(thrown([&] { return locks->acquire_all({"a", "c"}); }) == errc::closed);
  CHECK(thrown([&] { return locks->try_acquire_all({"a", "c"}); }) == errc::closed);
}

TEST_CASE_METHOD(rival_fixture, "multi: after three rounds in vain they are taken one by one, holding those before",
                 "[multi][T76]") {
  known({"a", "b", "c"});
  two_rounds_in_vain(2);
  const auto takes = store->batches(verb::take);
  multi_lease held;
  while_time_passes([&] {
    std::thread waiter([&] { held = locks->acquire_all({"a", "b", "c"}, {.wait = 1h}); });
    // The third round has failed: a is held from now on, and b waited for.
    CHECK(eventually([&] { return store->batches(verb::take) == takes + 3 + 1; }));
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
                 "[multi][T76]") {
  known({"a", "b"});
  two_rounds_in_vain(1);
  const auto takes = store->batches(verb::take);
  CHECK(thrown_as_time_passes([&] {
          return locks->acquire_all({"a", "b"}, {.wait = 30s, .min_hold = 1h});
        }) == errc::timed_out);
  REQUIRE(store->batches(verb::take) >= takes + 3 + 1);  // a was held
  CHECK(eventually([&] { return is_free("a"); }));
}

TEST_CASE_METHOD(multi_fixture, "multi: the wait for a key that this process holds keeps no other from its threads",
                 "[multi][T76]") {
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
                 "[multi][T76]") {
  known({"a", "b"});
  const auto ttl = GENERATE(2000ms, 60'000ms);  // a ends while b is waited for, or does not
  two_rounds_in_vain(1);
  const auto takes = store->batches(verb::take);
  multi_lease held;
  while_time_passes([&] {
    std::thread waiter([&] {
      held = locks->acquire_all({"a", "b"}, {.ttl = ttl, .wait = 24h, .renewal = renewal::none});
    });
    CHECK(eventually([&] { return store->batches(verb::take) >= takes + 3 + 1; }));
    const auto until = clock.now() + 5s;  // the short one ends meanwhile
    CHECK(eventually([&] { return clock.now() > until; }));
    let_go();
    waiter.join();
  });
  REQUIRE(held.size() == 2);
  CHECK(held["a"].remaining() + 1s >= held["b"].remaining());
}

TEST_CASE_METHOD(multi_fixture, "multi: a key that another thread of the same owner gets meanwhile is entered again",
                 "[multi][T44]") {
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
