// SPDX-License-Identifier: BSL-1.0

/// Permits of a service that can't reach its store. Of stores to which such a service looks dead.

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "mode: a process that was cut off has lost its permit before another one gets it") {
  const auto held = a.locks.acquire("k", {.ttl = 1s, .mode = one_of(1)});
  CHECK_FALSE(granted(b.locks.try_acquire("k", {.mode = one_of(1)})));
  a.store->cut();
  const auto next = b.locks.acquire("k", {.wait = 20s, .mode = one_of(1)});
  CHECK(held.remaining() == 0us);
  a.store->cut(false);
}

}  // namespace dlock::test
