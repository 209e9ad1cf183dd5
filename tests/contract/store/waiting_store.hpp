// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Store objects, as other processes have them, that wait for a key until a release wakes them.

#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "contract/store/store_contract.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "support/eventually.hpp"
#include "support/granted.hpp"

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

/// Two services wait for a key, one after the other. `polls` makes a URL of a service that polls.
inline void check_that_a_service_tells_who_waits(const store_fixture& fixture, const std::string& polls,
                                                 const service_options& how) {
  const auto named = [&](const char* label) {
    auto made = how;
    made.label = label;
    return made;
  };
  lock_service service(fixture.url(), how), first(fixture.url(), named("first")),
      second(fixture.url(), named("second")), quiet(fixture.url() + polls, how);
  std::optional<lease> held = service.acquire("k");
  const auto waiting = [&] { return service.waiters("k"); };
  CHECK(waiting().known);
  CHECK(waiting().count == 0);
  CHECK(service.held_keys().at(0).waiters == 0U);
  auto one = std::async(std::launch::async, [&] { return granted(first.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().count == 1; }));
  auto two = std::async(std::launch::async, [&] { return granted(second.acquire("k")); });
  REQUIRE(eventually([&] { return waiting().count == 2; }));
  const auto all = waiting().first;
  REQUIRE(all.size() == 2);
  CHECK(all[0].label == "first");
  CHECK(all[0].pid == ::getpid());
  CHECK_FALSE(all[0].host.empty());
  CHECK(all[0].waited > microseconds{0});
  CHECK(all[1].label == "second");
  CHECK(service.waiters("k", 1).count == 2);
  CHECK(service.waiters("k", 1).first.size() == 1);
  CHECK(service.held_keys().at(0).waiters == 2U);
  CHECK_FALSE(quiet.waiters("k").known);
  CHECK_FALSE(quiet.held_keys().at(0).waiters);
  held.reset();
  CHECK(one.get());
  CHECK(two.get());
}

}  // namespace dlock::test
