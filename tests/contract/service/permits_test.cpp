// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with permits. Of stores that have them.

#include <future>

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "mode: of several processes no more hold permits than there are") {
  std::atomic<int> inside{0}, wrong{0};
  crowd_of(*this, 8, 12, [&](lock_service& locks, int) {
    const auto held = locks.acquire("k", {.wait = 60s, .mode = one_of(3)});
    if (++inside > 3) ++wrong;
    std::this_thread::yield();
    --inside;
  });
  CHECK(wrong == 0);
  CHECK(eventually([&] { return !a.locks.holder("k"); }));
}

TEST_CASE_METHOD(service_fixture, "mode: a permit that is released comes to a caller of another process that waits") {
  auto held = a.locks.acquire("k", {.mode = one_of(2)});
  const auto other = a.locks.acquire("k", {.reentry = reentry::busy, .mode = one_of(2)});
  CHECK_FALSE(granted(b.locks.try_acquire("k", {.mode = one_of(2)})));
  CHECK(granted(b.locks.try_acquire("k", {.mode = one_of(3)})));
  auto waiter = std::async(std::launch::async, [&] { return b.locks.acquire("k", {.wait = 60s, .mode = one_of(2)}); });
  REQUIRE(eventually([&] { return b.waits(); }));
  held.release();
  const auto got = waiter.get();
  CHECK(got.remaining() > 0us);
  CHECK_FALSE(granted(a.locks.try_acquire("k", {.reentry = reentry::busy, .mode = one_of(2)})));
}

TEST_CASE_METHOD(service_fixture, "mode: operators see all who have permits and revoke them") {
  const auto mine = a.locks.acquire("k", {.ttl = 1s, .mode = one_of(2)});
  const auto theirs = b.locks.acquire("k", {.ttl = 1s, .mode = one_of(2)});
  CHECK(a.locks.holders("k").size() == 2);
  CHECK(b.locks.force_release("k"));
  CHECK(eventually([&] { return mine.remaining() == 0us && theirs.remaining() == 0us; }));
  const auto next = a.locks.acquire("k", {.wait = 60s, .reentry = reentry::busy, .mode = one_of(1)});
  CHECK(next.remaining() > 0us);
}

}  // namespace dlock::test
