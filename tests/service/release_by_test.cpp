// SPDX-License-Identifier: BSL-1.0
// Rows that a statement of the application's transaction frees: what the commit of a locked row is made of.

#include "service/adopt_fixture.hpp"
#include "service/fake_transactions.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;
using detail::access;

}  // namespace

TEST_CASE_METHOD(adopt_fixture, "release_by: a row freed by a transaction needs no release") {
  const auto key = row(1);
  auto held = adopt_one(key);
  int calls = 0;
  access::release_by(held, [&] {
    ++calls;
    steal(key);
    return true;
  });
  CHECK_FALSE(held);
  CHECK(calls == 1);
  CHECK(store->count(verb::release) == 0);
  CHECK(seen->count(event::kind::released) == 1);
  CHECK(is_free(key));
  CHECK(home.acquire(key, {}, true).fencing_token() > 2);  // a grant of its own: not entered again
  CHECK(home.close(0ms).empty());
}

TEST_CASE_METHOD(adopt_fixture, "release_by: where that is not certain it is released as ever") {
  const auto key = row(1);
  auto held = adopt_one(key);
  SECTION("not freed") {
    access::release_by(held, [] { return false; });
    CHECK(seen->count(event::kind::released) == 1);
  }
  SECTION("an exception passes") {
    CHECK_THROWS_AS(access::release_by(held, []() -> bool { throw broken(); }), broken);
    CHECK(seen->count(event::kind::released) == 1);
  }
  SECTION("freed, but that was not answered") {
    CHECK_THROWS_AS(access::release_by(held,
                                       [&]() -> bool {
                                         steal(key);
                                         throw broken();
                                       }),
                    broken);
  }
  CHECK_FALSE(held);
  CHECK(store->count(verb::release) == 1);
  CHECK(is_free(key));
  CHECK(granted(home.acquire(key, {}, true)));
}

TEST_CASE_METHOD(adopt_fixture, "release_by: a transaction that takes longer than the lease lives finds it expired") {
  const auto key = row(1);
  const auto rival = foreign();
  auto held = adopt_one(key, {.ttl = 10s, .renewal = renewal::none});
  const auto grant = access::grant_of(held);
  lease theirs;
  const auto outlived = [&] {
    clock.advance(11s);
    theirs = rival->acquire(lock_key::from_stored(key.view()), {.wait = 0ms});
  };
  SECTION("nothing was freed") {
    access::release_by(held, [&] {
      outlived();
      return false;
    });
  }
  SECTION("it says so") {
    CHECK_THROWS_AS(access::release_by(held,
                                       [&]() -> bool {
                                         outlived();
                                         throw lock_lost(engine::grant_lifecycle::not_ours(*grant, clock.now()),
                                                         "commit");
                                       }),
                    lock_lost);
  }
  CHECK(engine::grant_lifecycle::not_ours(*grant, clock.now()) == loss_reason::expired);
  CHECK(clock.at_rest());
  CHECK(seen->count(event::kind::split_brain) == 0);
  CHECK_NOTHROW(theirs.ensure_held());
}

TEST_CASE_METHOD(adopt_fixture, "release_by: nobody trusts the lease while the transaction frees it") {
  auto held = adopt_one(row(1));
  const auto grant = access::grant_of(held);
  access::release_by(held, [&] {
    CHECK(grant->remaining(clock.now()) == 0us);
    CHECK(seen->count(event::kind::lost) == 0);
    return false;
  });
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(adopt_fixture, "release_by: what was lost before is not written") {
  const auto key = row(1);
  auto held = adopt_one(key, {.ttl = 30s, .max_hold = 5s});
  bool called = false;
  const auto ends = [&] {
    return thrown([&] {
      access::release_by(held, [&] { return called = true; });
      return 0;
    });
  };
  SECTION("and told") {
    clock.advance(5s);
    REQUIRE(seen->wait_for(event::kind::lost));
    CHECK(ends() == errc::lost);
  }
  SECTION("just now") {
    // The alarm is busy with another one: this thread is the first to see that it is over.
    auto other = adopt_one(row(2), {.ttl = 30s, .max_hold = 4s});
    clock.advance(5s);
    CHECK(ends() == errc::lost);
  }
  CHECK_FALSE(called);
  CHECK_FALSE(held);
  CHECK(seen->wait_for(event::kind::lost));
  CHECK(freed(key));
  // It can be had again, by the same owner as well.
  CHECK(home.acquire(key, {}, true).remaining() > 0us);
}

TEST_CASE_METHOD(adopt_fixture, "release_by: a loss that comes at the same moment is counted once") {
  // The loss may come between any two instructions of it: many rounds, each begun a little later or earlier than the
  // one before, so that now the one and then the other is faster.
  constexpr int most = 6'000;
  constexpr int enough = 2'000;  // of each kind
  const auto key = row(1);
  std::atomic<int> losing{0};  // the rounds begun, and ended, by who makes it lost
  std::atomic<int> ended{0};
  std::atomic<bool> over{false};
  std::shared_ptr<engine::grant> grant;
  std::thread loser([&] {
    for (int round = 1;; ++round) {
      while (losing < round && !over) {
      }
      if (over) return;
      static_cast<void>(thrown([&] { return engine::extend(grant, 200ms), 0; }));
      ended = round;
    }
  });
  int lost = 0;
  int delay = 0;
  for (int round = 1; round <= most && (lost < enough || round - lost < enough); ++round) {
    auto held = adopt_one(key, {.ttl = 200ms, .renewal = renewal::manual});
    grant = access::grant_of(held);
    store->next(verb::extend, {.what = fate::say, .answer = outcome::no});
    losing = round;
    for (std::atomic<int> i{0}; i < delay; ++i) {
    }
    const bool too_late = thrown([&] { return access::release_by(held, [] { return false; }), 0; }) == errc::lost;
    delay = std::max(0, delay + (too_late ? -round % 17 : 1 + round % 17));
    lost += too_late ? 1 : 0;
    CHECK(eventually([&] { return ended == round; }));
    store->forget_scripts();
    if (too_late) clock.advance(50ms);  // the margin
    CHECK(clock.at_rest());
    CHECK(is_free(key));
  }
  over = true;
  loser.join();
  grant.reset();
  CHECK(home.close(0ms).empty());
  home.finish();
  CHECK(store->count(session_verb::close) > 0);  // nothing is held: it has ended
}

TEST_CASE_METHOD(adopt_fixture, "release_by: only the one lease on a row, in no other transaction") {
  const auto key = row(1);
  auto held = adopt_one(key);
  const auto grant = access::grant_of(held);
  CHECK(home.core()->all().table.sole(*grant));
  bool called = false;
  const auto ends = [&] { access::release_by(held, [&] { return called = true; }); };
  {
    const auto again = home.acquire(key, {}, true);
    CHECK_FALSE(home.core()->all().table.sole(*grant));
    CHECK_THROWS_AS(ends(), std::logic_error);
  }
  engine::outlive_transaction(*grant);
  CHECK_FALSE(home.core()->all().table.sole(*grant));
  CHECK_THROWS_AS(ends(), std::logic_error);
  engine::transaction_ended(grant);
  CHECK_FALSE(called);
  CHECK_NOTHROW(held.ensure_held());
  CHECK(home.core()->all().table.sole(*grant));
  ends();
  CHECK(called);
}

TEST_CASE_METHOD(adopt_fixture, "release_by: inside the transaction that frees the row nothing waits for its end") {
  const auto key = row(1);
  auto held = adopt_one(key);
  const fake_transaction open(*store);
  access::release_by(held, [&] {
    steal(key);
    return true;
  });
  CHECK(open.waited_for() == 0);
  CHECK(home.close(0ms).empty());
}
