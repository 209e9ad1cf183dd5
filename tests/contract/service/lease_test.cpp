// SPDX-License-Identifier: GPL-2.0-or-later

/// What a lock_service does on every store that lacks what lease tables have: its leases end by an expiry of their own, or with
/// a connection. Expiries may be rounded up to seconds here.

#include <atomic>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/service/service_contract.hpp"
#include "dlock/owner.hpp"

namespace dlock::test {

namespace {

struct lease_fixture : service_fixture {
  const capabilities can = a.store->caps();
};

}  // namespace

TEST_CASE_METHOD(lease_fixture, "lease: one holder at a time, and who waits gets the key soon after its release") {
  auto mine = a.locks.acquire("k");
  CHECK_FALSE(b.locks.try_acquire("k"));
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 20ms}); }) == errc::timed_out);
  CHECK(b.locks.try_acquire("other"));
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    const auto theirs = b.locks.acquire("k", {.wait = 20s});
    got = true;
  });
  CHECK(eventually([&] { return b.store->count(verb::look) >= 2; }));
  CHECK_FALSE(got);
  mine.release();
  waiter.join();
  CHECK(got);
}

TEST_CASE_METHOD(lease_fixture, "lease: acquired ten times and released nine times, a key is still held", "[T41]") {
  std::vector<lease> held;
  const owner me;  // one request, whatever its leases stand in
  {
    const owner_scope here{me};
    for (int i = 0; i < 10; ++i) held.push_back(a.locks.acquire("k", {.ttl = 10s, .wait = 1s}));
  }
  const auto sent = a.locks.statements();
  for (int i = 0; i < 9; ++i) {
    held.back().release();
    held.pop_back();
  }
  CHECK(a.locks.statements() == sent);
  CHECK_FALSE(is_free("k"));
  held.back().release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(lease_fixture, "lease: work longer than the ttl keeps the key, because the service renews the lease",
                 "[T13]") {
  const auto held = a.locks.acquire("k", {.ttl = 1s});
  pass(4s);
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(b.locks.try_acquire("k"));
  CHECK(a.store->count(verb::extend) + a.store->count(session_verb::renew) >= 4);
}

TEST_CASE_METHOD(lease_fixture, "lease: a dead process's key is granted after its expiry, and it takes nothing back",
                 "[T01][T91]") {
  auto dead = a.locks.acquire("k", {.ttl = 1s});
  const auto granted = now();
  a.store->cut();
  const auto mine = b.locks.acquire("k", {.wait = 30s});
  CHECK(dead.remaining() == 0us);
  CHECK(now() - granted >= 900ms);
  CHECK(eventually([&] { return dead.lost_token().stop_requested(); }));
  a.store->cut(false);
  CHECK(thrown([&] { return dead.release(), 0; }) == errc::lost);
  pass(700ms);
  CHECK_NOTHROW(mine.ensure_held());
  CHECK_FALSE(is_free("k"));
}

TEST_CASE_METHOD(lease_fixture, "lease: attempts without an answer hold nothing in the end", "[T14]") {
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  a.locks.acquire("old").release();
  for (const char* key : {"old", "new"}) {
    INFO(key);
    // Where a take may wait, a look comes first, and then an insert.
    for (const auto at : {verb::take, verb::insert}) a.store->next(at, {.what = fate});
    CHECK(thrown([&] { return a.locks.try_acquire(key); }) == errc::outcome_unknown);
    a.store->forget_scripts();
    a.store->run_ghosts();
    CHECK(eventually([&] { return is_free(key); }));

    for (const auto at : {verb::take, verb::insert}) a.store->next(at, {.what = fate});
    auto held = a.locks.acquire(key, {.wait = 20s});
    a.store->forget_scripts();
    a.store->run_ghosts();
    CHECK_FALSE(is_free(key));
    held.release();
    CHECK(is_free(key));
  }
}

TEST_CASE_METHOD(lease_fixture, "lease: a release without an answer is repeated, and a late one frees nobody's key",
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

TEST_CASE_METHOD(lease_fixture, "lease: a fencing token is given or refused, as the store's table has it") {
  const auto held = a.locks.acquire("k");
  if (can.fence) {
    CHECK(held.fencing_token() > 0);
    CHECK(b.locks.holder("k")->fence == held.fencing_token());
    return;
  }
  const auto text = refusal([&] { return held.fencing_token(); });
  CHECK(text.find(a.locks.name()) != std::string::npos);
  CHECK(text.find("no fencing tokens") != std::string::npos);
  CHECK(b.locks.holder("k")->fence == 0);
}

TEST_CASE_METHOD(lease_fixture, "lease: what the store can't do is refused at the call, before any statement",
                 "[capabilities]") {
  const auto sent = a.locks.statements();
  const auto names_store = [&](const std::string& text) { return text.find(a.locks.name()) != std::string::npos; };
  if (!can.min_hold) {
    CHECK(names_store(refusal([&] { return a.locks.try_acquire("k", {.min_hold = 1s}); })));
    CHECK(names_store(refusal([&] { return a.locks.try_acquire_all({"k", "l"}, {.min_hold = 1s}); })));
  }
  if (!can.any_key) {
    CHECK(names_store(refusal([&] { return a.locks.try_acquire(std::string(200, 'x')); })));
    CHECK(names_store(refusal([&] { return a.locks.try_acquire_all({"k", "\xff\xfe"}); })));
  }
  CHECK(a.locks.statements() == sent);
  lock_service plain{place->open(), {.time = &place->time()}};
  const auto held = plain.acquire("k");
  if (place->open()->transactions() == nullptr) CHECK(names_store(refusal([&] { return held.verification(); })));
}

TEST_CASE_METHOD(lease_fixture, "lease: many threads of several processes, never two on a key", "[T48][T57]") {
  constexpr int threads_in_all = 6, rounds = 12;
  std::array<process*, 2> all{&a, &b};
  std::atomic<int> inside{0}, wrong{0}, failed{0};
  int visits = 0;  // guarded by the lock alone
  std::vector<std::thread> threads;
  for (int t = 0; t < threads_in_all; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        try {
          const auto held = all[static_cast<std::size_t>(t % 2)]->locks.acquire(
              "k", {.wait = 60s, .retry = {.pause = 1ms, .max_pause = 5ms}});
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
