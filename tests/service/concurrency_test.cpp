// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// What a lock protects: sees two at a time, and a fence that is not greater than the last.
struct guarded {
  std::atomic<int> inside{0};
  std::uint64_t last_fence = 0;  // guarded by the lock alone: a data race if that fails
  std::atomic<int> wrong{0};

  void visit(const lease& lease) {
    if (++inside != 1) ++wrong;
    if (lease.fencing_token() <= last_fence) ++wrong;
    last_fence = lease.fencing_token();
    --inside;
  }
};

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
    std::vector<std::thread> threads;
    for (int t = 0; t < services * threads_each; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        auto& locks = *all[static_cast<std::size_t>(t % services)];
        for (int i = 0; i < rounds; ++i) {
          const auto k = random() % keys;
          const auto key = "k" + std::to_string(k);
          auto held = random() % 2 == 0 ? locks.try_acquire(key)
                                        : locks.acquire(key, {.wait = 1h, .retry = {.pause = 1ms, .max_pause = 5ms}});
          if (!held) continue;
          data[k].visit(held);
          ++granted;
          if (random() % 4 == 0) held.release();
        }
      });
    }
    for (auto& each : threads) each.join();
  });
  CHECK(granted > rounds);
  for (auto& each : data) CHECK(each.wrong == 0);
}

TEST_CASE_METHOD(engine_fixture, "concurrency: with faults all over, never two on one key, nothing stays behind",
                 "[concurrency][T80]") {
  constexpr std::size_t keys = 3;
  std::array<guarded, keys> data;
  std::vector<std::unique_ptr<lock_service>> all;
  auto settings = options();
  settings.observer = nullptr;
  for (int i = 0; i < 2; ++i) all.push_back(service(settings));
  std::atomic<bool> over{false};
  std::thread mischief([&] {
    std::mt19937 random(7);
    constexpr std::array verbs{verb::take, verb::insert, verb::poll, verb::take_over, verb::release, verb::cancel};
    constexpr std::array fates{fate::drop, fate::ghost, fate::vanish};
    while (!over) {
      store->next(verbs[random() % verbs.size()], {.what = fates[random() % fates.size()]});
      store->settles(random() % 4 != 0);
      if (random() % 8 == 0) store->run_ghosts();
      std::this_thread::sleep_for(300us);
    }
    store->settles(true);
    store->forget_scripts();
  });
  while_time_passes([&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        for (int i = 0; i < 25; ++i) {
          const auto k = random() % keys;
          try {
            const auto held = all[static_cast<std::size_t>(t % 2)]->acquire(
                "k" + std::to_string(k), {.wait = 2s, .retry = {.pause = 1ms, .max_pause = 5ms}});
            data[k].visit(held);
          } catch (const error&) {  // a fault, a timeout: no lease
          }
        }
      });
    }
    for (auto& each : threads) each.join();
  });
  over = true;
  mischief.join();
  store->run_ghosts();
  for (auto& each : data) CHECK(each.wrong == 0);
  // The row of a key may stay: on a busy machine this clock outruns a session, which then ends before all of its
  // releases were tried. It is free all the same.
  CHECK(eventually([&] {
    clock.advance(100ms);
    return std::ranges::all_of(all[0]->held_keys(), &holder_info::dead);
  }));
}

TEST_CASE_METHOD(engine_fixture, "concurrency: leases end by release, loss and expiry at the same time",
                 "[concurrency]") {
  auto settings = options();
  settings.observer = nullptr;
  const auto locks = service(settings);
  std::atomic<int> ended{0};
  while_time_passes([&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          const auto key = "k" + std::to_string(t) + "." + std::to_string(i);
          auto held = locks->acquire(key, {.ttl = 10ms, .renewal = renewal::none, .max_hold = 5ms});
          if (i % 10 == 0) std::this_thread::sleep_for(1ms);
          static_cast<void>(thrown([&] { held.release(); }));
          ++ended;
        }
      });
    }
    for (auto& each : threads) each.join();
  });
  CHECK(ended == 600);
  clock.advance(10ms);
  CHECK(clock.at_rest());
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
