// SPDX-License-Identifier: BSL-1.0
// Grants of a service's own session that it knows nothing of: a proxy executed a take twice, for example.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "service/adopt_fixture.hpp"
#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

template <class Fixture>
struct forgetful : Fixture {
  /// Grants a key to the session of a service that holds `other`, without the service.
  void grant_behind(const lock_key& other, std::string_view key, std::uint64_t nonce) {
    const auto holder = this->foreign()->holder(lock_key::from_stored(other.view()));
    REQUIRE(holder);
    for (const auto action : {verb::take, verb::insert}) {
      const request asked{.action = action, .resource = key, .session = holder->session, .nonce = nonce};
      if (this->answer_to(asked).result == outcome::yes) return;
    }
    FAIL("not granted");
  }
};
using forgotten_fixture = forgetful<engine_fixture>;
using forgotten_rows = forgetful<adopt_fixture>;

}  // namespace

TEST_CASE_METHOD(forgotten_fixture, "forgotten: a key that our own session holds for no lease is freed and granted",
                 "[forgotten]") {
  const auto locks = service();
  const auto other = locks->acquire("other", {.ttl = 30s});
  grant_behind("other", "stuck", 1ULL << 40U);
  CHECK_FALSE(is_free("stuck"));
  const auto held = locks->try_acquire("stuck", {.ttl = 30s});
  CHECK(held);
  CHECK(other.fencing_token() != 0);
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE_METHOD(forgotten_fixture, "forgotten: a key that another service holds for no lease is left alone",
                 "[forgotten]") {
  const auto locks = service();
  const auto others = service();
  const auto other = others->acquire("other", {.ttl = 30s});
  grant_behind("other", "stuck", 1ULL << 40U);
  CHECK_FALSE(locks->try_acquire("stuck", {.ttl = 30s}));
  CHECK(store->count(verb::cancel) == 0);
}

TEST_CASE_METHOD(forgotten_fixture,
                 "forgotten: a lease that was lost is freed after its margin, not by who asks for its key before",
                 "[forgotten]") {
  const auto locks = service();
  auto held = locks->acquire("key", {.ttl = 30s, .max_hold = 5s});
  clock.advance(5s);
  REQUIRE(eventually([&] { return held.remaining() == 0us; }));
  CHECK_FALSE(elsewhere([&] { return static_cast<bool>(locks->try_acquire("key", {.ttl = 30s})); }));
  CHECK(store->count(verb::cancel) == 0);
}

TEST_CASE_METHOD(forgotten_fixture, "forgotten: several keys are granted though our own session holds one for no lease",
                 "[forgotten]") {
  if (GENERATE(false, true)) store->let_takes_wait();  // which are looked at first
  const auto locks = service();
  const auto other = locks->acquire("other", {.ttl = 30s});
  grant_behind("other", "stuck", 1ULL << 40U);
  CHECK(locks->try_acquire_all({"free", "stuck"}, {.ttl = 30s}));
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE_METHOD(forgotten_fixture, "forgotten: a wait for several keys ends if our own session holds one for no lease",
                 "[forgotten]") {
  const auto locks = service();
  const auto others = foreign();
  const auto other = locks->acquire("other", {.ttl = 60s});
  auto before = others->acquire("stuck", {.ttl = 60s});
  bool got = false;
  std::thread waiting([&] { got = granted(locks->acquire_all({"free", "stuck"}, {.ttl = 60s, .wait = 30s})); });
  const bool waits = clock.at_rest();
  before.release();
  grant_behind("other", "stuck", 1ULL << 40U);
  while_time_passes([&] { waiting.join(); });
  CHECK(waits);
  CHECK(got);
}

TEST_CASE_METHOD(forgotten_rows, "forgotten: a row that our own session holds for no lease is freed and granted",
                 "[forgotten]") {
  const auto other = adopt_one(row(1));
  const auto stuck = row(2);
  grant_behind(row(1), stuck.view(), 1ULL << 40U);
  CHECK_FALSE(is_free(stuck));
  CHECK(home.acquire(stuck, {.ttl = 30s}, true));
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE_METHOD(forgotten_rows, "forgotten: a row that a claim has committed is left to the claim", "[forgotten]") {
  const auto key = row(1);
  const auto held = adopt([&](ticket& asked) {
    claimed done{{key, take(asked, key)}};
    CHECK_FALSE(elsewhere([&] { return granted(home.acquire(key, {.ttl = 30s}, true)); }));
    return done;
  });
  REQUIRE(held.size() == 1);
  CHECK_NOTHROW(held[0].ensure_held());
  CHECK_FALSE(is_free(key));
  CHECK(store->count(verb::cancel) == 0);
}
