// SPDX-License-Identifier: BSL-1.0
// Rows that statements of the application's transaction take: what claims are made of.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "service/adopt_fixture.hpp"
#include "support/granted.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

}  // namespace

TEST_CASE_METHOD(adopt_fixture, "adopt: what a transaction took becomes leases like any other", "[adopt]") {
  const auto first = row(1);
  const auto second = row(2);
  auto held = adopt(take_all({first, second}));
  REQUIRE(held.size() == 2);
  CHECK(held[0].key() == "t:1");
  CHECK(held[0].fencing_token() == 2);
  CHECK_FALSE(held[0].reentered());
  CHECK(held[1].remaining() == 30s - 1500ms);
  CHECK(seen->count(event::kind::granted) == 2);
  CHECK(store->opened().size() == 1);
  // Re-entry, the local line, renewal, release.
  CHECK_FALSE(home.acquire(first, {}, true));  // not by those in a container
  auto here = std::move(held[0]);
  CHECK(home.acquire(first, {}, true).reentered());
  held[0] = std::move(here);
  const auto sent = home.statements();
  CHECK_FALSE(elsewhere([&] { return granted(home.acquire(first, {}, true)); }));
  CHECK(home.statements() == sent);
  REQUIRE(live_on(held[0], 90s, 30s));
  CHECK_FALSE(is_free(second));
  held.clear();
  CHECK(is_free(first));
  CHECK(is_free(second));
  CHECK(store->count(verb::release) == 2);
  CHECK(store->count(verb::cancel) == 0);
  CHECK(seen->count(event::kind::released) == 2);
}

TEST_CASE_METHOD(adopt_fixture, "adopt: each call takes under a nonce of its own", "[adopt]") {
  std::vector<std::uint64_t> nonces;
  for (int i = 0; i < 2; ++i) {
    const auto none = adopt([&](ticket& asked) {
      CHECK(asked.session);
      CHECK(asked.own_ttl == 0us);
      nonces.push_back(asked.nonce);
      return claimed{};
    });
    CHECK(none.empty());
  }
  CHECK(nonces[0] != nonces[1]);
  CHECK(store->count(verb::cancel) == 0);
}

TEST_CASE_METHOD(adopt_fixture, "adopt: a statement that throws leaves nothing taken", "[adopt]") {
  const auto first = row(1);
  const auto second = row(2);
  const auto theirs = row(3);
  const auto other = foreign();
  const auto kept = other->acquire(lock_key::from_stored(theirs.view()));
  CHECK_THROWS_AS(adopt([&](ticket& asked) {
                    asked.maybe = {first, second, theirs};
                    CHECK(take(asked, first) > 0);
                    throw broken();
                    return claimed{};
                  }),
                  broken);
  CHECK(freed(first));
  CHECK(is_free(second));
  CHECK(eventually([&] { return store->count(verb::cancel) == 3; }));
  CHECK_NOTHROW(kept.ensure_held());
  CHECK(fence_of(lock_key::from_stored(theirs.view())) == kept.fencing_token());
  // It was certain: not asked again and again.
  CHECK(at_rest_after(1s));
  CHECK(at_rest_after(1s));
  CHECK(store->count(verb::cancel) == 3);
  CHECK(seen->count(event::kind::granted) == 0);
  // Nobody has the turn.
  CHECK(home.acquire(first, {}, true));
}

TEST_CASE_METHOD(adopt_fixture, "adopt: a commit without an answer is cancelled until it can't come any more",
                 "[adopt]") {
  const auto key = row(1);
  ticket later;
  CHECK_THROWS_AS(adopt([&](ticket& asked) {
                    asked.maybe = {key};
                    asked.unsure = true;
                    later = asked;
                    throw broken();
                    return claimed{};
                  }),
                  broken);
  REQUIRE(eventually([&] { return store->count(verb::cancel) >= 1; }));
  CHECK(take(later, key) > 0);  // it is done now, under a session that lives
  CHECK_FALSE(is_free(key));
  CHECK(freed(key));
  const auto done = store->count(verb::cancel);
  CHECK(at_rest_after(2s));
  CHECK(store->count(verb::cancel) == done);
}

TEST_CASE_METHOD(adopt_fixture, "adopt: a commit that never comes is not cancelled for ever", "[adopt]") {
  const auto key = row(1);
  CHECK_THROWS_AS(adopt([&](ticket& asked) {
                    asked.maybe = {key};
                    asked.unsure = true;
                    throw broken();
                    return claimed{};
                  }),
                  broken);
  const auto another = adopt_one(row(2));  // keeps the session alive
  for (int i = 0; i < 70; ++i) REQUIRE(live_on(another, 10s, 30s));
  const auto sent = store->count(verb::cancel);
  CHECK(sent > 10);
  REQUIRE(live_on(another, 20s, 30s));
  CHECK(store->count(verb::cancel) == sent);
}

TEST_CASE_METHOD(adopt_fixture, "adopt: a session that ends in between gives no leases, and the rows are freed",
                 "[adopt][T29]") {
  const auto key = row(1);
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  const auto held = adopt([&](ticket& asked) {
    const auto fence = take(asked, key);
    clock.advance(40s);
    return claimed{{key, fence}};
  });
  CHECK(held.empty());
  CHECK(freed(key));
  CHECK(seen->count(event::kind::granted) == 0);
  store->forget_scripts();
  CHECK(home.acquire(key, {}, true));  // nobody has the turn
}

TEST_CASE_METHOD(adopt_fixture, "adopt: some seconds are lost to a slow transaction, not to trust", "[adopt][T29]") {
  const auto own = table_named("o", row_renewal::column);
  const auto key = existing(lock_key::of_row(own, {std::int64_t{1}}));
  const auto slow = [&](ticket& asked) {
    CHECK(asked.own_ttl == 30s);
    const auto fence = take(asked, key);
    clock.advance(4s);
    return claimed{{key, fence}};
  };
  auto held = adopt({.ttl = 30s}, row_renewal::column, slow);
  REQUIRE(held.size() == 1);
  CHECK(held[0].remaining() == 30s - 1500ms - 4s);
  // Its own expiry is renewed.
  clock.advance(10s);
  CHECK(eventually([&] { return store->count(verb::extend) == 1; }));
  CHECK(eventually([&] { return held[0].remaining() == 30s - 1500ms; }));
}

TEST_CASE_METHOD(adopt_fixture, "adopt: an expiry of its own that passed in between gives no lease", "[adopt][T29]") {
  const auto key = row(1);
  const auto held = adopt(
      [&](ticket& asked) {
        const auto fence = take(asked, key);
        clock.advance(2850ms);
        return claimed{{key, fence}};
      },
      {.ttl = 3s, .renewal = renewal::none});
  CHECK(held.empty());
  CHECK(eventually([&] { return store->count(verb::cancel) == 1; }));
  CHECK(is_free(key));
  // Nothing uses the session any more: it is closed when it has been idle for long.
  const auto closed = [&] { return store->count(session_verb::close) > 0; };
  for (int i = 0; i < 15 && !closed(); ++i) {
    const auto renewed = store->count(session_verb::renew);
    clock.advance(10s);
    REQUIRE(eventually([&] { return closed() || store->count(session_verb::renew) > renewed; }));
  }
  CHECK(closed());
  CHECK(seen->count(event::kind::session_lost) == 0);
}

TEST_CASE_METHOD(adopt_fixture, "adopt: a thread that has the row's turn gets it after the adopted lease", "[adopt]") {
  const auto key = row(1);
  const auto rival = foreign();
  auto theirs = rival->acquire(lock_key::from_stored(key.view()));
  std::atomic<std::uint64_t> fence{0};
  std::atomic<bool> ticking{true};
  std::thread waiter([&] { fence = home.acquire(key, {.wait = 1h}, false).fencing_token(); });
  REQUIRE(eventually([&] { return store->count(verb::poll) > 0; }));  // it speaks to the store: the turn is its
  theirs.release();
  // The waiter pauses; a claim is faster.
  auto held = adopt_one(key);
  CHECK(held.fencing_token() == 3);
  std::thread time([&] {
    while (ticking) {
      clock.advance(5ms);
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto polls = store->count(verb::poll);
  CHECK(eventually([&] { return store->count(verb::poll) > polls; }));
  CHECK(fence == 0);
  held.release();
  waiter.join();
  ticking = false;
  time.join();
  CHECK(fence == 4);
  // Nor is the turn lost afterwards.
  CHECK(home.acquire(key, {}, true));
}

TEST_CASE_METHOD(adopt_fixture, "adopt: what does not fit rows is refused before the transaction", "[adopt]") {
  bool called = false;
  const claim none = [&](ticket&) {
    called = true;
    return claimed{};
  };
  CHECK_THROWS_MATCHES(adopt(none, {.min_hold = 1s}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("min_hold = 1000 ms")));
  CHECK_THROWS_AS(adopt(none, {.ttl = 0ms}), std::invalid_argument);
  CHECK_THROWS_MATCHES(adopt({.ttl = 4s}, row_renewal::column, none), std::invalid_argument,
                       MessageMatches(ContainsSubstring("ttl = 4000 ms")));
  CHECK(store->tried() == 0);
  static_cast<void>(home.close(0ms));
  CHECK(thrown([&] { return adopt(none).size(); }) == errc::closed);
  CHECK_FALSE(called);
}

TEST_CASE_METHOD(adopt_fixture, "adopt: without a session nothing is taken", "[adopt]") {
  bool called = false;
  store->cut();
  CHECK(while_time_passes([&] {
          return thrown([&] {
            return adopt([&](ticket&) {
                     called = true;
                     return claimed{};
                   })
                .size();
          });
        }) == errc::store_unreachable);
  CHECK_FALSE(called);
}

TEST_CASE_METHOD(adopt_fixture, "adopt: max_hold holds for claimed rows as well", "[adopt]") {
  const auto key = row(1);
  const auto held = adopt_one(key, {.ttl = 30s, .max_hold = 5s});
  clock.advance(5s);
  CHECK(held.loss() == loss_reason::max_hold);
  CHECK(freed(key));
}
