// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with readers and permits. Of stores with capabilities::shares.

#include "contract/service/service_contract.hpp"

namespace dlock::test {

namespace {

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

}  // namespace

TEST_CASE_METHOD(service_fixture, "mode: readers and writers of several processes are never inside together") {
  std::atomic<int> readers{0}, writers{0}, wrong{0}, together{0};
  crowd_of(*this, 6, 12, [&](lock_service& locks, int who) {
    if (who < 2) {
      const auto held = locks.acquire("k", {.wait = 60s});
      if (++writers != 1 || readers != 0) ++wrong;
      --writers;
    } else {
      const auto held = locks.acquire("k", {.wait = 60s, .mode = shared});
      if (++readers > 1) ++together;
      if (writers != 0) ++wrong;
      std::this_thread::yield();
      --readers;
    }
  });
  CHECK(wrong == 0);
  CHECK_FALSE(a.locks.holder("k"));
}

TEST_CASE_METHOD(service_fixture, "mode: of several processes no more hold permits than there are") {
  std::atomic<int> inside{0}, wrong{0};
  crowd_of(*this, 8, 12, [&](lock_service& locks, int) {
    const auto held = locks.acquire("k", {.wait = 60s, .mode = one_of(3)});
    if (++inside > 3) ++wrong;
    std::this_thread::yield();
    --inside;
  });
  CHECK(wrong == 0);
  CHECK_FALSE(a.locks.holder("k"));
}

TEST_CASE_METHOD(service_fixture, "mode: a writer that becomes a reader lets others read, and keeps writers out") {
  std::atomic<int> readers{0}, writers{0}, wrong{0};
  crowd_of(*this, 6, 8, [&](lock_service& locks, int who) {
    if (who < 3) {
      auto held = locks.acquire("k", {.wait = 60s});
      if (++writers != 1 || readers != 0) ++wrong;
      ++readers;  // before others may read
      --writers;
      held.downgrade();
      if (writers != 0) ++wrong;
      std::this_thread::yield();
      if (writers != 0) ++wrong;
      --readers;
    } else {
      const auto held = locks.acquire("k", {.wait = 60s, .mode = shared});
      ++readers;
      if (writers != 0) ++wrong;
      std::this_thread::yield();
      --readers;
    }
  });
  CHECK(wrong == 0);
  CHECK_FALSE(a.locks.holder("k"));
}

TEST_CASE_METHOD(service_fixture, "mode: readers of another process that wait are in soon after the writer reads") {
  auto held = a.locks.acquire("k", {.ttl = 30s});
  auto reader = std::async(std::launch::async, [&] {
    b.locks.acquire("k", {.wait = 60s, .mode = shared}).release();
    return held.fencing_token();
  });
  CHECK(reader.wait_for(50ms) == std::future_status::timeout);
  held.downgrade();
  CHECK(reader.wait_for(10s) == std::future_status::ready);
}

TEST_CASE_METHOD(service_fixture, "mode: a process that was cut off has lost its permit before another one gets it") {
  const auto held = a.locks.acquire("k", {.ttl = 1s, .mode = one_of(1)});
  CHECK_FALSE(granted(b.locks.try_acquire("k", {.mode = one_of(1)})));
  a.store->cut();
  const auto next = b.locks.acquire("k", {.wait = 20s, .mode = one_of(1)});
  CHECK(held.remaining() == 0us);
  a.store->cut(false);
}

}  // namespace dlock::test
