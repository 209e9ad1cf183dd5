// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/generators/catch_generators.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "service: one holder at a time, the fence goes up by one") {
  auto mine = a.locks.acquire("k");
  CHECK(mine.fencing_token() == 1);
  CHECK_FALSE(b.locks.try_acquire("k"));
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 20ms}); }) == errc::timed_out);
  CHECK(b.locks.try_acquire("other"));
  mine.release();
  const auto theirs = b.locks.acquire("k");
  CHECK(theirs.fencing_token() == 2);
  CHECK_FALSE(a.locks.try_acquire("k"));
}

TEST_CASE_METHOD(service_fixture, "service: who waits gets the key soon after its release") {
  auto mine = a.locks.acquire("k");
  std::uint64_t fence = 0;
  std::thread waiter([&] { fence = b.locks.acquire("k", {.wait = 20s}).fencing_token(); });
  CHECK(eventually([&] { return b.store->count(verb::look) >= 2; }));
  mine.release();
  waiter.join();
  CHECK(fence == 2);
}

TEST_CASE_METHOD(service_fixture, "service: re-entry costs nothing and the outermost release frees the key",
                 "[T41][T43]") {
  auto outer = a.locks.acquire("k");
  const auto before = a.locks.statements();
  auto inner = a.locks.acquire("k");
  CHECK(a.locks.statements() == before);
  CHECK(inner.fencing_token() == outer.fencing_token());
  inner.release();
  CHECK_FALSE(b.locks.try_acquire("k"));
  outer.release();
  CHECK(b.locks.try_acquire("k"));
}

TEST_CASE_METHOD(service_fixture, "service: a known free key is one statement, its release another") {
  a.locks.acquire("k").release();
  const auto before = a.locks.statements();
  auto held = a.locks.acquire("k");
  CHECK(a.locks.statements() == before + 1);
  held.release();
  CHECK(a.locks.statements() == before + 2);
}

TEST_CASE_METHOD(service_fixture, "service: a lease lasts longer than its ttl while its process lives", "[T13]") {
  const auto held = a.locks.acquire("k", {.ttl = 1s});
  pass(2500ms);
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(b.locks.try_acquire("k"));
  CHECK(a.store->count(session_verb::renew) >= 4);
  const auto row = b.locks.holder("k");
  REQUIRE(row);
  CHECK(row->fence == held.fencing_token());
  CHECK(held.remaining() <= row->left + 1s);
}

TEST_CASE_METHOD(service_fixture, "service: a dead process's key is granted after its expiry, its lease is lost before",
                 "[T30][T91][T92]") {
  const bool kept = GENERATE(true, false);
  const lock_options options{.ttl = kept ? 1s : 300ms, .renewal = kept ? renewal::automatic : renewal::none};
  auto dead = a.locks.acquire("k", options);
  const auto granted = now();
  a.store->cut();
  const auto mine = b.locks.acquire("k", {.wait = 30s});
  CHECK(dead.remaining() == 0us);
  CHECK(now() - granted >= *options.ttl - 100ms);  // it was asked for a little before `granted`
  CHECK(mine.fencing_token() == dead.fencing_token() + 1);
  CHECK(eventually([&] { return dead.lost_token().stop_requested(); }));
  CHECK(thrown([&] { return dead.ensure_held(), 0; }) == errc::lost);

  // It comes back and wants to tidy up: nothing of ours is touched.
  a.store->cut(false);
  CHECK(thrown([&] { return dead.release(), 0; }) == errc::lost);
  pass(700ms);
  CHECK_NOTHROW(mine.ensure_held());
  const auto row = b.locks.holder("k");
  REQUIRE(row);
  CHECK(row->fence == mine.fencing_token());
}

TEST_CASE_METHOD(service_fixture, "service: of all who wait for a dead process's keys one gets each", "[T57]") {
  auto dead = a.locks.acquire("k", {.ttl = 1s});
  a.store->cut();
  std::vector<std::uint64_t> fences;  // guarded by the lock itself
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<process>> others;
  for (int i = 0; i < 3; ++i) others.push_back(std::make_unique<process>(*place));
  for (int i = 0; i < 9; ++i) {
    threads.emplace_back([&, i] {
      const auto mine = others[static_cast<std::size_t>(i % 3)]->locks.acquire("k", {.wait = 60s});
      fences.push_back(mine.fencing_token());
    });
  }
  for (auto& each : threads) each.join();
  REQUIRE(fences.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(fences[i] == dead.fencing_token() + 1 + i);
}

TEST_CASE_METHOD(service_fixture, "service: attempts without an answer hold nothing in the end", "[T14]") {
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  a.locks.acquire("old").release();
  for (const auto& [key, at] : {std::pair{"old", verb::take}, std::pair{"new", verb::insert}}) {
    a.store->next(at, {.what = fate});
    CHECK(thrown([&, name = key] { return a.locks.try_acquire(name); }) == errc::outcome_unknown);
    a.store->run_ghosts();
    CHECK(b.locks.try_acquire(key));

    a.store->next(at == verb::insert ? verb::look : at, {.what = fate});
    auto held = a.locks.acquire(key, {.wait = 20s});
    a.store->run_ghosts();
    CHECK_FALSE(b.locks.try_acquire(key));
    held.release();
    CHECK(b.locks.try_acquire(key));
  }
  const auto nonces = a.store->nonces();
  CHECK(std::set<std::uint64_t>(nonces.begin(), nonces.end()).size() == nonces.size());
}

TEST_CASE_METHOD(service_fixture, "service: a release without an answer is repeated, a late one frees nobody's key",
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

TEST_CASE_METHOD(service_fixture, "service: a forced holder is told, and its key goes to the next", "[T15]") {
  auto forced = a.locks.acquire("k", {.ttl = 1s});
  const auto kin = a.locks.acquire("kin", {.ttl = 1s});
  CHECK(b.locks.force_release("k"));
  CHECK_FALSE(b.locks.force_release("nobody's"));
  const auto row = b.locks.holder("k");
  CHECK((!row || row->revoked));
  CHECK(eventually([&] { return forced.lost_token().stop_requested() && kin.lost_token().stop_requested(); }));
  CHECK(forced.loss() == loss_reason::renewal_refused);
  CHECK(b.locks.acquire("k", {.wait = 20s}).fencing_token() == forced.fencing_token() + 1);
}

TEST_CASE_METHOD(service_fixture, "service: operators see who holds what", "[T22]") {
  const auto kept = a.locks.acquire("kept", {.ttl = 60s});
  const auto own = b.locks.acquire("own", {.ttl = 10s, .renewal = renewal::none});
  CHECK_FALSE(a.locks.holder("nobody's"));
  const auto row = b.locks.holder("kept");
  REQUIRE(row);
  CHECK(row->key == "kept");
  CHECK(row->fence == kept.fencing_token());
  CHECK(row->kind == lease_kind::session);
  CHECK(row->left > 50s);
  CHECK(row->left <= 60s);
  const auto all = a.locks.held_keys();
  REQUIRE(all.size() == 2);
  CHECK(all[0].key == "kept");
  CHECK(all[1].key == "own");
  CHECK(all[1].kind == lease_kind::expiring);
  CHECK(own.remaining() <= all[1].left);
  CHECK(a.locks.held_keys(1).size() == 1);
  CHECK(a.locks.held_keys(10, "kept").size() == 1);
}

TEST_CASE_METHOD(service_fixture, "service: what an expiry of its own keeps is forced at once, and no later grant",
                 "[T15]") {
  auto forced = a.locks.acquire("own", {.ttl = 60s, .renewal = renewal::manual});
  CHECK(b.locks.force_release("own"));
  CHECK_FALSE(b.locks.holder("own"));
  const auto next = b.locks.try_acquire("own");
  CHECK(next.fencing_token() == forced.fencing_token() + 1);
  CHECK_THROWS_AS(forced.renew(), lock_lost);
  CHECK(forced.loss() == loss_reason::taken_over);
  CHECK(next.loss() == loss_reason::none);
  CHECK(b.locks.holder("own")->fence == next.fencing_token());
}

TEST_CASE_METHOD(service_fixture, "service: the rest of a min_hold is forced", "[T15]") {
  a.locks.acquire("job", {.min_hold = 1h}).release();
  CHECK_FALSE(b.locks.try_acquire("job"));
  CHECK(b.locks.force_release("job"));
  CHECK(b.locks.try_acquire("job"));
}

TEST_CASE_METHOD(service_fixture, "service: a closed one takes back what is held, and its holders are told", "[T90]") {
  const auto kept = a.locks.acquire("kept", {.ttl = 1s});
  const auto own = a.locks.acquire("own", {.ttl = 60s, .renewal = renewal::none});
  auto keys = a.locks.close(0ms, release_all);
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"kept", "own"});
  CHECK(kept.loss() == loss_reason::closed);
  CHECK(own.lost_token().stop_requested());
  CHECK(b.locks.try_acquire("kept"));
  CHECK(b.locks.try_acquire("own"));
}

TEST_CASE_METHOD(service_fixture, "service: renew() by hand prolongs an expiry of its own", "[T12]") {
  auto held = a.locks.acquire("k", {.ttl = 600ms, .renewal = renewal::manual});
  for (int i = 0; i < 4; ++i) {
    pass(250ms);
    held.renew();
  }
  CHECK_FALSE(b.locks.try_acquire("k"));
  CHECK_NOTHROW(held.ensure_held());
  CHECK(b.locks.acquire("k", {.wait = 20s}).fencing_token() == 2);  // once nobody renews it
  CHECK(held.remaining() == 0us);
}

TEST_CASE_METHOD(service_fixture, "service: min_hold keeps a released key, max_hold ends a held one", "[T10][T20]") {
  b.locks.acquire("first").release();  // has its session, and connects no more
  const auto begun = now();
  a.locks.acquire("min", {.min_hold = 1s}).release();
  CHECK_FALSE(b.locks.try_acquire("min"));
  CHECK(b.locks.acquire("min", {.wait = 20s}).fencing_token() == 2);
  CHECK(now() - begun >= 1s);

  auto wedged = a.locks.acquire("max", {.max_hold = 200ms});
  CHECK(b.locks.acquire("max", {.wait = 20s}).fencing_token() == 2);
  CHECK(wedged.remaining() == 0us);
  CHECK(wedged.loss() == loss_reason::max_hold);
}

TEST_CASE_METHOD(service_fixture, "service: ended, it leaves nothing behind but what is still held", "[T17][T90]") {
  auto brief = std::make_unique<process>(*place);
  auto held = brief->locks.acquire("k", {.ttl = 1s});
  brief->locks.acquire("gone").release();
  const auto seen_by = brief->store;
  brief.reset();
  pass(1500ms);
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(b.locks.try_acquire("k"));
  held.release();
  CHECK(seen_by->connections() == 0);
  CHECK(a.locks.held_keys().empty());
  CHECK(b.locks.try_acquire("k"));
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
          if (++counter.inside != 1 || held.fencing_token() != counter.last + 1) ++counter.wrong;
          counter.last = held.fencing_token();
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
