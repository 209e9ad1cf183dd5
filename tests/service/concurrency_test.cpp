// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"
#include "service/torture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

void visit(guarded& data, const lease& held) {
  data.enter(held.fencing_token());
  data.leave();
}

}  // namespace

TEST_CASE_METHOD(engine_fixture, "concurrency: threads of several services, never two on one key, fences in order",
                 "[concurrency]") {
  constexpr int services = 3;
  constexpr int threads_each = 4;
  constexpr int rounds = 300;
  constexpr std::size_t keys = 5;
  std::array<guarded, keys> data;
  std::vector<std::unique_ptr<lock_service>> all;
  for (int i = 0; i < services; ++i) all.push_back(foreign());
  std::atomic<int> granted{0};
  while_time_passes([&] {
    on_threads(services * threads_each, [&](int t) {
      std::mt19937 random(static_cast<unsigned>(t));
      auto& locks = *all[static_cast<std::size_t>(t % services)];
      for (int i = 0; i < rounds; ++i) {
        const auto k = random() % keys;
        const auto key = "k" + std::to_string(k);
        auto held = random() % 2 == 0 ? locks.try_acquire(key)
                                      : locks.acquire(key, {.wait = 1h, .retry = {.pause = 1ms, .max_pause = 5ms}});
        if (!held) continue;
        visit(data[k], held);
        ++granted;
        if (random() % 4 == 0) held.release();
      }
    });
  });
  CHECK(granted > rounds);
  for (auto& each : data) CHECK(each.wrong == 0);
}

TEST_CASE_METHOD(engine_fixture, "concurrency: with faults all over, never two on one key, nothing stays behind",
                 "[concurrency][T80]") {
  constexpr std::size_t keys = 3;
  std::array<guarded, keys> data;
  std::vector<std::unique_ptr<lock_service>> all;
  for (int i = 0; i < 2; ++i) all.push_back(service([](auto& settings) { settings.observer = nullptr; }));
  std::optional<mischief> faults(std::in_place, store, 7U, 0U);
  while_time_passes([&] {
    on_threads(8, [&](int t) {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 25; ++i) {
        const auto k = random() % keys;
        try {
          const auto held = all[static_cast<std::size_t>(t % 2)]->acquire(
              "k" + std::to_string(k), {.wait = 2s, .retry = {.pause = 1ms, .max_pause = 5ms}});
          visit(data[k], held);
        } catch (const error&) {  // a fault, a timeout: no lease
        }
      }
    });
  });
  faults.reset();
  for (auto& each : data) CHECK(each.wrong == 0);
  // The row of a key may stay: on a busy machine this clock outruns a session, which then ends before all of its
  // releases were tried. It is free all the same.
  CHECK(as_time_passes([&] { return std::ranges::all_of(all[0]->held_keys(), &holder_info::dead); }));
}

TEST_CASE_METHOD(engine_fixture, "concurrency: leases end by release, loss and expiry at the same time",
                 "[concurrency]") {
  const auto locks = service([](auto& settings) { settings.observer = nullptr; });
  std::atomic<int> ended{0};
  while_time_passes([&] {
    on_threads(6, [&](int t) {
      for (int i = 0; i < 100; ++i) {
        const auto key = "k" + std::to_string(t) + "." + std::to_string(i);
        auto held = locks->acquire(key, {.ttl = 10ms, .renewal = renewal::none, .max_hold = 5ms});
        if (i % 10 == 0) std::this_thread::sleep_for(1ms);
        static_cast<void>(thrown([&] { held.release(); }));
        ++ended;
      }
    });
  });
  CHECK(ended == 600);
  CHECK(at_rest_after(10ms));
  CHECK(locks->held_keys().empty());
  CHECK(locks->close(0ms).empty());
}

TEST_CASE("concurrency: threads that lock several mutexes in different orders take few of them for nothing",
          "[concurrency][mutex]") {
  constexpr int threads = 4;
  constexpr int rounds = 40;
  const auto store = std::make_shared<faulty_store>(std::make_shared<stores::memory_store>());
  lock_service locks(store);
  // As long as a database takes: who is in the middle of a release is in the way of those who try.
  const auto slow = [] { std::this_thread::sleep_for(200us); };
  store->next(verb::take, {.times = 1'000'000, .during = slow});
  store->next(verb::release, {.times = 1'000'000, .during = slow});
  distributed_mutex a{locks, "a", {.wait = 1h}};
  distributed_mutex b{locks, "b", {.wait = 1h}};
  int count = 0;  // no atomic: the locks are what protects it
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i != threads; ++i) {
      workers.emplace_back([&, forth = i % 2 == 0] {
        for (int round = 0; round != rounds; ++round) {
          const std::scoped_lock both(forth ? a : b, forth ? b : a);
          count = count + 1;
        }
      });
    }
  }
  CHECK(count == threads * rounds);
  // Two to take, two to free, and as much again for each round that failed. Without pauses these are many more.
  UNSCOPED_INFO(locks.statements());
  CHECK(locks.statements() <= 12 * threads * rounds);
}
