// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with an exclusive lease that becomes a shared one. Of stores where that is possible.

#include <future>
#include <thread>

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "mode: a writer that becomes a reader lets others read, and keeps writers out") {
  readers_and_writers in;
  crowd_of(*this, 6, 8, [&](lock_service& locks, int who) {
    if (who >= 3) return in.read(locks);
    auto held = locks.acquire("k", {.wait = 60s});
    if (++in.writers != 1 || in.readers != 0) ++in.wrong;
    ++in.readers;  // before others may read
    --in.writers;
    held.downgrade();
    if (in.writers != 0) ++in.wrong;
    std::this_thread::yield();
    if (in.writers != 0) ++in.wrong;
    --in.readers;
  });
  CHECK(in.wrong == 0);
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
