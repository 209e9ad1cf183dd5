// SPDX-License-Identifier: BSL-1.0

// Leases that end inside a transaction of the application's, under a watch that knows of fake ones.

#include "dlock/distributed_mutex.hpp"
#include "dlock/with_lock.hpp"
#include "service/adopt_fixture.hpp"
#include "service/fake_transactions.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

struct transaction_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = service();

  /// Releases that a transaction's end has queued need the clock.
  ~transaction_fixture() {
    if (locks != nullptr) static_cast<void>(eventually([this] { return locks->close(0ms).empty(); }));
  }

  /// A lease that begins and ends inside `in`.
  std::uint64_t hold_in(fake_transaction& in, const lock_key& key) {
    const auto before = in.waited_for();
    const auto held = locks->acquire(key);
    CHECK(in.waited_for() == before);
    return held.fencing_token();
  }
  /// Keeps the background in the release of another key until the gate is opened: what is queued for it comes late.
  std::shared_ptr<gate> keep_background_busy() {
    const auto busy = store->hold(verb::release);
    fake_transaction open(*store);
    hold_in(open, "busy");
    open.end();
    static_cast<void>(busy->reached());
    return busy;
  }
  bool freed(const lock_key& key) {
    return eventually([&] { return is_free(key); });
  }
};

/// A transaction is open on the thread of the test from its beginning.
struct in_transaction : transaction_fixture {
  fake_transaction open{*store};
};

/// Somebody else's, after the first.
struct waiting_rival {
  waiting_rival(engine_fixture& in, const lock_key& key)
      : rival(in.foreign()), thread([this, key] {
          const auto theirs = rival->acquire(key, {.ttl = 30s, .wait = 1h});
          saw = committed.load();
          has = true;
        }) {}
  ~waiting_rival() { thread.join(); }

  std::unique_ptr<lock_service> rival;
  std::atomic<bool> committed{false};
  std::atomic<bool> saw{false};
  std::atomic<bool> has{false};
  std::thread thread;
};

}  // namespace

TEST_CASE_METHOD(in_transaction, "transaction: a lease that ends inside one frees the key after its outcome, once",
                 "[T70]") {
  hold_in(open, "k");
  CHECK_FALSE(is_free("k"));
  CHECK(store->count(verb::release) == 0);
  CHECK(seen->count(event::kind::released) == 0);
  open.end();
  CHECK(freed("k"));
  CHECK(seen->wait_for(event::kind::released));
  static_cast<void>(locks->acquire("k"));
  CHECK(store->count(verb::release) == 2);
  CHECK(seen->count(event::kind::released) == 2);
}

TEST_CASE_METHOD(in_transaction, "transaction: the next owner comes after the outcome", "[T70]") {
  auto held = locks->acquire("k");
  waiting_rival next(*this, "k");
  held.release();
  CHECK_FALSE(held);
  const auto polls = locks->count(event::kind::granted);
  for (int i = 0; i < 20; ++i) {
    CHECK(clock.at_rest({.callers = 1}));  // it has looked again, in vain
    clock.advance(250ms);
  }
  CHECK(clock.at_rest({.callers = 1}));
  CHECK_FALSE(next.has);
  CHECK(locks->count(event::kind::granted) == polls);
  next.committed = true;
  open.end();
  CHECK(clock.at_rest({.callers = 1}));
  clock.advance(250ms);
  CHECK(eventually([&] { return next.has.load(); }));
  CHECK(next.saw);
}

TEST_CASE_METHOD(in_transaction, "transaction: a key whose release waits is renewed and can be entered again") {
  const auto fence = hold_in(open, "k");
  for (int i = 0; i < 12; ++i) {
    const auto renewed = store->count(session_verb::renew);
    clock.advance(11s);
    REQUIRE(eventually([&] { return store->count(session_verb::renew) > renewed; }));
  }
  CHECK_FALSE(is_free("k"));
  const auto sent = locks->statements();
  {
    const auto again = locks->acquire("k");
    CHECK(again.reentered());
    CHECK(again.fencing_token() == fence);
    CHECK(again.remaining() > 0us);
  }
  CHECK(locks->statements() == sent);
  CHECK_FALSE(is_free("k"));
  CHECK(open.waited_for() == 1);
  open.end();
  CHECK(freed("k"));
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(in_transaction, "transaction: what was entered again outlives it, and is then released at once") {
  hold_in(open, "k");
  auto again = locks->acquire("k");
  REQUIRE(again.reentered());
  open.end();
  // Whatever was queued by the end is done before this.
  hold_in(open, "l");
  CHECK(store->count(verb::release) == 1);
  CHECK_FALSE(is_free("k"));
  CHECK_NOTHROW(again.ensure_held());
  again.release();
  CHECK(store->count(verb::release) == 2);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: acquired again and left in the next one, it waits for that one",
                 "[T70]") {
  const auto busy = keep_background_busy();
  fake_transaction first(*store);
  const auto fence = hold_in(first, "k");
  first.end();
  auto again = locks->acquire("k");
  CHECK(again.fencing_token() == fence + 1);
  fake_transaction second(*store);
  again.release();
  CHECK(second.waited_for() == 1);
  busy->open();
  CHECK(clock.at_rest());
  CHECK_FALSE(is_free("k"));
  second.end();
  CHECK(clock.at_rest());
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a release that was queued frees no lease that came after it",
                 "[T70]") {
  const auto busy = keep_background_busy();
  {
    fake_transaction open(*store);
    hold_in(open, "k");
    open.end();  // queues it; it is not begun
    const auto again = locks->acquire("k");
    busy->open();
    CHECK(clock.at_rest());
    CHECK_NOTHROW(again.ensure_held());
    CHECK_FALSE(is_free("k"));
  }
  CHECK(freed("k"));
  CHECK(seen->count(event::kind::split_brain) == 0);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a lease that ends after it is released at once") {
  std::optional<fake_transaction> open(std::in_place, *store);
  auto held = locks->acquire("k");
  open->end();
  held.release();
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::released) == 1);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: an inner lease that ends inside one changes nothing") {
  auto outer = locks->acquire("k");
  {
    fake_transaction open(*store);
    { const auto inner = locks->acquire("k"); }
    CHECK(open.waited_for() == 0);
    open.end();
  }
  CHECK_NOTHROW(outer.ensure_held());
  outer.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a lease from before it that ends inside is held back as well",
                 "[T70]") {
  auto outer = locks->acquire("k");
  fake_transaction open(*store);
  outer = lease{};
  CHECK_FALSE(is_free("k"));
  open.end();
  CHECK(freed("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: it is that of the thread on which the lease ends") {
  SECTION("not of the one that acquired") {
    fake_transaction open(*store);
    auto held = locks->acquire("k");
    elsewhere([&] { held.release(); });
    CHECK(is_free("k"));
    CHECK(open.waited_for() == 0);
  }
  SECTION("which may end on yet another") {
    auto held = locks->acquire("k");
    fake_transaction open(*store);
    held.release();
    CHECK_FALSE(is_free("k"));
    elsewhere([&] { open.end(); });
    CHECK(freed("k"));
  }
}

TEST_CASE_METHOD(transaction_fixture, "transaction: one of another database holds nothing back and is not told") {
  const faulty_store other(rows);
  const fake_transaction open(other);
  { const auto held = locks->acquire("k"); }
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::in_transaction) == 0);
  const fake_transaction mine(*store);
  { const auto held = locks->acquire("k"); }
  CHECK_FALSE(is_free("k"));
  CHECK(seen->count(event::kind::in_transaction) == 1);
}

TEST_CASE_METHOD(transaction_fixture,
                 "transaction: an acquire inside one is told, with the reason, and re-entry is not", "[T75]") {
  const auto before = locks->acquire("before");
  CHECK(seen->count(event::kind::in_transaction) == 0);
  const fake_transaction open(*store);
  const auto inside = locks->acquire("inside");
  REQUIRE(seen->count(event::kind::in_transaction) == 1);
  const auto again = locks->acquire("before");
  const auto twice = locks->acquire("inside");
  CHECK(seen->count(event::kind::in_transaction) == 1);
  for (const auto& each : seen->records()) {
    if (each.what != event::kind::in_transaction) continue;
    CHECK(each.key == "inside");
    CHECK(each.text.find("take the lock first") != std::string::npos);
  }
}

TEST_CASE_METHOD(in_transaction, "transaction: where nobody can be told of its end, the key is freed at once") {
  open.tell_nobody();
  auto held = locks->acquire("k");
  held.release();
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::released) == 1);
}

TEST_CASE_METHOD(in_transaction, "transaction: with_lock inside one succeeds and frees the key after it", "[T70]") {
  CHECK(locks->with_lock("k", [] { return 42; }) == 42);
  CHECK_FALSE(is_free("k"));
  open.end();
  CHECK(freed("k"));
}

TEST_CASE_METHOD(in_transaction, "transaction: several keys in one are each freed after it, once", "[T70]") {
  const std::vector<std::string> keys{"a", "b", "c", "d"};
  for (const auto& each : keys) hold_in(open, each);
  CHECK(open.waited_for() == keys.size());
  open.end();
  for (const auto& each : keys) CHECK(freed(each));
  CHECK(seen->wait_for(event::kind::released, keys.size()));
  CHECK(store->count(verb::release) == keys.size());
}

TEST_CASE_METHOD(transaction_fixture, "transaction: an observer that blocks does not stop the releases") {
  struct blocking final : observer {
    void on(const event& event) override {
      if (event.what == event::kind::released) entered->pass();
    }
    std::shared_ptr<gate> entered = std::make_shared<gate>();
  };
  const auto slow = std::make_shared<blocking>();
  locks = service([&](auto& settings) { settings.observer = slow; });
  fake_transaction open(*store);
  hold_in(open, "a");
  hold_in(open, "b");
  open.end();
  CHECK(slow->entered->reached());
  CHECK(freed("a"));
  CHECK(freed("b"));
  slow->entered->open();
}

// Releases that wait for a transaction, and what else may happen meanwhile: losses, close(), faults, all threads at
// once.

TEST_CASE_METHOD(in_transaction, "transaction: a lease lost while its release waits is lost, and forgotten after it") {
  hold_in(open, "k");
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(40s);
  REQUIRE(seen->wait_for(event::kind::lost));
  // In this transaction something was done under it: it can't be entered again.
  CHECK(thrown([&] { return locks->acquire("k"); }) == errc::lost);
  CHECK(freed("k"));
  // That of a lost lease goes out in the background.
  CHECK(store->count(verb::release) == 0);
  CHECK(at_rest_after(1500ms));
  CHECK(store->count(verb::release) == 1);
  store->forget_scripts();
  open.end();
  const auto next = locks->acquire("k");
  CHECK_FALSE(next.reentered());
  CHECK(next.remaining() > 0us);
  CHECK(store->count(verb::release) == 1);
  CHECK(seen->count(event::kind::released) == 0);
  CHECK(seen->count(event::kind::lost) == 1);
}

TEST_CASE_METHOD(in_transaction, "transaction: an expiry of its own ends a lease whose release waits") {
  { const auto held = locks->acquire("k", {.ttl = 2s, .renewal = renewal::none}); }
  CHECK_FALSE(is_free("k"));
  clock.advance(3s);
  CHECK(seen->wait_for(event::kind::lost));
  CHECK(freed("k"));
  open.end();
  CHECK(locks->acquire("k").remaining() > 0us);
}

TEST_CASE_METHOD(in_transaction, "transaction: what was lost before is not waited for") {
  auto held = locks->acquire("k", {.ttl = 2s, .renewal = renewal::none});
  clock.advance(3s);
  CHECK(thrown([&] { held.release(); }) == errc::lost);
  CHECK(open.waited_for() == 0);
}

TEST_CASE_METHOD(in_transaction, "transaction: close() reports a key whose release waits, and its end frees it",
                 "[T70]") {
  hold_in(open, "k");
  CHECK(locks->close(0ms) == std::vector<std::string>{"k"});
  locks.reset();
  CHECK_FALSE(is_free("k"));
  open.end();
  CHECK(freed("k"));
  CHECK(eventually([&] { return store->connections() == 0; }));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: it may end long after the service and the lease did") {
  auto behind = core();
  const std::weak_ptr<engine::service_core> watched = behind.core();
  fake_transaction open(*store);
  { const auto held = behind.acquire("k", {.ttl = 2s, .renewal = renewal::none}, true); }
  static_cast<void>(behind.close(0ms));
  behind.finish();
  clock.advance(3s);  // lost: nothing is held
  REQUIRE(eventually([&] { return behind.close(0ms).empty(); }));
  behind.finish();  // waits for its threads
  behind = {};
  CHECK_FALSE(watched.expired());
  open.end();
  CHECK(eventually([&] { return watched.expired(); }));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a key is freed after the last of those that verified it", "[T70]") {
  auto held = locks->acquire("k");
  const auto grant = detail::access::grant_of(held);
  auto& home = *grant->home;
  engine::outlive_transaction(*grant);
  engine::outlive_transaction(*grant);
  CHECK_FALSE(home.all().table.sole(*grant));
  held.release();
  CHECK_FALSE(held);
  engine::transaction_ended(grant);
  const fake_transaction unrelated(*store);
  CHECK_FALSE(is_free("k"));
  CHECK(store->count(verb::release) == 0);
  engine::transaction_ended(grant);
  CHECK(freed("k"));
  CHECK(store->count(verb::release) == 1);
}

TEST_CASE_METHOD(transaction_fixture,
                 "transaction: one that verified the lease and ended before it holds nothing back") {
  auto held = locks->acquire("k");
  const auto grant = detail::access::grant_of(held);
  engine::outlive_transaction(*grant);
  engine::transaction_ended(grant);
  CHECK(grant->home->all().table.sole(*grant));
  CHECK_NOTHROW(held.ensure_held());
  held.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture,
                 "transaction: a renewal by hand inside the one that verified the lease is refused at once", "[T19]") {
  const lock_options by_hand{.ttl = 10s, .renewal = renewal::manual};
  auto held = locks->acquire("k", by_hand);
  const auto grant = detail::access::grant_of(held);
  engine::outlive_transaction(*grant);
  CHECK_THROWS_MATCHES(held.renew(), std::logic_error,
                       MessageMatches(ContainsSubstring("key 'k'") && ContainsSubstring("renew")));
  // A re-entry with a longer ttl, which would be one, keeps the end that there is.
  auto longer = by_hand;
  longer.ttl = 20s;
  {
    const auto inner = locks->acquire("k", longer);
    CHECK(inner.reentered());
    CHECK(inner.remaining() <= 10s);
  }
  CHECK(locks->acquire("k", by_hand).reentered());
  CHECK(store->count(verb::extend) == 0);
  // It is this thread that would wait for itself.
  CHECK(elsewhere([&] { return thrown([&] { return held.renew(), 0; }); }) == std::error_code());
  CHECK(store->count(verb::extend) == 1);
  engine::transaction_ended(grant);
  CHECK(locks->acquire("k", longer).remaining() > 10s);
  CHECK_NOTHROW(held.renew());
  CHECK(store->count(verb::extend) == 3);
}

TEST_CASE_METHOD(transaction_fixture,
                 "transaction: a renewal by hand inside one that did not verify the lease goes on") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  fake_transaction open(*store);
  const auto other = locks->acquire("l");
  const auto verified = detail::access::grant_of(other);
  engine::outlive_transaction(*verified);
  CHECK_NOTHROW(held.renew());
  engine::transaction_ended(verified);
}

TEST_CASE_METHOD(in_transaction, "transaction: a release that fails after it goes on in the background") {
  hold_in(open, "k");
  store->next(verb::release, {.what = fate::fail, .why = denied, .times = 2});
  open.end();
  CHECK(seen->wait_for(event::kind::release_failed));
  CHECK(as_time_passes([&] { return is_free("k"); }, 200ms));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: ends and re-entries on all threads lose and leak nothing",
                 "[T70]") {
  constexpr int rounds = 1000;
  std::atomic<int> inside{0};
  std::atomic<bool> together{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) try {
          fake_transaction open(*store);
          {
            const auto held = locks->acquire("k", {.wait = 10h});
            if (inside.fetch_add(1) != 0) together = true;
          }
          inside.fetch_sub(1);
          open.end();
          // Back before, while or after the background frees it.
          auto again = locks->acquire("k", {.wait = 10h});
          again.release();
        } catch (const error&) {
          ++failed;
        }
    });
  }
  while_time_passes([&] {
    for (auto& each : threads) each.join();
  });
  CHECK(failed == 0);
  CHECK_FALSE(together);
  CHECK(freed("k"));
  CHECK(seen->count(event::kind::split_brain) == 0);
  CHECK(locks->count(event::kind::released) == locks->count(event::kind::granted));
}

// Rows that statements of the application's transaction take: what claims are made of.

TEST_CASE_METHOD(adopt_fixture, "adopt: what a transaction took becomes leases like any other") {
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
  CHECK_FALSE(granted(home.acquire(first, {}, true)));  // not by those in a container
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

TEST_CASE_METHOD(adopt_fixture, "adopt: each call takes under a nonce of its own") {
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

TEST_CASE_METHOD(adopt_fixture, "adopt: a statement that throws leaves nothing taken") {
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
  CHECK(granted(home.acquire(first, {}, true)));
}

TEST_CASE_METHOD(adopt_fixture, "adopt: a commit without an answer is cancelled until it can't come any more") {
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

TEST_CASE_METHOD(adopt_fixture, "adopt: a commit that never comes is not cancelled for ever") {
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
                 "[T29]") {
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
  CHECK(granted(home.acquire(key, {}, true)));  // nobody has the turn
}

TEST_CASE_METHOD(adopt_fixture, "adopt: some seconds are lost to a slow transaction, not to trust", "[T29]") {
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

TEST_CASE_METHOD(adopt_fixture, "adopt: an expiry of its own that passed in between gives no lease", "[T29]") {
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

TEST_CASE_METHOD(adopt_fixture, "adopt: a thread that has the row's turn gets it after the adopted lease") {
  const auto key = row(1);
  auto theirs = held_elsewhere(lock_key::from_stored(key.view()));
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
  CHECK(granted(home.acquire(key, {}, true)));
}

TEST_CASE_METHOD(adopt_fixture, "adopt: what does not fit rows is refused before the transaction") {
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

TEST_CASE_METHOD(adopt_fixture, "adopt: without a session nothing is taken") {
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

TEST_CASE_METHOD(adopt_fixture, "adopt: max_hold holds for claimed rows as well") {
  const auto key = row(1);
  const auto held = adopt_one(key, {.ttl = 30s, .max_hold = 5s});
  clock.advance(5s);
  CHECK(held.loss() == loss_reason::max_hold);
  CHECK(freed(key));
}

// The moment after a transaction's outcome: the leases that it outlived are still to be released, and their owner, who
// knows that it is over, wants the key again.

namespace {

struct outcome_fixture : transaction_fixture {
  const std::shared_ptr<gate> busy = keep_background_busy();

  ~outcome_fixture() { busy->open(); }

  /// A lease that ended inside a transaction which has its outcome; its release is queued and not begun.
  std::uint64_t outlived(const lock_options& options = {}) {
    fake_transaction open(*store);
    auto held = locks->acquire("k", options);
    const auto fence = held.fencing_token();
    held.release();
    CHECK_FALSE(is_free("k"));
    open.end();
    return fence;
  }
};

}  // namespace

TEST_CASE_METHOD(outcome_fixture,
                 "outcome: after it the owner gets a new grant, though the old one is not released yet", "[T46]") {
  const auto releases = store->count(verb::release);  // once it is queued, the release may be done at any moment
  const auto fence = outlived();
  const auto next = locks->acquire("k");
  CHECK_FALSE(next.reentered());
  CHECK(next.fencing_token() == fence + 1);
  CHECK(store->count(verb::release) == releases + 1);
  busy->open();
  CHECK(clock.at_rest());
  CHECK_NOTHROW(next.ensure_held());
  CHECK(store->count(verb::release) == releases + 2);  // of the other key
  CHECK(locks->count(event::kind::released) == 2);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: after it one attempt is enough", "[T32]") {
  const auto fence = outlived();
  SECTION("of one key") {
    const auto next = locks->try_acquire("k");
    REQUIRE(next);
    CHECK(next.fencing_token() == fence + 1);
  }
  SECTION("of several") {
    const auto next = locks->try_acquire_all({"j", "k"});
    REQUIRE(next);
    CHECK(next["k"].fencing_token() == fence + 1);
  }
  SECTION("where the owner's own lease counts as busy") {
    const auto next = locks->try_acquire("k", {.reentry = reentry::busy});
    REQUIRE(next);
    CHECK(next.fencing_token() == fence + 1);
  }
}

TEST_CASE_METHOD(outcome_fixture, "outcome: after it the key is not the owner's any more", "[T45]") {
  const auto fence = outlived();
  SECTION("to reentry::refuse") {
    CHECK(locks->acquire("k", {.reentry = reentry::refuse}).fencing_token() == fence + 1);
  }
  SECTION("to a mutex") {
    distributed_mutex mutex(*locks, "k");
    mutex.lock();
    CHECK(mutex.held().fencing_token() == fence + 1);
    mutex.unlock();
  }
}

TEST_CASE_METHOD(outcome_fixture, "outcome: the new lease has its own options, not those of the old one") {
  outlived();
  auto next = locks->acquire("k", {.ttl = 20s, .renewal = renewal::manual, .max_hold = 1min});
  CHECK(next.remaining() == 19s);
  clock.advance(5s);
  CHECK_NOTHROW(next.renew());
  CHECK(next.remaining() == 19s);
  clock.advance(19s);
  CHECK(next.loss() == loss_reason::expired);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: min_hold of the old lease holds, also against its owner") {
  const auto fence = outlived({.min_hold = 10s});
  CHECK_FALSE(granted(locks->try_acquire("k")));
  clock.advance(10s - 1us);
  CHECK_FALSE(granted(locks->try_acquire("k")));
  clock.advance(1us);
  CHECK(locks->acquire("k").fencing_token() == fence + 1);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: a lease whose time is over while it is being released is not lost",
                 "[T46]") {
  const auto at = store->hold(verb::release);
  const auto fence = outlived({.ttl = 1s, .renewal = renewal::none});
  REQUIRE(at->reached());
  REQUIRE(at_rest_after(1s, {.busy = 2}));
  CHECK(seen->count(event::kind::lost) == 0);
  at->open();
  CHECK(locks->acquire("k", {.wait = 0ms}).fencing_token() == fence + 1);
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: who waited before gets the key before its old owner", "[T33]") {
  std::atomic<std::uint64_t> theirs{0};
  std::thread waiter;
  {
    fake_transaction open(*store);
    const auto held = locks->acquire("k");
    waiter = std::thread([&] { theirs = locks->acquire("k", {.wait = 1h}).fencing_token(); });
    REQUIRE(clock.at_rest({.callers = 1, .busy = 1}));
  }
  // Destroyed in this order: the lease inside the transaction, which then ends.
  const auto mine = locks->acquire("k", {.wait = 1h});
  waiter.join();
  CHECK(theirs == 2);
  CHECK(mine.fencing_token() == 3);
}

TEST_CASE_METHOD(transaction_fixture, "outcome: a release that the background is at is waited for") {
  const bool once = GENERATE(true, false);
  const auto at = store->hold(verb::release);
  fake_transaction open(*store);
  hold_in(open, "k");
  open.end();
  REQUIRE(at->reached());
  const auto me = owner::current();
  lease next;
  std::thread again([&] {
    const owner_scope here(me);
    next = once ? locks->try_acquire("k") : locks->acquire("k");
  });
  CHECK(clock.at_rest({.callers = 1, .busy = 1}));
  at->open();
  again.join();
  REQUIRE(next);
  CHECK(next.fencing_token() == 2);
  CHECK(store->count(verb::release) == 1);
}

TEST_CASE_METHOD(outcome_fixture, "outcome: a release that fails leaves the key to the background") {
  store->next(verb::release, {.what = fate::fail, .why = denied});
  outlived();
  CHECK_FALSE(granted(locks->try_acquire("k")));
  CHECK(eventually([&] { return locks->count(event::kind::release_failed) == 1; }));
  busy->open();
  CHECK(at_rest_after(500ms));
  CHECK(locks->try_acquire("k").fencing_token() == 2);
}

TEST_CASE_METHOD(transaction_fixture,
                 "outcome: acquired at once after each, a key has one holder and one release a time", "[T70]") {
  constexpr int rounds = 2'000;
  std::uint64_t last = 0;
  bool entered = false;
  for (int i = 0; i < rounds; ++i) {
    fake_transaction open(*store);
    auto held = locks->acquire("k", {.reentry = reentry::refuse});
    entered = entered || held.reentered() || held.fencing_token() != last + 1;
    last = held.fencing_token();
    held.release();
    open.end();
  }
  CHECK_FALSE(entered);
  CHECK(clock.at_rest());
  CHECK(is_free("k"));
  CHECK(store->count(verb::release) == rounds);
  CHECK(locks->count(event::kind::split_brain) == 0);
}
