// SPDX-License-Identifier: BSL-1.0
// What is different about rows of the application's tables, as the engine sees them. The store beneath takes a row for
// a key of the same bytes.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "service/column_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

}  // namespace

TEST_CASE_METHOD(column_fixture, "row: what can't be done with rows is refused before any statement", "[row]") {
  const auto key = lock_key::of_row(table, {std::int64_t{1}});
  CHECK_THROWS_MATCHES(locks->acquire(key, {.ttl = 4999ms}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("ttl = 4999 ms") && ContainsSubstring("row 't:1'")));
  CHECK_THROWS_MATCHES(locks->try_acquire(key, {.ttl = 30s, .min_hold = 1s}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("min_hold = 1000 ms")));
  const auto by_session = lock_key::of_row(table_named("t", row_renewal::session), {std::int64_t{1}});
  CHECK_THROWS_MATCHES(locks->acquire(by_session, {.min_hold = 1s}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("min_hold = 1000 ms")));
  const auto other = foreign();  // straight on the memory store
  CHECK_THROWS_MATCHES(other->acquire(by_session), std::invalid_argument,
                       MessageMatches(ContainsSubstring("no tables whose rows could be locked")));
  CHECK(store->tried() == 0);
  // The bounds themselves.
  CHECK(locks->acquire(row(2), {.ttl = 5s}));
  CHECK(locks->acquire(existing(by_session), {.ttl = 1s}));
}

TEST_CASE_METHOD(column_fixture, "row: one that does not exist is refused, and nothing is left behind", "[row]") {
  const auto key = lock_key::of_row(table, {std::int64_t{7}});
  const auto refused = caught<lock_refused>([&] { return locks->acquire(key, half_minute); });
  CHECK(refused.code() == errc::no_such_row);
  CHECK(std::string(refused.what()).find("row 't:7'") != std::string::npos);
  CHECK(store->count(verb::insert) == 0);
  CHECK(thrown([&] { return locks->try_acquire(key, half_minute); }) == errc::no_such_row);
  // Its turn is free for the row that comes into being.
  existing(key);
  CHECK(locks->try_acquire(key, half_minute));
  SECTION("deleted while somebody waits for it") {
    const auto rival = service();
    const auto theirs = rival->acquire(key, half_minute);
    store->next(verb::poll, {.what = fate::say, .answer = outcome::absent, .skip = 1});
    CHECK(thrown_as_time_passes([&] { return locks->acquire(key, half_minute); }) == errc::no_such_row);
  }
  SECTION("a store that finds it out at the take") {
    store->next(verb::take, {.what = fate::say, .answer = outcome::absent});
    CHECK(thrown([&] { return locks->acquire(key, half_minute); }) == errc::no_such_row);
  }
}

TEST_CASE_METHOD(column_fixture, "row: the key of a row is never that of a text which reads the same", "[row]") {
  const auto key = row(1);
  const lock_key text("t:1");
  const auto held = locks->acquire(key, half_minute);
  // Neither a re-entry, nor behind the row in the queue of this process: the store is asked.
  const auto asked = store->without_row();
  CHECK_FALSE(locks->try_acquire(text, {.reentry = reentry::refuse}));
  CHECK(store->without_row() > asked);
  const auto other = existing(lock_key::of_row(table_named("u", row_renewal::column, "t"), {std::int64_t{1}}));
  const auto taken = store->count(verb::take);
  CHECK_FALSE(locks->try_acquire(other, {.ttl = 30s, .reentry = reentry::refuse}));
  CHECK(store->count(verb::take) > taken);
}

TEST_CASE_METHOD(column_fixture, "row: threads of one process wait in the queue for it", "[row]") {
  const auto key = row(1);
  auto held = locks->acquire(key, half_minute);
  const auto sent = locks->statements();
  CHECK(elsewhere([&] { return !granted(locks->try_acquire(key, half_minute)); }));
  CHECK(locks->statements() == sent);
  std::thread next([&] {
    const auto theirs = locks->acquire(key, {.ttl = 30s, .wait = 1h});
    CHECK(theirs.fencing_token() == 3);
  });
  held.release();
  next.join();
}

TEST_CASE_METHOD(row_fixture, "row: under row_renewal::session it hangs on the session and nothing else", "[row]") {
  const auto locks = service();
  const auto key = existing(lock_key::of_row(table_named("t", row_renewal::session), {std::string("a:b")}));
  const auto held = locks->acquire(key, {.ttl = 30s});
  CHECK(held.key() == "t:a%3Ab");
  CHECK(locks->holder(key)->kind == lease_kind::session);
  REQUIRE(live_on(held, 120s, 30s));
  CHECK(store->count(verb::extend) == 0);
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(40s);
  CHECK(held.loss() == loss_reason::unreachable);
}
