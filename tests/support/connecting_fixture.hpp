// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "dlock/stores/memory.hpp"
#include "engine/connection_pool.hpp"
#include "support/eventually.hpp"
#include "support/faulty_store.hpp"

namespace dlock::test {

using namespace std::chrono_literals;
using detail::connection_pool;

struct connecting_fixture {
  stores::virtual_clock clock;
  std::shared_ptr<faulty_store> where = std::make_shared<faulty_store>(std::make_shared<stores::memory_store>(clock));
  fault why;

  connection_pool::loan get(connection_pool& pool, std::chrono::milliseconds wait = 0ms) {
    return pool.get(clock.now() + wait, 2s, why);
  }
  std::shared_ptr<gate> hold_connects() {
    auto at = std::make_shared<gate>();
    where->hold_connects(at);
    return at;
  }
  /// Fills the pool: so many idle connections.
  void fill(connection_pool& pool, std::size_t count) {
    std::vector<connection_pool::loan> loans;
    for (std::size_t i = 0; i < count; ++i) loans.push_back(get(pool));
    for (const auto& each : loans) REQUIRE(each);
  }
};

/// Somebody who asks for a connection on a thread of his own, and keeps it until he is let go.
class asker {
 public:
  template <class F>
  explicit asker(F get)
      : thread_([this, get] {
          const auto on = get(why);
          got_ = static_cast<bool>(on);
          number = on ? (*on).identity().id : 0;
          answered = true;
          static_cast<void>(eventually([this] { return go_.load(); }));
        }) {}
  ~asker() { end(); }
  asker(const asker&) = delete;
  asker& operator=(const asker&) = delete;
  bool got() {
    REQUIRE(eventually([this] { return answered.load(); }));
    return got_;
  }
  void end() {
    go_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::atomic<bool> answered{false};
  fault why{};
  std::uint64_t number = 0;

 private:
  bool got_ = false;
  std::atomic<bool> go_{false};
  std::thread thread_;
};

}  // namespace dlock::test
