// SPDX-License-Identifier: BSL-1.0

// Each option has a test that fails when its meaning is flipped [T10]; those not here are in the files of what they
// are about: max_waiters, cancel: waiting_test; release_limit: release_test; close_limit: close_test; retry.limit:
// acquire_test; reentry: reentry_test; renewal, min_hold, max_hold, margin: hold_test; observer: observer_test; the
// pauses of retry: small_parts_test.

#include "dlock/async.hpp"
#include "dlock/locked.hpp"
#include "service/engine_fixture.hpp"
#include "support/each_option.hpp"

namespace dlock::test {

TEST_CASE_METHOD(one_service, "options: ttl is what the server keeps", "[T10]") {
  const auto kept = locks->acquire("kept", {.ttl = 59s});
  const auto own = locks->acquire("own", {.ttl = 59s, .renewal = renewal::none});
  CHECK(locks->holder("kept")->remaining == 30s);
  CHECK(locks->holder("kept")->kind == lease_kind::session);
  CHECK(locks->holder("own")->remaining == 59s);
  CHECK(locks->holder("own")->kind == lease_kind::expiring);
}

TEST_CASE_METHOD(engine_fixture, "options: label names the holder to operators", "[T10]") {
  const auto locks = service([](auto& settings) { settings.label = "billing"; });
  const auto held = locks->acquire("k");
  const auto seen_by_all = foreign()->holder("k");
  REQUIRE(seen_by_all);
  CHECK(seen_by_all->label == "billing");
  CHECK(seen_by_all->pid == ::getpid());
  CHECK_FALSE(seen_by_all->host.empty());
  CHECK(seen_by_all->key == "k");
  CHECK(seen_by_all->fence == held.fencing_token());
  const auto usual = service();
  const auto other = usual->acquire("other");
  CHECK_FALSE(usual->holder("other")->label.empty());
  CHECK(usual->holder("other")->label != "billing");
}

TEST_CASE_METHOD(engine_fixture, "options: connections bounds the pool", "[T10]") {
  for (const std::size_t count : {1U, 3U}) {
    const auto locks = service([&](auto& settings) { settings.connections = count; });
    std::vector<std::shared_ptr<gate>> gates;
    static_cast<void>(locks->try_acquire("warm"));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) gates.push_back(store->hold(verb::insert));
    for (std::size_t i = 0; i < 4; ++i) {
      threads.emplace_back(
          [&, i] { static_cast<void>(locks->try_acquire(std::to_string(count) + "." + std::to_string(i))); });
    }
    // Of several, one is left to releases.
    for (std::size_t i = 0; i < (count == 1 ? 1 : count - 1); ++i) CHECK(gates[i]->reached());
    CHECK(store->connections() <= count + 1);
    for (auto& each : gates) each->open();
    for (auto& each : threads) each.join();
    store->forget_scripts();
  }
}

TEST_CASE_METHOD(engine_fixture, "options: defaults are those of calls that give none", "[T10]") {
  const auto locks = service([](auto& settings) { settings.defaults = {.ttl = 10s, .wait = 0ms}; });
  CHECK(locks->defaults().ttl == 10s);
  const auto held = locks->acquire("k");
  CHECK(locks->holder("k")->remaining == 10s);
  CHECK(elsewhere([&] { return thrown([&] { return locks->acquire("k"); }); }) == errc::timed_out);
}

TEST_CASE_METHOD(engine_fixture, "options: a call sets what it names, and inherits each other field", "[T10]") {
  auto settings = options();
  settings.defaults = {.ttl = 20s,
                       .wait = 0ms,
                       .renewal = renewal::manual,
                       .reentry = reentry::refuse,
                       .retry = {.pause = 7ms, .limit = 3},
                       .max_hold = 40s};
  const auto locks = service(settings);
  auto held = locks->acquire("k", {.wait = 50ms});  // the wait, and nothing else
  CHECK(locks->holder("k")->remaining == 20s);
  CHECK(locks->holder("k")->kind == lease_kind::expiring);
  CHECK_NOTHROW(held.renew());
  CHECK(thrown([&] { return locks->acquire("k", {.ttl = 5s}); }) == errc::already_held);
  held.renew(60s);
  CHECK(held.remaining() == 40s);  // max_hold
  const auto kept = locks->acquire("kept", {.renewal = renewal::automatic, .max_hold = 0ms});
  CHECK(locks->holder("kept")->kind == lease_kind::session);
  CHECK(locks->holder("kept")->remaining == 15s);  // the class of 20 s
  CHECK(kept.remaining() < 15s);
  // Time stands still: who does not inherit wait = 0 waits for ever.
  CHECK(elsewhere([&] { return thrown([&] { return locks->acquire("k", {.ttl = 5s}); }); }) == errc::timed_out);
}

namespace {

/// A value that a call refuses whose owner holds the key, or that calls of a service with fairness::fifo refuse.
struct refused_value {
  std::chrono::milliseconds operator()(std::chrono::milliseconds /*usual*/) const { return -1ms; }
  double operator()(double /*usual*/) const { return -1; }
  unsigned operator()(unsigned /*usual*/) const { return 3; }
  renewal operator()(renewal /*usual*/) const { return renewal::manual; }
  reentry operator()(reentry /*usual*/) const { return reentry::refuse; }
  fairness operator()(fairness /*usual*/) const { return fairness::fifo; }
  lock_mode operator()(const lock_mode& /*usual*/) const { return one_of(0, 1); }
  std::stop_token operator()(const std::stop_token& /*usual*/) const {
    std::stop_source stopped;
    stopped.request_stop();
    return stopped.get_token();
  }
};

}  // namespace

TEST_CASE_METHOD(engine_fixture, "options: a re-entry obeys each field that is given alone") {
  const auto locks = service();
  store->can().keeps_order = true;
  const auto in_order = service([](auto& settings) { settings.defaults.fairness = fairness::fifo; });
  const auto outer = locks->acquire("k");
  const auto outer_in_order = in_order->acquire("l");
  REQUIRE(locks->acquire("k").reentered());
  REQUIRE(in_order->acquire("l").reentered());
  with_each_option(refused_value{}, [&](const lock_options& options, const std::string& name) {
    INFO(name);
    const bool limit = name == "retry.limit";  // only fairness::fifo forbids it
    CHECK_THROWS(limit ? in_order->acquire("l", options) : locks->acquire("k", options));
    CHECK_THROWS(limit ? in_order->try_acquire("l", options) : locks->try_acquire("k", options));
  });
}

TEST_CASE_METHOD(engine_fixture, "options: defaults() leaves nothing open") {
  const auto locks = service([](auto& settings) { settings.defaults = {.ttl = 10s, .retry = {.pause = 7ms}}; });
  const auto& all = locks->defaults();
  CHECK(all.ttl == 10s);
  CHECK(all.wait == 10s);
  CHECK(all.renewal == renewal::automatic);
  CHECK(all.reentry == reentry::allow);
  CHECK(all.retry.pause == 7ms);
  CHECK(all.retry.multiplier == 2.0);
  CHECK(all.retry.max_pause == 250ms);
  CHECK(all.retry.jitter == 0.5);
  CHECK(all.retry.limit.has_value());
  CHECK(all.min_hold == 0ms);
  CHECK(all.max_hold == 0ms);
  CHECK(all.fairness == fairness::none);
  CHECK(all.cancel.has_value());
}

TEST_CASE_METHOD(engine_fixture, "options: the order of processes is asked for by the call, or by the service") {
  store->can().keeps_order = true;
  auto settings = options();
  const bool by_default = GENERATE(true, false);
  if (by_default) settings.defaults.fairness = fairness::fifo;
  const auto locks = service(settings);
  const lock_options asks = by_default ? lock_options{} : lock_options{.fairness = fairness::fifo};
  CHECK(granted(locks->acquire("k", asks)));
  CHECK(store->in_order() > 0);
  const auto before = store->in_order();
  CHECK(granted(locks->acquire("k", {.fairness = fairness::none})));
  CHECK(store->in_order() == before);
}

TEST_CASE_METHOD(engine_fixture, "options: what is inherited is validated with what is given") {
  auto settings = options();
  settings.defaults = {.ttl = 100ms, .renewal = renewal::none, .retry = {.pause = 200ms}};
  const auto locks = service(settings);
  CHECK_THROWS_AS(locks->acquire("k", {.renewal = renewal::automatic}), std::invalid_argument);  // ttl = 100 ms
  CHECK_THROWS_AS(locks->acquire("k", {.retry = {.max_pause = 100ms}}), std::invalid_argument);
  CHECK_THROWS_AS(locks->locked("k", [] {}, {.renewal = renewal::automatic}), std::invalid_argument);
  CHECK(granted(locks->acquire("k", {.ttl = 10s, .renewal = renewal::automatic})));
  settings.defaults = {.ttl = 100ms};
  CHECK_THROWS_AS(service(settings), std::invalid_argument);
}

TEST_CASE_METHOD(engine_fixture, "options: cleanup_interval and key_retention forget what is long unused, but no fence",
                 "[T10][T58]") {
  auto settings = options();
  settings.cleanup_interval = 1min;
  settings.key_retention = 10min;
  const auto locks = service(settings);
  REQUIRE(clock.at_rest());
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) last = locks->acquire("k").fencing_token();
  // Whether the key has a row: only a key without one is inserted.
  const auto is_known = [&] {
    const auto inserted = store->count(verb::insert);
    const auto fence = service()->acquire("k").fencing_token();
    CHECK(fence > last);  // whatever became of the row
    last = fence;
    return store->count(verb::insert) == inserted;
  };
  const auto pass = [&](std::chrono::milliseconds time) {
    for (auto left = time; left > 0ms; left -= 10s) REQUIRE(at_rest_after(10s));
  };
  pass(9min);
  CHECK(is_known());
  pass(10min - 10s);  // since then
  CHECK(is_known());
  pass(11min + 10s);  // key_retention, and at most cleanup_interval more
  CHECK(locks->count(event::kind::cleanup) >= 1);
  CHECK_FALSE(is_known());
  CHECK(locks->acquire("k").fencing_token() > last);
}

TEST_CASE_METHOD(engine_fixture, "options: without cleanup_interval, or without key_retention, no key is forgotten",
                 "[T10]") {
  auto settings = options();
  SECTION("cleanup_interval = 0") {
    settings.cleanup_interval = 0ms;
    settings.key_retention = 10min;
  }
  SECTION("key_retention = 0") {
    settings.cleanup_interval = 1min;
    settings.key_retention = 0ms;
  }
  const auto locks = service(settings);
  locks->acquire("k").release();
  for (int i = 0; i < 50; ++i) REQUIRE(at_rest_after(1min));
  const auto inserted = store->count(verb::insert);
  CHECK(locks->acquire("k").fencing_token() == 2);
  CHECK(store->count(verb::insert) == inserted);
}

TEST_CASE_METHOD(engine_fixture, "options: wait bounds the whole call", "[T10]") {
  const auto theirs = held_elsewhere("k", {.ttl = 1h});
  const auto locks = service();
  for (const auto wait : {0ms, 50ms, 200ms}) {
    const auto begun = clock.now();
    const auto end = thrown_as_time_passes([&] { return locks->acquire("k", {.wait = wait}); });
    CHECK(end == errc::timed_out);
    CHECK(clock.now() - begun >= wait);
  }
}

TEST_CASE_METHOD(engine_fixture, "options: a longer pause asks the store less often", "[T10][T36]") {
  const auto theirs = held_elsewhere("k", {.ttl = 1h});
  const auto asked = [&](retry_policy retry) {
    const auto locks = service();
    thrown_as_time_passes([&] { return locks->acquire("k", {.wait = 20s, .retry = retry}); });
    return locks->statements();
  };
  const auto often = asked({.pause = 10ms, .multiplier = 1.0, .max_pause = 10ms, .jitter = 0.0});
  const auto seldom = asked({.pause = 250ms, .multiplier = 1.0, .max_pause = 250ms, .jitter = 0.0});
  CHECK(often > 2 * seldom);
  CHECK(seldom <= 2 + 80 + 5);
}

TEST_CASE_METHOD(engine_fixture, "options: start_limit waits for a database that starts later", "[T10]") {
  const store_error nobody(errc::store_unreachable, "nobody there", 2003, "", true);
  store->not_ready(4, nobody);
  auto settings = options();
  settings.start_limit = 10s;
  const auto begun = clock.now();
  const auto locks = while_time_passes([&] { return service(settings); });
  CHECK(store->prepared() == 5);
  CHECK(clock.now() - begun >= 50ms + 100ms + 200ms + 400ms);
  CHECK(granted(locks->try_acquire("k")));
}

TEST_CASE_METHOD(engine_fixture, "options: a service gives up at start_limit, at once without it", "[T10]") {
  const store_error nobody(errc::store_unreachable, "nobody there", 2003, "", true);
  store->not_ready(1000, nobody);
  auto settings = options();
  CHECK(thrown([&] { return service(settings); }) == errc::store_unreachable);
  CHECK(store->prepared() == 1);
  settings.start_limit = 3s;
  const auto begun = clock.now();
  CHECK(thrown_as_time_passes([&] { return service(settings); }) == errc::store_unreachable);
  CHECK(clock.now() - begun >= 3s);
  CHECK(store->prepared() > 5);
}

TEST_CASE_METHOD(engine_fixture, "options: a lazy service is made while the database is down", "[T10]") {
  auto settings = options();
  settings.lazy = true;
  store->cut();
  const auto locks = service(settings);
  CHECK(store->tried() == 0);
  store->not_ready(1, store_error(errc::store_unreachable, "down", 2002, "", true));
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::store_unreachable);
  CHECK(thrown([&] { return locks->holder("k"); }) == errc::store_unreachable);
  store->cut(false);
  const auto prepared = store->prepared();
  CHECK(granted(locks->try_acquire("k")));
  CHECK(granted(locks->try_acquire("other")));
  CHECK(store->prepared() <= prepared + 1);  // once is enough
}

TEST_CASE_METHOD(engine_fixture, "options: a waiter of a lazy service gets the lock when the database is there",
                 "[T10]") {
  auto settings = options();
  settings.lazy = true;
  store->not_ready(3, store_error(errc::store_unreachable, "down", 2002, "", true));
  const auto locks = service(settings);
  CHECK(while_time_passes([&] { return granted(locks->acquire("k", {.wait = 1min})); }));
  CHECK(store->prepared() == 4);
}

TEST_CASE_METHOD(engine_fixture, "options: what the schema of a lazy service lacks is told by each call", "[T10]") {
  const auto locks = service([](auto& settings) { settings.lazy = true; });
  const store_error lacking(errc::store_failed, "no such table", 1146, "42S02", false);
  store->not_ready(1000, lacking);
  for (int i = 0; i < 2; ++i) {
    const auto failure = caught<store_error>([&] { return locks->acquire("k"); });
    CHECK(failure.code() == errc::store_failed);
    CHECK(failure.native_code() == 1146);
    CHECK(failure.sqlstate() == "42S02");
  }
  store->not_ready(0, lacking);
  CHECK(granted(locks->acquire("k")));
}

TEST_CASE_METHOD(engine_fixture, "options: start_limit does not wait for what will not pass", "[T10]") {
  store->not_ready(1, store_error(errc::store_unreachable, "wrong password", 1045, "28000", false));
  CHECK(thrown([&] { return service([](auto& settings) { settings.start_limit = 10s; }); }) == errc::store_failed);
  CHECK(store->prepared() == 1);
}

TEST_CASE_METHOD(engine_fixture, "options: bad ones are refused before the store is looked at") {
  CHECK_THROWS_AS(service([](auto& settings) { settings.connections = 0; }), std::invalid_argument);
  CHECK(store->prepared() == 0);
}

// What a store says that it can't do: refused at the call that asks for it, before any statement, with the store's
// name.

namespace {

struct capabilities_fixture : row_fixture {
  /// That the call throws E, names the store and says `why`, and that nothing was sent.
  template <class E, class F>
  void check_refused(lock_service& locks, const std::string& why, F call) {
    const auto sent = locks.statements();
    CHECK_THROWS_MATCHES(call(), E,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(store->name()) &&
                                                         Catch::Matchers::ContainsSubstring(why)));
    CHECK(locks.statements() == sent);
  }
};

}  // namespace

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without session leases a renewed lease is refused at the call") {
  store->can().session_leases = false;
  const auto locks = service();
  check_refused<std::invalid_argument>(*locks, "renewal::manual", [&] { return locks->acquire("k"); });
  check_refused<std::invalid_argument>(*locks, "renewal::manual", [&] { return locks->try_acquire("k"); });
  check_refused<std::invalid_argument>(*locks, "renewal::manual", [&] { return locks->acquire_all({"a", "b"}); });
  CHECK(granted(locks->acquire("k", {.renewal = renewal::none})));
  CHECK(granted(locks->acquire("k", {.renewal = renewal::manual})));
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without expiring leases only a renewed one can be had") {
  store->can().expiring_leases = false;
  const auto locks = service();
  for (const auto renewal : {renewal::none, renewal::manual}) {
    check_refused<std::invalid_argument>(*locks, "renewal::automatic",
                                         [&] { return locks->acquire("k", {.renewal = renewal}); });
    check_refused<std::invalid_argument>(*locks, "renewal::automatic", [&] {
      return locks->try_acquire_all({"a", "b"}, {.renewal = renewal});
    });
  }
  CHECK(granted(locks->acquire("k")));
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: an order of waiters is refused where there is none") {
  const lock_options in_order{.fairness = fairness::fifo};
  {
    const auto locks = service();
    check_refused<std::invalid_argument>(*locks, "fairness = fifo", [&] { return locks->acquire("k", in_order); });
    check_refused<std::invalid_argument>(*locks, "fairness = fifo", [&] { return locks->try_acquire("k", in_order); });
  }
  store->can().keeps_order = true;
  const auto able = service();
  CHECK(granted(able->acquire("k", in_order)));
  check_refused<std::invalid_argument>(*able, "lists of keys", [&] { return able->acquire_all({"a", "b"}, in_order); });
  check_refused<std::invalid_argument>(*able, "lists of keys", [&] {
    able->async_acquire_all({"a", "b"}, in_order, [](const std::exception_ptr&, const multi_lease&) {});
  });
  const auto row = existing(lock_key::of_row(table_named("t", row_renewal::session), {std::int64_t{1}}));
  check_refused<std::invalid_argument>(*able, "for rows", [&] { return able->acquire(row, in_order); });
}

TEST_CASE_METHOD(with_service<capabilities_fixture>,
                 "capabilities: without request ids nobody locks for a request of one") {
  const lock_options options{.renewal = renewal::none};
  auto outside = locks->acquire("outside", {.renewal = renewal::manual});
  {
    const owner_scope here{owner{"request-1"}};
    check_refused<std::invalid_argument>(*locks, "'request-1'", [&] { return locks->acquire("k", options); });
    check_refused<std::invalid_argument>(*locks, "'request-1'", [&] { return locks->try_acquire("k", options); });
    check_refused<std::invalid_argument>(*locks, "'request-1'", [&] {
      return locks->try_acquire_all({"a", "b"}, options);
    });
    check_refused<std::invalid_argument>(*locks, "'request-1'", [&] {
      locks->async_try_acquire("k", options, [](const std::exception_ptr&, const lease&) {});
    });
    CHECK_NOTHROW(outside.renew());  // whose lease it is says the lease
    const owner_scope inner;
    CHECK(granted(locks->acquire("k", options)));
  }
  store->can().request_ids = true;
  const auto able = service();
  const owner_scope here{owner{"request-1"}};
  CHECK_THROWS_AS(able->acquire("k"), std::invalid_argument);  // renewed automatically
  CHECK(granted(able->acquire("k", options)));
  CHECK(granted(able->acquire_all({"a", "b"}, {.renewal = renewal::manual})));
}

TEST_CASE_METHOD(capabilities_fixture,
                 "capabilities: a row is as bound to them as a key, but its column's renewal is its own") {
  const auto of_session = existing(lock_key::of_row(table_named("t", row_renewal::session), {std::int64_t{1}}));
  const auto of_column = existing(lock_key::of_row(table_named("c", row_renewal::column), {std::int64_t{1}}));
  SECTION("a store without rows") {
    store->can().rows = false;
    const auto locks = service();
    check_refused<std::invalid_argument>(*locks, "no tables", [&] { return locks->acquire(of_session, {.ttl = 30s}); });
    check_refused<std::invalid_argument>(*locks, "no rows", [&] { return locks->holder(of_session); });
    check_refused<std::invalid_argument>(*locks, "no rows", [&] { return locks->force_release(of_session); });
  }
  SECTION("without session leases") {
    store->can().session_leases = false;
    const auto locks = service();
    check_refused<std::invalid_argument>(*locks, "no leases that are renewed",
                                         [&] { return locks->acquire(of_session, {.ttl = 30s}); });
    CHECK(granted(locks->acquire(of_column, {.ttl = 30s})));
  }
  SECTION("without expiring leases") {
    store->can().expiring_leases = false;
    const auto locks = service();
    check_refused<std::invalid_argument>(*locks, "that end by an expiry", [&] {
      return locks->acquire(of_column, {.ttl = 30s, .renewal = renewal::none});
    });
    CHECK(granted(locks->acquire(of_column, {.ttl = 30s})));
  }
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: a store without batches is asked one by one") {
  const auto sent_at_once = [&] {
    const auto locks = service();
    for (const char* key : {"a", "b", "c"}) locks->acquire(key).release();
    const auto before = store->batches(verb::take);
    CHECK(granted(locks->acquire_all({"a", "b", "c"})));
    return store->batches(verb::take) - before;
  };
  CHECK(sent_at_once() == 1);
  store->can().batch = false;
  CHECK(sent_at_once() == 3);
}

TEST_CASE_METHOD(capabilities_fixture,
                 "capabilities: a store that tells nothing to operators keeps locks all the same") {
  store->no_admin();
  const auto locks = service([](auto& settings) { settings.cleanup_interval = 1min; });
  const auto held = locks->acquire("k");
  check_refused<std::logic_error>(*locks, "holder: ", [&] { return locks->holder("k"); });
  check_refused<std::logic_error>(*locks, "held_keys: ", [&] { return locks->held_keys(); });
  check_refused<std::logic_error>(*locks, "force_release: ", [&] { return locks->force_release("k"); });
  // Clean-up is due meanwhile, and is not asked for.
  REQUIRE(live_on(held, 180s, 30s));
  CHECK(store->count(other_verb::cleanup) == 0);
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without transactions a lease can't be verified, but be had") {
  store->no_transactions();
  const auto locks = service();
  const auto held = locks->acquire("k");
  check_refused<std::logic_error>(*locks, "can't verify", [&] { return held.verification(); });
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without fences no token is given, and no event tells one") {
  store->can().fence = false;
  const auto locks = service();
  auto held = locks->acquire("k");
  check_refused<std::logic_error>(*locks, "has no fencing tokens", [&] { return held.fencing_token(); });
  CHECK(lease{}.fencing_token() == 0);
  const auto both = locks->acquire_all({"a", "b"});
  check_refused<std::logic_error>(*locks, "has no fencing tokens", [&] { return both["a"].fencing_token(); });
  held.release();
  CHECK(is_free("k"));
  for (const auto& each : seen->records()) CHECK(each.fence == 0);
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without a time of the grant min_hold is refused") {
  store->can().min_hold = false;
  const auto locks = service();
  check_refused<std::invalid_argument>(*locks, "min_hold = 1000 ms",
                                       [&] { return locks->acquire("k", {.min_hold = 1s}); });
  check_refused<std::invalid_argument>(*locks, "min_hold = 1000 ms", [&] {
    return locks->try_acquire_all({"a", "b"}, {.min_hold = 1s});
  });
  CHECK(granted(locks->acquire("k")));
}

TEST_CASE_METHOD(capabilities_fixture,
                 "capabilities: a key that the store can't have is refused before it is asked for") {
  store->refuse_long_keys("it is too long");
  const auto locks = service();
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->acquire("much too long"); });
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->try_acquire("much too long"); });
  check_refused<std::invalid_argument>(*locks, "key 'much too long'", [&] {
    return locks->acquire_all({"a", "much too long"});
  });
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->holder("much too long"); });
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->force_release("much too long"); });
  CHECK(granted(locks->acquire("short")));
}

TEST_CASE_METHOD(capabilities_fixture,
                 "capabilities: where each lease is renewed by itself, an automatic one sends nothing else",
                 "[T13][T21]") {
  store->can().session_leases = false;
  store->can().renewed_leases = true;
  const auto locks = service();
  const auto held = locks->acquire("k", {.ttl = 30s});
  const auto before = store->count(verb::take) + store->count(verb::insert) + store->count(verb::poll);
  REQUIRE(live_on(held, 180s, 30s));
  CHECK(store->count(verb::extend) == 18);
  CHECK(store->count(verb::take) + store->count(verb::insert) + store->count(verb::poll) == before);
  CHECK_FALSE(is_free("k"));
  // Nobody's renewal: the same store, and nothing is sent.
  const auto alone = locks->acquire("alone", {.ttl = 30s, .renewal = renewal::none});
  CHECK(locks->holder("k")->kind == lease_kind::expiring);
  store->next(verb::extend, {.what = fate::say, .answer = outcome::no});
  clock.advance(10s + 1ms);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::taken_over);
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: a program asks what its store can do") {
  store->can().min_hold = false;
  const auto locks = service();
  CHECK(locks->caps().fence);
  CHECK(locks->caps().session_leases);
  CHECK_FALSE(locks->caps().min_hold);
  CHECK_FALSE(locks->caps().tells_free());
  CHECK(locks->statements() == 0);
}

}  // namespace dlock::test
