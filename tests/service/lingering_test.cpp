// SPDX-License-Identifier: BSL-1.0
// lock_options::linger: a key stays with the process after a release, and its next lease costs no statement.

#include "dlock/store_interface/linger_bell.hpp"
#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct lingering_fixture : engine_fixture {
  static constexpr lock_options lingers{.ttl = 10s, .wait = 0s, .linger = 5s};

  lingering_fixture() {
    store->finds_waiters();
    locks = service();
  }
  /// One lease of the key. Returns its token.
  std::uint64_t pair(const lock_key& key = "k", const lock_options& how = lingers) {
    auto held = locks->acquire(key, how);
    held.ensure_held();
    const auto token = held.fencing_token();
    held.release();
    return token;
  }
  std::uint64_t row_fence() const { return rows_of("k").fence; }
  holder_info rows_of(const lock_key& key) const { return other->holder(key).value_or(holder_info{}); }
  /// Lets the process look for waiters.
  bool looks() { return clock.at_rest() && at_rest_after(10ms); }
  /// What the process watches once it has looked.
  std::string bell() const { return std::string(linger_bell(store->opened().front()).view()); }
  /// From now on the store notifies the process of waiters.
  void is_notified() {
    REQUIRE(looks());
    REQUIRE(store->tell(bell()) == 1);
    REQUIRE(clock.at_rest());
  }
  bool becomes_free(const lock_key& key = "k") { return clock.at_rest() && is_free(key); }

  std::unique_ptr<lock_service> locks{};
  std::unique_ptr<lock_service> other = foreign();
};

}  // namespace

TEST_CASE_METHOD(lingering_fixture, "linger: the next lease costs no statement, and has a greater token") {
  auto last = pair();
  CHECK_FALSE(is_free("k"));
  CHECK(pair() > last);  // reserves tokens
  const auto before = locks->statements();
  last = pair();
  for (int i = 0; i < 10; ++i) {
    const auto token = pair();
    CHECK(token > last);
    CHECK(token <= row_fence());
    last = token;
  }
  CHECK(locks->statements() == before);
  CHECK(store->count(verb::release) == 0);
  CHECK(seen->count(event::kind::granted) == 13);
  CHECK(seen->count(event::kind::released) == 13);
}

TEST_CASE_METHOD(lingering_fixture, "linger: 10,000 leases of a key cost no more than 20 statements") {
  const auto before = locks->statements();
  std::uint64_t last = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto token = pair();
    REQUIRE(token > last);
    last = token;
  }
  CHECK(locks->statements() - before <= 20);
  CHECK(store->count(verb::reserve) == 4);
  locks->close(1s);
  CHECK(other->try_acquire("k").fencing_token() > last);
}

TEST_CASE_METHOD(lingering_fixture, "linger: the key is free when the time is over, and not before") {
  pair();
  clock.advance(5s - 1us);
  CHECK(clock.at_rest());
  CHECK_FALSE(is_free("k"));
  clock.advance(20ms);
  CHECK(becomes_free());
}

TEST_CASE_METHOD(lingering_fixture, "linger: a process that waits gets the key at the next look for waiters") {
  pair();
  pair("other");
  store->let_wait_for("k");
  CHECK_FALSE(is_free("k"));
  REQUIRE(looks());
  CHECK(is_free("k"));
  CHECK_FALSE(is_free("other"));
}

TEST_CASE_METHOD(lingering_fixture, "linger: a process that is notified of waiters looks for none otherwise") {
  pair();
  is_notified();
  const auto before = store->searches();
  REQUIRE(at_rest_after(1s));
  CHECK(store->searches() == before);
  CHECK_FALSE(is_free("k"));
  REQUIRE(store->ring(bell()) == 1);
  CHECK(becomes_free());
  CHECK(store->searches() == before);  // it kept no other key
}

TEST_CASE_METHOD(lingering_fixture, "linger: of many keys a process that is rung frees those that others wait for") {
  for (const auto* const each : {"a", "b", "c", "d", "k"}) pair(each);
  is_notified();
  SECTION("the waiter is registered") { store->let_wait_for("k"); }
  REQUIRE(store->ring(bell()) == 1);
  SECTION("it registers after it has rung") {
    REQUIRE(clock.at_rest());
    CHECK_FALSE(is_free("k"));
    store->let_wait_for("k");
    REQUIRE(at_rest_after(10ms));
  }
  CHECK(becomes_free());
  CHECK_FALSE(is_free("a"));
}

TEST_CASE_METHOD(lingering_fixture, "linger: a lease that is held when the process is rung frees the key at its end") {
  pair();
  auto held = locks->acquire("k", lingers);
  is_notified();
  REQUIRE(store->ring(bell()) == 1);
  REQUIRE(clock.at_rest());
  held.ensure_held();
  CHECK_FALSE(is_free("k"));
  held.release();
  CHECK(becomes_free());
}

TEST_CASE_METHOD(lingering_fixture, "linger: where notifications stop, the process looks for waiters again") {
  pair();
  is_notified();
  REQUIRE(store->tell(bell(), false) == 1);
  REQUIRE(clock.at_rest());
  store->let_wait_for("k");
  REQUIRE(looks());
  CHECK(becomes_free());
}

TEST_CASE_METHOD(lingering_fixture, "linger: a process that keeps no key is notified no more") {
  pair();
  is_notified();
  for (int i = 0; i < 20; ++i) REQUIRE(at_rest_after(1s));
  CHECK(becomes_free());
  CHECK(store->watched(bell()) == 0);
}

TEST_CASE_METHOD(lingering_fixture, "linger: a lease that has waited for another process frees the key") {
  store->can().waits = waiting::woken;
  locks = service();
  auto theirs = other->acquire("k", {.ttl = 10s});
  std::thread waits([&] { pair("k", {.ttl = 10s, .wait = 1h, .linger = 5s}); });
  CHECK(as_time_passes([&] { return store->count(verb::poll) > 0; }));
  theirs.release();
  CHECK(as_time_passes([&] { return seen->count(event::kind::released) == 1; }));
  waits.join();
  CHECK(becomes_free());
}

TEST_CASE_METHOD(lingering_fixture, "linger: a lease frees a key that another process waits for when it ends") {
  const auto first = pair();
  auto held = locks->acquire("k", lingers);
  store->let_wait_for("k");
  REQUIRE(looks());
  held.ensure_held();
  const auto looked = store->looked();
  held.release();
  CHECK(store->searches() == 1);
  CHECK(store->count(verb::release) == 1);
  CHECK(becomes_free());
  CHECK(store->looked() >= looked);
  CHECK(other->try_acquire("k").fencing_token() > first + 1);
}

TEST_CASE_METHOD(lingering_fixture, "linger: a key that is used again and again is freed after a second all the same") {
  for (int i = 0; i < 20; ++i) {
    pair();
    REQUIRE(at_rest_after(100ms));
  }
  CHECK(store->count(verb::release) >= 1);
}

TEST_CASE_METHOD(lingering_fixture, "linger: where waiters can't be found, no key lingers") {
  pair();
  store->lose_waiters();
  REQUIRE(looks());
  CHECK(becomes_free());
}

TEST_CASE_METHOD(lingering_fixture, "linger: a key is freed first for a lease of another kind") {
  const auto first = pair();
  const auto how = GENERATE(lock_options{.ttl = 30s}, lock_options{.ttl = 10s, .renewal = renewal::none},
                            lock_options{.ttl = 10s, .min_hold = 1s});
  auto held = locks->acquire("k", how);
  held.ensure_held();
  CHECK(held.fencing_token() > first);
  CHECK(store->count(verb::release) == 1);
  CHECK(store->count(verb::cancel) == 0);
}

TEST_CASE_METHOD(lingering_fixture, "linger: a lease without it uses the key, and frees it") {
  pair();
  pair();
  const auto before = locks->statements();
  pair("k", {.ttl = 10s});
  CHECK(locks->statements() - before == 1);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(lingering_fixture, "linger: close() frees what lingers") {
  pair();
  pair("other");
  CHECK(locks->close(5s).empty());
  CHECK(is_free("k"));
  CHECK(is_free("other"));
}

TEST_CASE_METHOD(lingering_fixture, "linger: the end of the service frees what lingers") {
  pair();
  locks.reset();
  CHECK(becomes_free());
}

TEST_CASE_METHOD(lingering_fixture, "linger: a lease that ends after close() frees its key") {
  pair();
  auto held = locks->acquire("k", lingers);
  locks->close(0ms);
  held.release();
  CHECK(becomes_free());
}

TEST_CASE_METHOD(lingering_fixture, "linger: a session that is lost ends it") {
  pair();
  pair();
  SECTION("an operator forces the key") {
    REQUIRE(other->force_release("k"));
    CHECK(as_time_passes([&] { return seen->count(event::kind::session_lost) > 0; }));
  }
  SECTION("the server is out of reach") {
    store->cut();
    clock.advance(10s);
    CHECK(clock.at_rest());
    store->cut(false);
  }
  CHECK(clock.at_rest());
  clock.advance(10s);
  CHECK(clock.at_rest());
  const auto takes = store->count(verb::take) + store->count(verb::take_over);
  pair("k", {.ttl = 10s, .wait = 5s});
  CHECK(store->count(verb::take) + store->count(verb::take_over) > takes);
}

TEST_CASE_METHOD(lingering_fixture, "linger: a reservation that fails costs the key, and no token is used twice") {
  const auto first = pair();
  const auto end = GENERATE(fate::drop, fate::ghost, fate::vanish, fate::fail, fate::say);
  store->next(verb::reserve, {.what = end, .answer = outcome::no});
  std::uint64_t token = 0;
  for (int i = 0; i < 20 && token == 0; ++i) {
    static_cast<void>(thrown([&] { token = pair("k", {.ttl = 10s, .wait = 0s, .linger = 5s}); }));
    clock.advance(500ms);
    REQUIRE(clock.at_rest());
  }
  CHECK(token > first);
  CHECK(store->run_ghosts() == 0);
}

TEST_CASE_METHOD(lingering_fixture, "linger: threads of one process pass the key on without a statement") {
  auto held = locks->acquire("k", lingers);
  std::uint64_t token = held.fencing_token();
  pair("warm");
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> tokens;  // guarded by the lock itself
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto mine = locks->acquire("k", {.ttl = 10s, .wait = 1h, .linger = 5s});
      tokens.push_back(mine.fencing_token());
    });
  }
  held.release();
  for (auto& each : threads) each.join();
  CHECK(std::is_sorted(tokens.begin(), tokens.end()));
  CHECK(tokens.front() > token);
  CHECK(store->count(verb::take) + store->count(verb::insert) <= 5);
  CHECK(store->count(verb::reserve) == 1);
  CHECK(store->count(verb::pass_on) == 0);
}

TEST_CASE_METHOD(lingering_fixture, "linger: a list of keys uses those that linger") {
  pair("a");
  pair("a");
  const auto before = store->count(verb::take) + store->count(verb::insert);
  auto held = locks->acquire_all({"a", "b"}, lingers);
  CHECK(held.size() == 2);
  CHECK(store->count(verb::take) + store->count(verb::insert) <= before + 2);
  held.release();
  CHECK_FALSE(is_free("a"));
  CHECK_FALSE(is_free("b"));
}

TEST_CASE_METHOD(lingering_fixture, "linger: max_hold counts from each lease") {
  pair("k", {.ttl = 10s, .max_hold = 3s, .linger = 5s});
  REQUIRE(at_rest_after(2s));
  auto held = locks->acquire("k", {.ttl = 10s, .max_hold = 3s, .linger = 5s});
  CHECK(held.remaining() == 3s);
  REQUIRE(at_rest_after(2s));
  held.ensure_held();
  REQUIRE(at_rest_after(1s));
  CHECK(held.loss() == loss_reason::max_hold);
  CHECK(store->count(verb::reserve) == 1);
}

TEST_CASE_METHOD(engine_fixture, "linger: a store that knows no waiters refuses it") {
  const auto locks = service();
  const auto why = refusal([&] { return locks->acquire("k", {.linger = 1s}); });
  CHECK(why.find("linger = 1000 ms") != std::string::npos);
  CHECK(why.find("'k'") != std::string::npos);
  CHECK(store->count(verb::insert) == 0);
}

TEST_CASE("linger: what it can't be combined with") {
  const auto says = [](const lock_options& how, const char* what) {
    return refusal([&] { return validate(how), 0; }).find(what) != std::string::npos;
  };
  CHECK_NOTHROW(validate(lock_options{.ttl = 10s, .linger = 10s}));
  CHECK(says({.ttl = 10s, .linger = 11s}, "linger = 11000 ms"));
  CHECK(says({.renewal = renewal::none, .linger = 1s}, "renewal::automatic"));
  CHECK(says({.fairness = fairness::fifo, .linger = 1s}, "fairness::fifo"));
  CHECK(says({.min_hold = 1s, .linger = 1s}, "min_hold"));
}
