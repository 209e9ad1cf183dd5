// SPDX-License-Identifier: BSL-1.0
// Objects that live as long as their thread lock and let go when that ends, after what the library keeps for the
// thread.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// Destroyed at the end of its thread. What was made before the thread first locked is destroyed after all that the
/// library has made for it then.
struct last_will {
  std::function<void()> act{};
  ~last_will() {
    if (act) act();
  }
};
thread_local last_will will{};

void at_the_end_of_a_thread(std::function<void()> begin, std::function<void()> end) {
  std::thread([&] {
    will.act = std::move(end);
    begin();
  }).join();
}

}  // namespace

TEST_CASE_METHOD(engine_fixture, "thread end: what is locked and let go there is taken and freed", "[owner]") {
  const auto locks = service();
  int entered = 0;
  at_the_end_of_a_thread([&] { locks->acquire("k").release(); },
                         [&] {
                           const auto mine = locks->acquire("k");
                           if (locks->acquire("k").reentered()) ++entered;
                           const owner_scope here{owner{}};
                           if (locks->acquire("other")) ++entered;
                         });
  CHECK(entered == 2);
  CHECK(is_free("k"));
  CHECK(is_free("other"));
}

TEST_CASE_METHOD(engine_fixture, "thread end: a lease that lives as long as the thread is let go with it", "[owner]") {
  const auto locks = service();
  std::optional<lease> held;
  at_the_end_of_a_thread([&] { held = locks->acquire("k"); }, [&] { held.reset(); });
  CHECK(is_free("k"));
  CHECK(store->count(verb::release) == 1);
}

TEST_CASE_METHOD(engine_fixture, "thread end: a mutex that is locked until then is unlocked there", "[owner][mutex]") {
  const auto locks = service();
  distributed_mutex door(*locks, "k");
  distributed_mutex gate(*locks, "g");
  at_the_end_of_a_thread([&] { const std::scoped_lock both(door, gate); },
                         [&] { const std::scoped_lock both(gate, door); });
  CHECK(is_free("k"));
  CHECK(is_free("g"));
}
