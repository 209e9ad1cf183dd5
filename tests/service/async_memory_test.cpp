// SPDX-License-Identifier: BSL-1.0
// Asynchronous calls without memory: the call throws, or its handler is told; nothing stays held.
#include <catch2/catch_test_macros.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "dlock/async.hpp"
#include "service/scarce_memory_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(memory_fixture, "memory: an asynchronous acquire that runs out of it leaves nothing held",
                 "[memory][async]") {
  lease mine;
  int calls = 0;
  without_memory([&](std::size_t) { calls = 0; },
                 [&](std::size_t number) {
                   const auto name = [&] {
                     const ample_memory here;
                     return key("one", number);
                   }();
                   locks->async_acquire(name, {}, [&](const std::exception_ptr&, lease held) {
                     mine = std::move(held);
                     ++calls;
                   });
                   ++calls;
                 },
                 [&](std::size_t number) {
                   REQUIRE(clock.at_rest());
                   CHECK((calls == 0 || calls == 2));  // the call has thrown, or the handler was called
                   mine = {};
                   check_free(key("one", number));
                 });
}

TEST_CASE_METHOD(memory_fixture, "memory: an asynchronous release that runs out of it leaves the lease with its caller",
                 "[memory][async]") {
  lease mine;
  std::optional<bool> freed;
  without_memory(
      [&](std::size_t number) {
        mine = locks->acquire(key("one", number));
        freed.reset();
      },
      [&](std::size_t) {
        async_release(std::move(mine), [&](const std::exception_ptr& failure) { freed = failure == nullptr; });
      },
      [&](std::size_t number) {
        REQUIRE(clock.at_rest());
        CHECK(freed.has_value() != static_cast<bool>(mine));
        mine = {};
        check_free(key("one", number));
      });
}
