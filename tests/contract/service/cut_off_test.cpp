// SPDX-License-Identifier: BSL-1.0

/// What becomes of the keys of a service that can't reach its store any more, as if its process had died. Of stores to
/// which the two look alike: one that keeps its session by itself lives as long as the process, and tests of processes
/// kill that.

#include "contract/service/service_contract.hpp"
#include "dlock/multi_lease.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "lease: a dead process's key is granted after its expiry, and it takes nothing back",
                 "[T01][T30][T91][T92]") {
  const bool renewed = !can.expiring_leases || GENERATE(true, false);
  const lock_options options{.ttl = renewed || fixture->rounding() > 0us ? 1s : 300ms,
                             .renewal = renewed ? renewal::automatic : renewal::none};
  const auto asked = now();
  auto dead = a.locks.acquire("k", options);
  a.store->cut();
  auto mine = b.locks.try_acquire("k");
  if (!mine) mine = b.locks.acquire("k", {.wait = 30s});
  CHECK(dead.remaining() == 0us);
  CHECK(now() - asked >= *options.ttl - 5ms);  // never before, whichever attempt it was
  CHECK(follows(fence_of(mine), fence_of(dead)));
  CHECK(eventually([&] { return dead.lost_token().stop_requested(); }));
  CHECK(thrown([&] { return dead.ensure_held(), 0; }) == errc::lost);

  // It comes back and wants to tidy up: nothing of ours is touched.
  a.store->cut(false);
  CHECK(thrown([&] { return dead.release(), 0; }) == errc::lost);
  pass(700ms);
  CHECK_NOTHROW(mine.ensure_held());
  CHECK_FALSE(is_free("k"));
  const auto row = b.locks.holder("k");
  REQUIRE(row);
  CHECK(row->fence == fence_of(mine));
}

TEST_CASE_METHOD(service_fixture, "lease: of all who wait for a dead process's keys one gets each", "[T57]") {
  auto dead = a.locks.acquire("k", {.ttl = 1s});
  a.store->cut();
  std::vector<std::uint64_t> fences;  // guarded by the lock itself
  std::vector<std::unique_ptr<process>> others;
  for (int i = 0; i < 3; ++i) others.push_back(std::make_unique<process>(*fixture));
  on_threads(9, [&](int i) {
    const auto mine = others[static_cast<std::size_t>(i % 3)]->locks.acquire("k", {.wait = 60s});
    fences.push_back(fence_of(mine));
  });
  REQUIRE(fences.size() == 9);
  auto last = fence_of(dead);
  for (const auto fence : fences) {
    CHECK(follows(fence, last));
    last = fence;
  }
}

TEST_CASE_METHOD(service_fixture, "several keys: a dead process's are taken over, its multi_lease is lost before",
                 "[T30][T91]") {
  lock_service next{fixture->open(),
                    {.release_limit = 5s,
                     .close_limit = 0ms,
                     .cleanup_interval = 0ms,
                     .time = &fixture->time()}};  // with its batches
  auto dead = a.locks.acquire_all({"a", "b"}, {.ttl = 1s});
  const std::map<std::string, std::uint64_t, std::less<>> last{{"a", fence_of(dead["a"])}, {"b", fence_of(dead["b"])}};
  a.store->cut();
  const auto mine = next.acquire_all({"a", "b", "c"}, {.wait = 30s});
  CHECK(dead.remaining() == 0us);
  for (const auto& each : mine) {
    // Leases with an expiry each don't end together: the first may be taken, and given back for want of the second.
    if (each.key() == "c") continue;
    const auto was = last.at(std::string(each.key()));
    CHECK((can.session_leases ? follows(fence_of(each), was) : !can.fence || fence_of(each) > was));
  }
  CHECK(eventually([&] { return dead.lost_token().stop_requested(); }));
  a.store->cut(false);
  CHECK(thrown([&] { return dead.release(), 0; }) == errc::lost);
  CHECK_NOTHROW(mine.ensure_held());
  CHECK(b.locks.holder("a")->fence == fence_of(mine["a"]));
}

}  // namespace dlock::test
