// SPDX-License-Identifier: BSL-1.0

/// What a store says that it can't do: refused at the call that asks for it, before any statement, with the store's
/// name.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>

#include "dlock/async.hpp"
#include "dlock/owner.hpp"
#include "service/row_fixture.hpp"

namespace dlock::test {

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

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without session leases a renewed lease is refused at the call",
                 "[capabilities]") {
  store->can().session_leases = false;
  const auto locks = service();
  check_refused<std::invalid_argument>(*locks, "renewal::manual", [&] { return locks->acquire("k"); });
  check_refused<std::invalid_argument>(*locks, "renewal::manual", [&] { return locks->try_acquire("k"); });
  check_refused<std::invalid_argument>(*locks, "renewal::manual", [&] { return locks->acquire_all({"a", "b"}); });
  CHECK(locks->acquire("k", {.renewal = renewal::none}));
  CHECK(locks->acquire("k", {.renewal = renewal::manual}));
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without expiring leases only a renewed one can be had",
                 "[capabilities]") {
  store->can().expiring_leases = false;
  const auto locks = service();
  for (const auto renewal : {renewal::none, renewal::manual}) {
    check_refused<std::invalid_argument>(*locks, "renewal::automatic",
                                         [&] { return locks->acquire("k", {.renewal = renewal}); });
    check_refused<std::invalid_argument>(*locks, "renewal::automatic", [&] {
      return locks->try_acquire_all({"a", "b"}, {.renewal = renewal});
    });
  }
  CHECK(locks->acquire("k"));
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: an order of waiters is refused where there is none",
                 "[capabilities]") {
  const lock_options in_order{.fairness = fairness::fifo};
  {
    const auto locks = service();
    check_refused<std::invalid_argument>(*locks, "fairness = fifo", [&] { return locks->acquire("k", in_order); });
    check_refused<std::invalid_argument>(*locks, "fairness = fifo", [&] { return locks->try_acquire("k", in_order); });
  }
  store->can().keeps_order = true;
  const auto able = service();
  CHECK(able->acquire("k", in_order));
  check_refused<std::invalid_argument>(*able, "lists of keys", [&] { return able->acquire_all({"a", "b"}, in_order); });
  check_refused<std::invalid_argument>(*able, "lists of keys", [&] {
    able->async_acquire_all({"a", "b"}, in_order, [](const std::exception_ptr&, const multi_lease&) {});
  });
  const auto row = existing(lock_key::of_row(table_named("t", row_renewal::session), {std::int64_t{1}}));
  check_refused<std::invalid_argument>(*able, "for rows", [&] { return able->acquire(row, in_order); });
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without request ids nobody locks for a request of one",
                 "[capabilities]") {
  const auto locks = service();
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
    CHECK(locks->acquire("k", options));
  }
  store->can().request_ids = true;
  const auto able = service();
  const owner_scope here{owner{"request-1"}};
  CHECK_THROWS_AS(able->acquire("k"), std::invalid_argument);  // renewed automatically
  CHECK(able->acquire("k", options));
  CHECK(able->acquire_all({"a", "b"}, {.renewal = renewal::manual}));
}

TEST_CASE_METHOD(capabilities_fixture,
                 "capabilities: a row is as bound to them as a key, but its column's renewal is its own",
                 "[capabilities][row]") {
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
    CHECK(locks->acquire(of_column, {.ttl = 30s}));
  }
  SECTION("without expiring leases") {
    store->can().expiring_leases = false;
    const auto locks = service();
    check_refused<std::invalid_argument>(*locks, "that end by an expiry", [&] {
      return locks->acquire(of_column, {.ttl = 30s, .renewal = renewal::none});
    });
    CHECK(locks->acquire(of_column, {.ttl = 30s}));
  }
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: a store without batches is asked one by one", "[capabilities]") {
  const auto sent_at_once = [&] {
    const auto locks = service();
    for (const char* key : {"a", "b", "c"}) locks->acquire(key).release();
    const auto before = store->batches(verb::take);
    CHECK(locks->acquire_all({"a", "b", "c"}));
    return store->batches(verb::take) - before;
  };
  CHECK(sent_at_once() == 1);
  store->can().batch = false;
  CHECK(sent_at_once() == 3);
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: a store that tells nothing to operators keeps locks all the same",
                 "[capabilities]") {
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

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without transactions a lease can't be verified, but be had",
                 "[capabilities]") {
  store->no_transactions();
  const auto locks = service();
  const auto held = locks->acquire("k");
  check_refused<std::logic_error>(*locks, "can't verify", [&] { return held.verification(); });
}

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without fences no token is given, and no event tells one",
                 "[capabilities]") {
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

TEST_CASE_METHOD(capabilities_fixture, "capabilities: without a time of the grant min_hold is refused",
                 "[capabilities]") {
  store->can().min_hold = false;
  const auto locks = service();
  check_refused<std::invalid_argument>(*locks, "min_hold = 1000 ms",
                                       [&] { return locks->acquire("k", {.min_hold = 1s}); });
  check_refused<std::invalid_argument>(*locks, "min_hold = 1000 ms", [&] {
    return locks->try_acquire_all({"a", "b"}, {.min_hold = 1s});
  });
  CHECK(locks->acquire("k"));
}

TEST_CASE_METHOD(capabilities_fixture,
                 "capabilities: a key that the store can't have is refused before it is asked for", "[capabilities]") {
  store->refuse_long_keys("it is too long");
  const auto locks = service();
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->acquire("much too long"); });
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->try_acquire("much too long"); });
  check_refused<std::invalid_argument>(*locks, "key 'much too long'", [&] {
    return locks->acquire_all({"a", "much too long"});
  });
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->holder("much too long"); });
  check_refused<std::invalid_argument>(*locks, "it is too long", [&] { return locks->force_release("much too long"); });
  CHECK(locks->acquire("short"));
}

TEST_CASE_METHOD(capabilities_fixture,
                 "capabilities: where each lease is renewed by itself, an automatic one sends nothing else",
                 "[capabilities][T13][T21]") {
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

TEST_CASE_METHOD(capabilities_fixture, "capabilities: a program asks what its store can do", "[capabilities]") {
  store->can().min_hold = false;
  const auto locks = service();
  CHECK(locks->caps().fence);
  CHECK(locks->caps().session_leases);
  CHECK_FALSE(locks->caps().min_hold);
  CHECK_FALSE(locks->caps().tells_free);
  CHECK(locks->statements() == 0);
}

}  // namespace dlock::test
