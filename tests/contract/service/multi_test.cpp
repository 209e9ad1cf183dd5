// SPDX-License-Identifier: GPL-2.0-or-later
/// What a lock_service does with several keys at once on every store. The services here are straight on the store, so that
/// its own batches run.

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

namespace dlock::test {

struct multi_service_fixture {
  std::unique_ptr<store_place> place = make_store_place();
  service_options options{.close_limit = 0ms, .sweep_every = 0ms, .time = &place->time()};
  lock_service a{place->open(), options};
  lock_service b{place->open(), options};

  bool is_free(const lock_key& key) {
    const owner_scope stranger;
    return static_cast<bool>(b.try_acquire(key));
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
    CHECK(held["known"].fencing_token() == 2);
    CHECK(held["also known"].fencing_token() == 2);
    CHECK(held["new"].fencing_token() == 1);
    CHECK(held["mine"].reentered());
    for (const auto& each : held) CHECK_FALSE(is_free(lock_key(each.key())));
    for (const auto& each : held) {
      const auto row = b.holder(lock_key(each.key()));
      REQUIRE(row);
      CHECK(row->fence == each.fencing_token());
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
  CHECK(text.starts_with("dlock: key 'c': waited "));
  CHECK(text.find("held by") != std::string::npos);
  for (const auto* key : {"a", "b", "d"}) CHECK(is_free(key));
  CHECK_NOTHROW(theirs.ensure_held());
  multi_lease held;
  std::thread waiter([&] { held = a.acquire_all({"a", "b", "c", "d"}, {.wait = 20s}); });
  CHECK(eventually([&] { return is_free("a") && is_free("d"); }));  // it waits without them
  theirs.release();
  waiter.join();
  CHECK(held.size() == 4);
  CHECK_FALSE(is_free("a"));
}

TEST_CASE_METHOD(multi_service_fixture, "several keys: a dead process's are taken over, its multi_lease is lost before",
                 "[T30][T91]") {
  process dying(*place);
  auto dead = dying.locks.acquire_all({"a", "b"}, {.ttl = 1s});
  dying.store->cut();
  const auto mine = a.acquire_all({"a", "b", "c"}, {.wait = 30s});
  CHECK(dead.remaining() == 0us);
  CHECK(mine["a"].fencing_token() == 2);
  CHECK(mine["b"].fencing_token() == 2);
  CHECK(eventually([&] { return dead.lost_token().stop_requested(); }));
  dying.store->cut(false);
  CHECK(thrown([&] { return dead.release(), 0; }) == errc::lost);
  CHECK_NOTHROW(mine.ensure_held());
  CHECK(b.holder("a")->fence == 2);
}

TEST_CASE_METHOD(multi_service_fixture, "several keys: of one expiry when they have their own", "[T12]") {
  for (const auto* key : {"a", "b", "c"}) b.acquire(key).release();
  const auto held = a.acquire_all({"a", "b", "c"}, {.ttl = 10s, .renewal = renewal::none});
  const auto row = b.holder("a");
  REQUIRE(row);
  CHECK(row->kind == lease_kind::expiring);
  CHECK(row->left <= 10s);
  CHECK(held.remaining() <= row->left);
  CHECK(held.remaining() > 5s);
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
            if (++counter.inside != 1 || each.fencing_token() <= counter.last) ++wrong;
            counter.last = each.fencing_token();
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
