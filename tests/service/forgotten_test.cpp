// SPDX-License-Identifier: BSL-1.0
// Grants of a service's own session that it knows nothing of: a proxy executed a take twice, for example.
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct forgotten_fixture : engine_fixture {
  /// Grants a key to the session of a service that holds `other`, without the service.
  void grant_behind(const lock_key& other, std::string_view key, std::uint64_t nonce) {
    const auto holder = stranger()->holder(other);
    REQUIRE(holder);
    fault why;
    const auto connection = rows->connect(1s, why);
    REQUIRE(connection);
    for (const auto action : {verb::take, verb::insert}) {
      const std::array asked{request{.action = action, .resource = key, .session = holder->session, .nonce = nonce}};
      std::array<reply, 1> answers{};
      rows->execute(*connection, asked, answers);
      if (answers[0].result == outcome::yes) return;
    }
    FAIL("not granted");
  }
};

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
