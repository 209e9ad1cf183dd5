// SPDX-License-Identifier: BSL-1.0
/// What a lock_service does with several keys at once on every store. The services here are straight on the store, so
/// that its own batches run.

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "contract/service/service_contract.hpp"
#include "dlock/multi_lease.hpp"
#include "dlock/owner.hpp"
#include "support/granted.hpp"

namespace dlock::test {

struct multi_service_fixture {
  std::unique_ptr<store_fixture> fixture = make_store_fixture();
  const capabilities can = fixture->open()->caps();
  service_options options{.release_limit = 5s, .close_limit = 0ms, .cleanup_interval = 0ms, .time = &fixture->time()};
  lock_service a{fixture->open(), options};
  lock_service b{fixture->open(), options};

  std::uint64_t fence_of(const lease& held) const { return can.fence ? held.fencing_token() : 0; }
  /// Whether it may be the token of the grant so many after the first.
  bool is_fence(const lease& held, std::uint64_t grants) const {
    if (!can.fence) return true;
    return fixture->counts_grants() ? held.fencing_token() == grants : held.fencing_token() >= grants;
  }
  bool is_free(const lock_key& key) {
    const owner_scope foreign;
    return granted(b.try_acquire(key));
  }
};

TEST_CASE_METHOD(multi_service_fixture, "several keys: new, known and held ones are taken together, and all released",
                 "[T76][T77]") {
  b.acquire("known").release();
  b.acquire("also known").release();
  const auto outer = a.acquire("mine");
  {
    auto held = a.acquire_all({"new", "known", "mine", "also known", "new"});
    REQUIRE(held.size() == 4);
    CHECK(is_fence(held["known"], 2));
    CHECK(is_fence(held["also known"], 2));
    CHECK(is_fence(held["new"], 1));
    CHECK(held["mine"].reentered());
    for (const auto& each : held) CHECK_FALSE(is_free(lock_key(each.key())));
    for (const auto& each : held) {
      const auto row = b.holder(lock_key(each.key()));
      REQUIRE(row);
      CHECK(row->fence == fence_of(each));
    }
    held.release();
  }
  CHECK(is_free("new"));
  CHECK(is_free("known"));
  CHECK(is_free("also known"));
  CHECK_FALSE(is_free("mine"));
}

TEST_CASE_METHOD(multi_service_fixture, "several keys: one that is busy keeps all from being taken", "[T76]") {
  for (const auto* key : {"a", "b", "c", "d"}) b.acquire(key).release();
  auto theirs = b.acquire("c");
  CHECK_FALSE(a.try_acquire_all({"d", "c", "b", "a"}));
  std::string text;
  try {
    static_cast<void>(a.acquire_all({"a", "c"}, {.wait = 50ms}));
  } catch (const lock_timeout& e) {
    text = e.what();
  }
  CHECK(text.starts_with("dlock: key 'c': still busy after "));
  if (can.session_leases && !fixture->hides_holders()) CHECK(text.find("held by") != std::string::npos);
  for (const auto* key : {"a", "b", "d"}) CHECK(is_free(key));
  CHECK_NOTHROW(theirs.ensure_held());
  multi_lease held;
  const auto before = a.statements();
  std::thread waiter([&] { held = a.acquire_all({"a", "b", "c", "d"}, {.wait = 20s}); });
  CHECK(eventually([&] { return a.statements() >= before + 4; }));
  // It waits without the others. They are not tried here: it would find them busy, and is told to try again itself.
  CHECK(eventually([&] { return !b.holder("a") && !b.holder("b") && !b.holder("d"); }));
  theirs.release();
  waiter.join();
  CHECK(held.size() == 4);
  CHECK_FALSE(is_free("a"));
}

TEST_CASE_METHOD(multi_service_fixture, "several keys: threads of two processes with random sets, never two on a key",
                 "[T76][T48]") {
  constexpr std::size_t keys = 5;
  struct counter {
    std::atomic<int> inside{0};
    std::uint64_t last = 0;  // guarded by the lock alone
  };
  std::array<counter, keys> data;
  std::atomic<int> wrong{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 10; ++i) {
        std::array<std::size_t, keys> order{0, 1, 2, 3, 4};
        std::shuffle(order.begin(), order.end(), random);
        std::vector<std::string> names;
        for (std::size_t k = 0; k <= random() % keys; ++k) names.push_back("k" + std::to_string(order[k]));
        try {
          const auto held =
              (t % 2 == 0 ? a : b).acquire_all(names, {.wait = 60s, .retry = {.pause = 1ms, .max_pause = 5ms}});
          for (const auto& each : held) {
            auto& counter = data[static_cast<std::size_t>(each.key().back() - '0')];
            if (++counter.inside != 1 || (can.fence && fence_of(each) <= counter.last)) ++wrong;
            counter.last = fence_of(each);
          }
          for (const auto& each : held) --data[static_cast<std::size_t>(each.key().back() - '0')].inside;
        } catch (const error&) {
          ++failed;
        }
      }
    });
  }
  for (auto& each : threads) each.join();
  CHECK(wrong == 0);
  CHECK(failed == 0);
  CHECK(a.held_keys().empty());
}

}  // namespace dlock::test
