// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(engine_fixture, "holds: the current owner's leases, by no statement", "[holds]") {
  const auto locks = service();
  CHECK_FALSE(locks->holds("k"));
  auto held = locks->acquire("k");
  const auto sent = locks->statements();
  CHECK(locks->holds("k"));
  CHECK(locks->holds(lock_key("k")));
  CHECK_FALSE(locks->holds("l"));
  CHECK([&] { return locks->holds("k"); }());
  CHECK_FALSE(elsewhere([&] { return locks->holds("k"); }));
  CHECK_FALSE(service()->holds("k"));  // of another service
  {
    const owner_scope task;
    CHECK_FALSE(locks->holds("k"));
  }
  CHECK(locks->statements() == sent);
  {
    const auto inner = locks->acquire("k");
    CHECK(locks->holds("k"));
    held = lease{};
    CHECK_FALSE(locks->holds("k"));  // nor would it be entered again
  }
  CHECK_FALSE(locks->holds("k"));
}

TEST_CASE_METHOD(engine_fixture, "holds: not a lease that is lost, or one that its thread could not enter", "[holds]") {
  const auto locks = service();
  const auto brief = locks->acquire("k", {.ttl = 1s, .renewal = renewal::none});
  CHECK(locks->holds("k"));
  clock.advance(1s);
  CHECK_FALSE(locks->holds("k"));
  const auto on_heap = std::make_unique<lease>(locks->acquire("l"));
  CHECK_FALSE(locks->holds("l"));
}

TEST_CASE_METHOD(engine_fixture, "holds: a task's owner wherever it runs, and the owner of a mutex", "[holds]") {
  const auto locks = service();
  const owner me;
  std::unique_ptr<lease> held;
  {
    const owner_scope here{me};
    held = std::make_unique<lease>(locks->acquire("k"));
  }
  CHECK_FALSE(locks->holds("k"));
  CHECK(elsewhere([&] {
    const owner_scope there{me};
    return locks->holds("k");
  }));
  distributed_mutex door{*locks, "door"};
  {
    const std::lock_guard guard{door};
    CHECK(locks->holds("door"));
    CHECK_FALSE(elsewhere([&] { return locks->holds("door"); }));
  }
  CHECK_FALSE(locks->holds("door"));
}
