// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with leases that a session keeps which outlives its connections.

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "session: a forced holder is told, and its key goes to the next", "[T15]") {
  auto forced = a.locks.acquire("k", {.ttl = 10s});
  const auto kin = a.locks.acquire("kin", {.ttl = 10s});
  CHECK(b.locks.force_release("k"));
  CHECK_FALSE(b.locks.force_release("nobody's"));
  const auto row = b.locks.holder("k");
  CHECK((!row || row->revoked));
  CHECK(eventually([&] { return forced.lost_token().stop_requested() && kin.lost_token().stop_requested(); }));
  CHECK(forced.loss() == loss_reason::renewal_refused);
  CHECK(follows(fence_of(b.locks.acquire("k", {.wait = 60s})), fence_of(forced)));
}

}  // namespace dlock::test
