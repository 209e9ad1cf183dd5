// SPDX-License-Identifier: BSL-1.0
// The threads of a service under the real clock: a virtual one asks so often that it hides a wake-up that is missing.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "dlock/lock_service.hpp"
#include "dlock/stores/memory.hpp"
#include "support/eventually.hpp"
#include "support/faulty_store.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using namespace dlock::test;

struct real_fixture {
  std::shared_ptr<faulty_store> store = std::make_shared<faulty_store>(std::make_shared<stores::memory_store>());
  std::vector<std::unique_ptr<lock_service>> services{};

  lock_service& service() {
    return *services.emplace_back(std::make_unique<lock_service>(store, service_options{.close_limit = 0ms}));
  }
};

}  // namespace

TEST_CASE_METHOD(real_fixture, "real time: every new service notices that its first lease is lost", "[real][T92]") {
  std::vector<lease> held;
  store->next(session_verb::renew, {.times = 1000, .before = std::make_shared<gate>()});  // hangs: the alarm is left
  for (int i = 0; i < 16; ++i) held.push_back(service().acquire("k" + std::to_string(i), {.ttl = 1s}));
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& each : held) CHECK(eventually([&] { return each.lost_token().stop_requested(); }));
  CHECK(std::chrono::steady_clock::now() - begun < 6s);
}

TEST_CASE_METHOD(real_fixture, "real time: an expiry of its own is noticed when it comes", "[real][T92]") {
  auto& locks = service();
  int prompt = 0;
  for (int i = 0; i < 20; ++i) {
    const auto held = locks.acquire("k", {.ttl = 20ms, .wait = 20s, .renewal = renewal::none});
    const auto begun = std::chrono::steady_clock::now();
    REQUIRE(eventually([&] { return held.lost_token().stop_requested(); }));
    if (std::chrono::steady_clock::now() - begun < 200ms) ++prompt;
    REQUIRE(eventually([&] { return !locks.holder("k"); }));
  }
  CHECK(prompt >= 10);  // a machine may stall now and then
}

TEST_CASE_METHOD(real_fixture, "real time: what hangs is interrupted, also the first statement of a service",
                 "[real][T63]") {
  const auto opening = store->hold(session_verb::open);
  auto& locks = service();
  const auto begun = std::chrono::steady_clock::now();
  CHECK(locks.acquire("k", {.wait = 20s}));
  CHECK(std::chrono::steady_clock::now() - begun < 15s);
}

TEST_CASE_METHOD(real_fixture, "real time: waiters are woken by a release, a cancellation and the end of the wait",
                 "[real][T33][T35]") {
  auto& locks = service();
  for (int i = 0; i < 50; ++i) {
    auto held = locks.acquire("k");
    std::stop_source stop;
    std::atomic<bool> over{false};
    std::thread waiter([&] {
      try {
        const auto mine = locks.acquire("k", {.wait = i % 3 == 0 ? 5ms : 60'000ms, .cancel = stop.get_token()});
      } catch (const error&) {
      }
      over = true;
    });
    if (i % 3 == 1) held.release();
    if (i % 3 == 2) stop.request_stop();
    REQUIRE(eventually([&] { return over.load(); }));
    waiter.join();
  }
}

TEST_CASE_METHOD(real_fixture, "real time: a service ends at once when nothing is held", "[real][T89]") {
  int prompt = 0;
  for (int i = 0; i < 20; ++i) {
    service().acquire("k").release();
    const auto begun = std::chrono::steady_clock::now();
    services.pop_back();
    if (std::chrono::steady_clock::now() - begun < 250ms) ++prompt;
  }
  CHECK(prompt >= 10);  // a machine may stall now and then
  CHECK(store->connections() == 0);
}
