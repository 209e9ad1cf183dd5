// SPDX-License-Identifier: BSL-1.0
// Asynchronous calls and fork(): what waits belongs to the parent.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "service/async_fixture.hpp"
#include "support/in_child.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(async_fixture, "fork: the child can't call, and is told nothing of what its parent waits for",
                 "[fork][async]") {
  const auto rival = foreign();
  auto theirs = rival->acquire("k", {.ttl = 1h});
  async_lock mine(*this, "k", {.wait = 1h});
  lease held = home->acquire("held");
  mine.acquire();
  settle();
  const auto child = [&] {
    const auto none = [](const std::exception_ptr&, const lease&) { ::_exit(1); };
    const auto refused = thrown([&] { home->async_acquire("x", {}, none); });
    const auto not_released = thrown([&] { async_release(std::move(held), [](const std::exception_ptr&) {}); });
    held = {};
    home.reset();
    return refused == errc::forked && not_released == errc::forked && !mine.over() ? 0 : 2;
  };
  CHECK(in_child(child) == 0);
  CHECK(fence_of("held") == held.fencing_token());
  theirs.release();
  clock.advance(1s);
  settle();
  CHECK(mine.over());
  CHECK(mine.held());
}
