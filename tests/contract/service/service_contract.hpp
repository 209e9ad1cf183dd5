// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a lock_service does on every store. Time flows here, on a store's own clock: these tests are about what store
/// and engine do together; the engine alone is tested under a virtual clock in tests/service.

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/owner.hpp"
#include "dlock/store_interface/clock.hpp"
#include "support/calls.hpp"
#include "support/faulty_store.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// A process as the locks see it. Its store can be given faults, or cut off: as if the process had died.
struct process {
  explicit process(store_fixture& at)
      : store(std::make_shared<faulty_store>(at.open())),
        locks(store, {.release_limit = 5s, .close_limit = 0ms, .cleanup_interval = 0ms, .time = &at.time()}) {}
  /// Whether somebody here has come to wait for a busy key, and hears of its release where the store tells that.
  bool waits() const { return store->count(verb::poll) >= 2 && (!store->caps().tells_free() || store->notified() > 0); }
  std::shared_ptr<faulty_store> store;
  lock_service locks;
};

struct service_fixture {
  std::unique_ptr<store_fixture> fixture = make_store_fixture();
  process a{*fixture};
  process b{*fixture};

  const capabilities can = a.store->caps();

  /// Its fencing token; 0 where there are none.
  std::uint64_t fence_of(const lease& held) const { return can.fence ? held.fencing_token() : 0; }
  /// Whether that may be the token of the grant after the one with the token `last`; 0: of the first.
  bool follows(std::uint64_t fence, std::uint64_t last) const {
    if (!can.fence) return true;
    return can.consecutive_fences ? fence == last + 1 : fence > last;
  }
  instant now() { return fixture->time().now(); }
  void pass(microseconds time) {
    const auto end = now() + time;
    CHECK(eventually([&] { return now() >= end; }, 20s + std::chrono::ceil<std::chrono::milliseconds>(time)));
  }
  /// For somebody who holds nothing.
  bool is_free(const lock_key& key) {
    const owner_scope foreign;
    return granted(b.locks.try_acquire(key));
  }
  /// Whether the lease, asked for at that time and renewed since, is held. A slow machine may have lost it: when
  /// nothing had renewed it for its ttl, and never while the key was free before that showed. Those are failures,
  /// whatever the machine does.
  bool still_held(const lease& held, const lock_key& key, instant asked, microseconds ttl) {
    if (held.remaining() == 0us) CHECK(now() - asked >= ttl * 3 / 4);
    if (!is_free(key)) return held.remaining() > 0us;
    CHECK(held.remaining() == 0us);
    return false;
  }
};

/// Those who have the key "k", and what must not be: a writer beside somebody else.
struct readers_and_writers {
  void read(lock_service& by) {
    const auto held = by.acquire("k", {.wait = 60s, .mode = shared});
    ++readers;
    if (writers != 0) ++wrong;
    std::this_thread::yield();
    --readers;
  }
  std::atomic<int> readers{0}, writers{0}, wrong{0};
};

/// Some threads of two processes take and release a key for a while.
template <class Body>
void crowd_of(service_fixture& in, int threads, int rounds, const Body& body) {
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round) body(i % 2 == 0 ? in.a.locks : in.b.locks, i);
    });
  }
}

}  // namespace dlock::test
