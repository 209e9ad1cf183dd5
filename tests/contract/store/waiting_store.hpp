// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Store objects, as other processes have them, that wait for a key until a release wakes them.

#include "base/mutex.hpp"
#include "contract/store/store_contract.hpp"
#include "dlock/lock_service.hpp"
#include "support/calls.hpp"
#include "support/counting_listener.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Of a service that does not look at a key again of its own accord while a test lasts.
inline service_options patient() {
  return {.defaults = {.ttl = 60s, .wait = 60s, .retry = {.pause = 1h, .max_pause = 1h}},
          .close_limit = 0ms,
          .cleanup_interval = 0ms};
}

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
  /// It has heard that it polls, and can be woken again once it has begun anew.
  void check_begins_anew(actor& holder);

  const std::string key;
  std::shared_ptr<dlock::store> store;
  counting_listener listener{};
};

/// Releases a key, and looks for a waiter.
inline reply release_and_wake(actor& by, std::uint64_t fence, microseconds min_hold = microseconds{0}) {
  return by.run(
      {.action = verb::release, .resource = "k", .session = by.id, .fence = fence, .min_hold = min_hold, .wake = true});
}

/// Releases the key and takes it again: a look that finds it held woke nobody. The fence; `woken`: how many were.
inline std::uint64_t release_and_take(actor& by, std::uint64_t fence, unsigned& woken) {
  const auto freed = release_and_wake(by, fence);
  REQUIRE(answer(freed) == outcome::yes);
  woken = freed.waiters;
  return by.acquire("k");
}

inline void waiting_store::check_begins_anew(actor& holder) {
  CHECK(eventually([&] { return listener.no == 1; }));
  unwatch();
  watch();
  CHECK(works());
  CHECK(eventually([&] { return release_and_wake(holder, holder.acquire("k")).waiters == 1; }));
}

/// `other` polls for "k", and gets it from `one`. `meanwhile`: while it polls.
inline void check_polls(
    lock_service& one, lock_service& other, const std::function<void()>& meanwhile = [] {}) {
  std::optional<lease> held = one.acquire("k");
  auto waits = std::async(std::launch::async, [&] { return granted(other.acquire("k", {.wait = 60s})); });
  REQUIRE(eventually([&] { return other.statements() > 5; }));
  meanwhile();
  held.reset();
  CHECK(waits.get());
}

/// A key that one process holds, and another one that asks for it in order.
struct ordered_key {
  explicit ordered_key(store_fixture& at) : one(at), other(at) {}

  actor one, other;
  std::uint64_t fence = one.acquire("k");

  void let_go() { REQUIRE(answer(one.release("k", fence)) == outcome::yes); }
  /// Asks for the key in order, as a process that is registered, or not.
  reply take(actor& by, bool registered = false) {
    return by.run({.action = verb::take,
                   .resource = "k",
                   .session = by.id,
                   .nonce = ++by.nonce,
                   .in_order = true,
                   .registered = registered});
  }
  reply poll(actor& by, bool registered = false) {
    return by.run(
        {.action = verb::poll, .resource = "k", .session = by.id, .in_order = true, .registered = registered});
  }
};

}  // namespace dlock::test
