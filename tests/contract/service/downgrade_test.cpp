// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with an exclusive lease that becomes a shared one. Of stores where that is possible.

#include <atomic>
#include <future>
#include <thread>

#include "contract/service/service_contract.hpp"

namespace dlock::test {

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

}  // namespace dlock::test
