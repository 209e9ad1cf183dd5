// SPDX-License-Identifier: GPL-2.0-or-later

/// What a lock_service does with leases that a session keeps which outlives its connections.

#include <memory>
#include <thread>
#include <vector>

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "session: a forced holder is told, and its key goes to the next", "[T15]") {
  auto forced = a.locks.acquire("k", {.ttl = 1s});
  const auto kin = a.locks.acquire("kin", {.ttl = 1s});
  CHECK(b.locks.force_release("k"));
  CHECK_FALSE(b.locks.force_release("nobody's"));
  const auto row = b.locks.holder("k");
  CHECK((!row || row->revoked));
  CHECK(eventually([&] { return forced.lost_token().stop_requested() && kin.lost_token().stop_requested(); }));
  CHECK(forced.loss() == loss_reason::renewal_refused);
  CHECK(follows(fence_of(b.locks.acquire("k", {.wait = 20s})), fence_of(forced)));
}

TEST_CASE_METHOD(service_fixture, "session: of all who wait for a dead process's keys one gets each", "[T57]") {
  if (place->keeps_by_itself()) SKIP("this process is not dead; the tests of processes kill one");
  auto dead = a.locks.acquire("k", {.ttl = 1s});
  a.store->cut();
  std::vector<std::uint64_t> fences;  // guarded by the lock itself
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<process>> others;
  for (int i = 0; i < 3; ++i) others.push_back(std::make_unique<process>(*place));
  for (int i = 0; i < 9; ++i) {
    threads.emplace_back([&, i] {
      const auto mine = others[static_cast<std::size_t>(i % 3)]->locks.acquire("k", {.wait = 60s});
      fences.push_back(fence_of(mine));
    });
  }
  for (auto& each : threads) each.join();
  REQUIRE(fences.size() == 9);
  auto last = fence_of(dead);
  for (const auto fence : fences) {
    CHECK(follows(fence, last));
    last = fence;
  }
}

}  // namespace dlock::test
