// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does on every store: who gets a key, and what it costs.

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "contract/service/service_contract.hpp"
#include "support/granted.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "service: one holder at a time, who waits gets the key, with the next fence") {
  auto mine = a.locks.acquire("k");
  const auto first = fence_of(mine);
  CHECK(follows(first, 0));
  CHECK_FALSE(b.locks.try_acquire("k"));
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 20ms}); }) == errc::timed_out);
  CHECK(b.locks.try_acquire("other"));
  std::atomic<bool> got{false};
  lease theirs;
  std::thread waiter([&] {
    theirs = b.locks.acquire("k", {.wait = 20s});
    got = true;
  });
  CHECK(eventually([&] { return b.waits(); }));
  CHECK_FALSE(got);
  mine.release();
  waiter.join();
  CHECK(got);
  CHECK(follows(fence_of(theirs), first));
  CHECK_FALSE(a.locks.try_acquire("k"));
}

TEST_CASE_METHOD(service_fixture, "service: re-entry costs nothing and the outermost release frees the key",
                 "[T41][T43]") {
  auto outer = a.locks.acquire("k");
  const auto before = a.locks.statements();
  auto inner = a.locks.acquire("k");
  CHECK(a.locks.statements() == before);
  CHECK(fence_of(inner) == fence_of(outer));
  inner.release();
  CHECK(a.locks.statements() == before);
  CHECK_FALSE(is_free("k"));
  outer.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(service_fixture, "service: a known free key is one statement, its release another") {
  a.locks.acquire("k").release();
  // On a slow machine it may be held for so long that its release looks for a waiter.
  const auto looks = [&] { return fixture->looks_apart() ? a.store->looked() : 0; };
  const auto before = a.locks.statements() - looks();
  auto held = a.locks.acquire("k");
  CHECK(a.locks.statements() - looks() == before + 1);
  held.release();
  CHECK(a.locks.statements() - looks() == before + 2);
}

TEST_CASE_METHOD(service_fixture, "service: who waited in vain leaves nothing in the way of the next", "[T39][T90]") {
  auto mine = a.locks.acquire("k");
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 300ms}); }) == errc::timed_out);
  mine.release();
  process c{*fixture};
  CHECK(eventually([&] { return granted(c.locks.try_acquire("k")); }));
}

TEST_CASE_METHOD(service_fixture, "service: attempts that fail leave neither key nor connection behind", "[T80]") {
  const auto held = a.locks.acquire("k");
  for (const auto* key : {"free", "unanswered"}) b.locks.acquire(key).release();
  CHECK_FALSE(b.locks.try_acquire_all({"free", "k"}));
  const auto connections = b.store->connections();
  for (int i = 0; i != 60; ++i) {
    CHECK_FALSE(b.locks.try_acquire("k"));
    CHECK_FALSE(b.locks.try_acquire_all({"free", "k"}));
    if (i % 5 != 0) continue;
    for (const auto at : {verb::take, verb::insert}) b.store->next(at, {.what = fate::drop});
    CHECK(thrown([&] { return b.locks.try_acquire("unanswered"); }) == errc::outcome_unknown);
    b.store->forget_scripts();
  }
  CHECK(eventually([&] { return is_free("free") && is_free("unanswered"); }));
  CHECK(b.store->connections() <= connections + 3);  // what was not answered is settled over others
  CHECK(a.locks.held_keys().size() == 1);
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(service_fixture, "service: many threads of several processes, never two on a key, no fence twice",
                 "[T48][T57]") {
  constexpr std::size_t keys = 2;
  constexpr int rounds = 15;
  struct counter {
    std::atomic<int> inside{0};
    std::uint64_t last = 0;  // guarded by the lock alone
    int visits = 0;
    std::atomic<int> wrong{0};
  };
  std::array<counter, keys> data;
  std::array<process*, 2> all{&a, &b};
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        auto& counter = data[static_cast<std::size_t>(i + t) % keys];
        const auto key = "k" + std::to_string((i + t) % static_cast<int>(keys));
        try {
          const auto held = all[static_cast<std::size_t>(t % 2)]->locks.acquire(
              key, {.wait = 60s, .retry = {.pause = 1ms, .max_pause = 5ms}});
          // Not the next one to the number: a grant whose answer did not come in time is given back.
          if (++counter.inside != 1 || (can.fence && fence_of(held) <= counter.last)) ++counter.wrong;
          counter.last = fence_of(held);
          ++counter.visits;
          --counter.inside;
        } catch (const error&) {
          ++failed;
        }
      }
    });
  }
  for (auto& each : threads) each.join();
  CHECK(failed == 0);
  CHECK(data[0].visits + data[1].visits == 6 * rounds);
  for (auto& each : data) CHECK(each.wrong == 0);
}

}  // namespace dlock::test
