// SPDX-License-Identifier: GPL-2.0-or-later

/// What a lock_service does on stores all of whose leases are kept by sessions, which the place ends by itself.

#include <array>
#include <atomic>
#include <catch2/generators/catch_generators.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "contract/service/service_contract.hpp"
#include "dlock/multi_lease.hpp"
#include "dlock/owner.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "kept only: one holder at a time, who waits gets the key, and the fence grows") {
  auto mine = a.locks.acquire("k");
  const auto first = mine.fencing_token();
  CHECK_FALSE(b.locks.try_acquire("k"));
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 20ms}); }) == errc::timed_out);
  CHECK(b.locks.try_acquire("other"));
  std::atomic<std::uint64_t> second{0};
  std::thread waiter([&] { second = b.locks.acquire("k", {.wait = 20s}).fencing_token(); });
  CHECK(eventually([&] { return b.store->count(verb::look) >= 2; }));
  CHECK(second == 0);
  mine.release();
  waiter.join();
  CHECK(second > first);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(service_fixture, "kept only: a free key is one statement, its release another, and re-entry none",
                 "[T41]") {
  a.locks.acquire("k").release();
  const auto before = a.locks.statements();
  auto outer = a.locks.acquire("k");
  CHECK(a.locks.statements() == before + 1);
  a.locks.acquire("k").release();
  CHECK_FALSE(is_free("k"));
  outer.release();
  CHECK(a.locks.statements() == before + 2);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(service_fixture, "kept only: a lease lasts longer than its ttl while its process lives", "[T13]") {
  const auto held = a.locks.acquire("k", {.ttl = 1s});
  pass(2500ms);
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(is_free("k"));
  CHECK(a.store->count(session_verb::renew) >= 4);
}

TEST_CASE_METHOD(service_fixture, "kept only: attempts without an answer hold nothing in the end", "[T14]") {
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  a.locks.acquire("old").release();
  for (const auto at : {verb::take, verb::insert}) a.store->next(at, {.what = fate});
  CHECK(thrown([&] { return a.locks.try_acquire("old"); }) == errc::outcome_unknown);
  a.store->forget_scripts();
  a.store->run_ghosts();
  CHECK(eventually([&] { return is_free("old"); }));
  for (const auto at : {verb::take, verb::insert}) a.store->next(at, {.what = fate});
  auto held = a.locks.acquire("old", {.wait = 20s});
  a.store->forget_scripts();
  a.store->run_ghosts();
  CHECK_FALSE(is_free("old"));
  held.release();
  CHECK(is_free("old"));
}

TEST_CASE_METHOD(service_fixture, "kept only: a release without an answer is repeated, a late one frees nobody's key",
                 "[T07][T08]") {
  for (const auto fate : {fate::drop, fate::ghost, fate::vanish}) {
    auto held = a.locks.acquire("k");
    a.store->next(verb::release, {.what = fate});
    CHECK_NOTHROW(held.release());
    const auto theirs = b.locks.try_acquire("k");
    REQUIRE(theirs);
    a.store->run_ghosts();
    CHECK_FALSE(a.locks.try_acquire("k"));
  }
}

TEST_CASE_METHOD(service_fixture, "kept only: a forced holder is told, and its key goes to the next", "[T15]") {
  auto forced = a.locks.acquire("k", {.ttl = 1s});
  const auto kin = a.locks.acquire("kin", {.ttl = 1s});
  CHECK(b.locks.force_release("k"));
  CHECK_FALSE(b.locks.force_release("nobody's"));
  CHECK(eventually([&] { return forced.lost_token().stop_requested() && kin.lost_token().stop_requested(); }));
  CHECK(forced.loss() == loss_reason::renewal_refused);
  CHECK(b.locks.acquire("k", {.wait = 20s}).fencing_token() > forced.fencing_token());
}

TEST_CASE_METHOD(service_fixture, "kept only: several keys are taken together, or none of them", "[T76]") {
  auto theirs = b.locks.acquire("c");
  CHECK_FALSE(a.locks.try_acquire_all({"d", "c", "b"}));
  for (const auto* key : {"b", "d"}) CHECK(is_free(key));
  multi_lease held;
  std::thread waiter([&] { held = a.locks.acquire_all({"b", "c", "d"}, {.wait = 20s}); });
  CHECK(eventually([&] { return a.store->count(verb::look) >= 2; }));
  CHECK(is_free("b"));  // it waits without them
  theirs.release();
  waiter.join();
  REQUIRE(held.size() == 3);
  for (const auto* key : {"b", "c", "d"}) CHECK_FALSE(is_free(key));
  held.release();
  for (const auto* key : {"b", "c", "d"}) CHECK(is_free(key));
}

TEST_CASE_METHOD(service_fixture, "kept only: who waited in vain leaves nothing in the way of the next", "[T90]") {
  auto mine = a.locks.acquire("k");
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 300ms}); }) == errc::timed_out);
  mine.release();
  process c{*place};
  CHECK(eventually([&] { return static_cast<bool>(c.locks.try_acquire("k")); }));
}

TEST_CASE_METHOD(service_fixture, "kept only: a closed service takes back what is held, and its holders are told",
                 "[T90]") {
  const auto kept = a.locks.acquire("kept", {.ttl = 1s});
  CHECK(a.locks.close(0ms, release_all) == std::vector<std::string>{"kept"});
  CHECK(kept.loss() == loss_reason::closed);
  CHECK(is_free("kept"));
}

TEST_CASE_METHOD(service_fixture, "kept only: what the store can't do is refused at the call, with its name",
                 "[capabilities]") {
  const auto names_store = [&](const std::string& text) { return text.find(a.locks.name()) != std::string::npos; };
  for (const auto how : {renewal::none, renewal::manual}) {
    CHECK(names_store(refusal([&] { return a.locks.try_acquire("k", {.ttl = 1s, .renewal = how}); })));
  }
  CHECK(names_store(refusal([&] { return a.locks.try_acquire("k", {.min_hold = 1s}); })));
  lock_service plain{place->open(), {.time = &place->time()}};
  const auto held = plain.acquire("k");
  CHECK(names_store(refusal([&] { return held.verification(); })));
}

TEST_CASE_METHOD(service_fixture, "kept only: many threads of several processes, never two on a key", "[T48][T57]") {
  constexpr int threads_in_all = 6, rounds = 12;
  std::array<process*, 2> all{&a, &b};
  std::atomic<int> inside{0}, wrong{0}, failed{0};
  int visits = 0;  // guarded by the lock alone
  std::vector<std::thread> threads;
  for (int t = 0; t < threads_in_all; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        try {
          const auto held = all[static_cast<std::size_t>(t % 2)]->locks.acquire("k", {.wait = 60s});
          if (++inside != 1) ++wrong;
          ++visits;
          --inside;
        } catch (const error&) {
          ++failed;
        }
      }
    });
  }
  for (auto& each : threads) each.join();
  CHECK(failed == 0);
  CHECK(wrong == 0);
  CHECK(visits == threads_in_all * rounds);
}

}  // namespace dlock::test
