// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Store objects, as other processes have them, that wait for a key until a release wakes them.

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "contract/store/store_contract.hpp"
#include "support/eventually.hpp"

namespace dlock::test {

struct listening final : key_listener {
  std::atomic<int> yes{0}, no{0};
  void may_be_free(bool works) noexcept override { ++(works ? yes : no); }
};

/// Counts the reasons why waiters poll, and keeps the last one.
struct heard final : store_listener {
  void renew_now() noexcept override {}
  void lock_deleted(std::string_view, const id128&, std::uint64_t) noexcept override {}
  void waiters_poll(std::string_view why) noexcept override {
    const base::lock_guard lock(mutex);
    ++reasons;
    last = why;
  }
  std::string text() {
    const base::lock_guard lock(mutex);
    return last;
  }
  base::mutex mutex{};
  std::atomic<int> reasons{0};
  std::string last{};
};

struct waiting_store {
  explicit waiting_store(store_fixture& at, std::string of = "k") : waiting_store(at.open(), std::move(of)) {}
  explicit waiting_store(std::shared_ptr<dlock::store> with, std::string of = "k")
      : key(std::move(of)), store(std::move(with)) {
    watch();
  }
  ~waiting_store() { unwatch(); }
  void watch() { store->watch(key, id128::random(), listener); }
  void unwatch() { store->unwatch(key, {}, listener); }
  bool works() {
    return eventually([&] { return listener.yes > listener.no; });
  }
  const std::string key;
  std::shared_ptr<dlock::store> store;
  listening listener{};
};

/// Releases a key, and looks for a waiter.
inline reply release_and_wake(actor& by, std::uint64_t fence, microseconds min_hold = microseconds{0}) {
  return by.run(
      {.action = verb::release, .resource = "k", .session = by.id, .fence = fence, .min_hold = min_hold, .wake = true});
}

/// A batch frees three keys, two of which other stores wait for.
inline void check_that_a_batch_wakes_each(store_fixture& fixture, actor& holder) {
  std::vector<std::string> keys{"a", "b", "c"};
  std::vector<request> frees;
  for (const auto& key : keys) {
    frees.push_back(
        {.action = verb::release, .resource = key, .session = holder.id, .fence = holder.acquire(key), .wake = true});
  }
  waiting_store a(fixture, "a"), c(fixture, "c");
  REQUIRE(a.works());
  REQUIRE(c.works());
  std::vector<reply> replies(keys.size());
  holder.store->execute(*holder.connection, frees, replies);
  for (const auto& each : replies) CHECK(answer(each) == outcome::yes);
  CHECK(replies[0].waiters == 1);
  CHECK(replies[1].waiters == 0);
  CHECK(replies[2].waiters == 1);
}

}  // namespace dlock::test
