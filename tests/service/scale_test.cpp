// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator{});
}

/// Without those that connect: they end as soon as they have done so.
std::ptrdiff_t threads_at_rest() {
  constexpr std::ptrdiff_t resting = 1 + 3 + 3;  // this one, and the services under test and of the fixture
  static_cast<void>(eventually([] { return threads_now() <= resting; }, std::chrono::seconds{5}));
  return threads_now();
}

}  // namespace

TEST_CASE_METHOD(engine_fixture,
                 "scale: ten thousand held locks need no more connections, threads or renewals than one",
                 "[scale][T21][T69]") {
  constexpr int locks_held = 10'000;
  auto settings = options();
  settings.connections = 3;
  settings.observer = nullptr;
  const auto locks = service(settings);
  std::vector<lease> held;
  held.push_back(locks->acquire("first"));
  const auto threads = threads_at_rest();
  for (int i = 1; i < locks_held; ++i) held.push_back(locks->acquire("k" + std::to_string(i)));
  CHECK(threads_at_rest() == threads);
  CHECK(store->most_connections() <= 3 + 1);  // and that of the keeper
  CHECK(store->opened().size() == 1);

  CHECK(live_on(held.back(), 60s, 30s));
  CHECK(store->count(session_verb::renew) == 6);  // one for each third of the ttl
  for (const auto& each : held) each.ensure_held();
  CHECK(threads_at_rest() == threads);

  held.clear();
  CHECK(store->count(verb::release) == locks_held);
  CHECK(locks->held_keys().empty());
}

TEST_CASE_METHOD(engine_fixture, "scale: one connection serves sixty-four threads", "[scale][T68]") {
  auto settings = options();
  settings.connections = 1;
  settings.observer = nullptr;
  const auto locks = service(settings);
  std::atomic<int> done{0};
  on_threads(64, [&](int i) {
    const owner_scope here;
    for (int round = 0; round < 20; ++round) {
      const auto own = locks->acquire("own" + std::to_string(i), {.wait = 1h});
      const auto common = locks->acquire("common", {.wait = 1h});
      ++done;
    }
  });
  CHECK(done == 64 * 20);
  CHECK(store->most_connections() <= 2);
  CHECK(locks->held_keys().empty());
}

TEST_CASE_METHOD(engine_fixture, "scale: a hundred thousand keys neither block each other nor stay behind",
                 "[scale][T05]") {
  const auto locks = service([](auto& settings) { settings.observer = nullptr; });
  constexpr int batches = 100;
  constexpr int each_batch = 1'000;
  int refused = 0;
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<lease> held;
    held.reserve(each_batch);
    for (int i = 0; i < each_batch; ++i) {
      const owner_scope here;
      held.push_back(locks->try_acquire("key:" + std::to_string(batch * each_batch + i)));
      if (!held.back()) ++refused;
    }
  }
  CHECK(refused == 0);
  CHECK(locks->held_keys().empty());
  CHECK(store->count(verb::insert) == batches * each_batch);
  CHECK(store->count(verb::release) == batches * each_batch);
}

TEST_CASE_METHOD(engine_fixture, "scale: an idle service is quiet", "[scale]") {
  const auto locks = service();
  const auto held = locks->acquire("k");
  CHECK(live_on(held, 60s, 30s));
  CHECK(locks->statements() == 3);
  CHECK(store->count(session_verb::renew) == 6);
  CHECK(store->count(verb::cancel) + store->count(verb::release) == 0);
}
