// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with keys that stay taken after their release. Of stores with capabilities::min_hold.

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "lease: min_hold keeps a released key, until it is forced", "[T10][T15]") {
  b.locks.acquire("first").release();  // has its session, and connects no more
  const auto begun = now();
  auto held = a.locks.acquire("min", {.min_hold = 1s});
  const auto fence = fence_of(held);
  held.release();
  auto next = b.locks.try_acquire("min");
  if (!next) next = b.locks.acquire("min", {.wait = 20s});
  CHECK(follows(fence_of(next), fence));
  CHECK(now() - begun >= 1s);  // whichever attempt it was
  next.release();

  a.locks.acquire("job", {.min_hold = 1h}).release();
  CHECK_FALSE(granted(b.locks.try_acquire("job")));
  CHECK(b.locks.force_release("job"));
  CHECK(granted(b.locks.try_acquire("job")));
}

}  // namespace dlock::test
