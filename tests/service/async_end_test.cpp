// SPDX-License-Identifier: BSL-1.0
// Asynchronous calls: the end of services and leases, renewals, transactions of the calling thread, cancellation.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "service/async_fixture.hpp"
#include "service/fake_transactions.hpp"

using namespace dlock;
using namespace dlock::test;

// ---- the end of a service -------------------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: each of thousands who wait is told once that the service is closed",
                 "[async]") {
  constexpr std::size_t many = 5000;
  const bool destroyed = GENERATE(false, true);
  const auto rival = foreign();
  std::vector<lease> theirs;
  for (std::size_t i = 0; i < 8; ++i) theirs.push_back(rival->acquire("theirs " + std::to_string(i), {.ttl = 1h}));
  auto locks = service([](auto& settings) { settings.close_limit = 1h; });
  std::vector<std::atomic<int>> handled(many);
  std::atomic<std::size_t> closed{0};
  for (std::size_t i = 0; i < many; ++i) {
    locks->async_acquire("theirs " + std::to_string(i % 8), {.wait = 1h},
                         [&, i](const std::exception_ptr& failure, const lease&) {
                           ++handled[i];
                           closed += code_of(failure) == errc::closed ? 1 : 0;
                         });
  }
  settle();
  CHECK(std::all_of(handled.begin(), handled.end(), [](const auto& each) { return each == 0; }));
  if (destroyed) {
    locks.reset();  // its destructor waits until they have been told
  } else {
    locks->close(1h);
  }
  CHECK(std::all_of(handled.begin(), handled.end(), [](const auto& each) { return each == 1; }));
  CHECK(closed == many);
}

TEST_CASE_METHOD(async_fixture, "async: a service may be destroyed by a handler", "[async]") {
  auto locks = std::make_shared<lock_service>(store, options());
  std::atomic<int> handled{0};
  auto& service = *locks;
  service.async_acquire("k", {}, [locks, &handled](const std::exception_ptr&, const lease&) mutable {
    locks.reset();
    ++handled;
  });
  locks.reset();
  CHECK(eventually([&] { return handled == 1; }));
  CHECK(eventually([&] { return is_free("k"); }));
  settle();
}

TEST_CASE_METHOD(async_fixture,
                 "async: a handler that ends its service waits for no handler that it keeps from running", "[async]") {
  const bool destroyed = GENERATE(true, false);
  constexpr std::size_t others = 3;
  const auto rival = foreign();
  const auto theirs = rival->acquire("theirs", {.ttl = 1h});
  auto settings = options();
  settings.close_limit = 1h;
  std::atomic<std::size_t> handled{0}, before{0}, after{0};
  std::atomic<bool> over{false};
  auto locks = std::make_shared<lock_service>(store, settings);
  for (std::size_t i = 0; i < others; ++i) {
    locks->async_acquire("theirs", {.wait = 1h}, [&](const std::exception_ptr& failure, const lease&) {
      handled += code_of(failure) == errc::closed ? 1 : 0;
      after += over ? 1 : 0;
    });
  }
  settle();
  auto& service = *locks;
  service.async_acquire("k", {}, [&, mine = std::move(locks)](const std::exception_ptr&, lease held) mutable {
    held = {};
    if (destroyed) {
      mine.reset();
    } else {
      mine->close(1h);
    }
    before = handled.load();
    over = true;
  });
  CHECK(eventually([&] { return over.load(); }));
  if (!over) clock.advance(2h);
  settle();
  CHECK(before == others);
  CHECK(after == 0);
}

TEST_CASE_METHOD(async_fixture, "async: handlers that end their service one inside the other are each called once",
                 "[async]") {
  constexpr std::size_t many = 50;
  const auto rival = foreign();
  const auto theirs = rival->acquire("theirs", {.ttl = 1h});
  std::atomic<std::size_t> handled{0};
  for (std::size_t i = 0; i < many; ++i) {
    home->async_acquire("theirs", {.wait = 1h}, [&](const std::exception_ptr&, const lease&) {
      home->close(1h);
      ++handled;
    });
  }
  settle();
  CHECK(home->close(1h).empty());
  CHECK(eventually([&] { return handled == many; }));
  settle();
}

TEST_CASE_METHOD(async_fixture, "async: a lease that outlives its service is released", "[async]") {
  auto locks = service();
  lease held = locks->acquire("k");
  locks.reset();
  CHECK_FALSE(is_free("k"));
  std::atomic<int> handled{0};
  async_release(std::move(held), [&](const std::exception_ptr& failure) { handled += failure == nullptr ? 1 : 100; });
  CHECK(eventually([&] { return handled == 1; }));
  settle();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: a lost lease that outlives its service by far is released", "[async]") {
  const bool used = GENERATE(true, false);  // the service had threads for it, which have ended
  auto locks = service([](auto& settings) { settings.close_limit = 1h; });
  if (used) {
    locks->async_try_acquire("other", {}, [](const std::exception_ptr&, const lease&) {});
    settle();
  }
  lease held = locks->acquire("k", {.ttl = 1s, .renewal = renewal::none});
  settle_after(2s);
  locks.reset();
  std::atomic<int> handled{0};
  async_release(std::move(held),
                [&](const std::exception_ptr& failure) { handled += code_of(failure) == errc::lost ? 1 : 100; });
  CHECK(eventually([&] { return handled == 1; }));
  settle();
}

// ---- releases, renewals, several keys -------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: a release tells what release() would throw", "[async]") {
  std::error_code lost, unanswered;
  auto mine = home->acquire("lost", {.ttl = 1s, .renewal = renewal::none});
  clock.advance(2s);
  async_release(std::move(mine), [&](const std::exception_ptr& failure) { lost = code_of(failure); });
  CHECK_FALSE(mine);
  settle();
  CHECK(lost == errc::lost);
  auto held = home->acquire("k");
  store->next(verb::release, {.what = fate::fail, .why = denied, .times = 1});
  async_release(std::move(held), [&](const std::exception_ptr& failure) { unanswered = code_of(failure); });
  settle();
  CHECK(unanswered == errc::outcome_unknown);
  settle_after(600ms);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: a renewal by hand extends the lease, or tells that it is lost", "[async]") {
  const auto mine = home->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  std::vector<std::error_code> handled;
  const auto tell = [&](const std::exception_ptr& failure) { handled.push_back(code_of(failure)); };
  clock.advance(5s);
  async_renew(mine, tell);
  settle();
  CHECK(mine.remaining() > 9s);
  async_renew(mine, 60s, tell);
  settle();
  CHECK(mine.remaining() > 50s);
  clock.advance(70s);
  async_renew(mine, tell);
  settle();
  REQUIRE(handled.size() == 3);
  CHECK(handled[0] == std::error_code());
  CHECK(handled[1] == std::error_code());
  CHECK(handled[2] == errc::lost);
}

TEST_CASE_METHOD(async_fixture, "async: several keys are granted together, or waited for together", "[async][multi]") {
  const auto rival = foreign();
  auto theirs = rival->acquire("b", {.ttl = 1h});
  std::stop_source stop;
  multi_lease all;
  std::error_code late, cancelled;
  home->async_acquire_all({"a", "b", "c"}, {.wait = 1h},
                          [&](const std::exception_ptr&, multi_lease held) { all = std::move(held); });
  home->async_acquire_all({"b", "d"}, {.wait = 1s},
                          [&](const std::exception_ptr& failure, const multi_lease&) { late = code_of(failure); });
  home->async_acquire_all({"b", "e"}, {.wait = 1h, .cancel = stop.get_token()},
                          [&](const std::exception_ptr& failure, const multi_lease&) { cancelled = code_of(failure); });
  settle();
  CHECK_FALSE(all);
  for (const auto* key : {"a", "c", "d", "e"}) CHECK(is_free(key));
  stop.request_stop();
  settle();
  CHECK(cancelled == errc::cancelled);
  for (int i = 0; i < 12; ++i) settle_after(100ms);
  CHECK(late == errc::timed_out);
  theirs.release();
  settle_after(1s);
  REQUIRE(all.size() == 3);
  CHECK_FALSE(is_free("a"));
  std::error_code released = errc::lost;
  async_release(std::move(all), [&](const std::exception_ptr& failure) { released = code_of(failure); });
  settle();
  CHECK(released == std::error_code());
  for (const auto* key : {"a", "b", "c"}) CHECK(is_free(key));
}

// ---- transactions of the calling thread -----------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: an acquire inside a transaction of the calling thread is told", "[async]") {
  const fake_transaction open(*store);
  async_lock mine(*this, "k");
  mine.acquire();
  settle();
  CHECK(mine.held());
  CHECK(seen->count(event::kind::in_transaction) == 1);
}

TEST_CASE_METHOD(async_fixture, "async: a release inside a transaction of the calling thread waits for its end",
                 "[async]") {
  async_lock mine(*this, "k");
  mine.acquire();
  settle();
  fake_transaction open(*store);
  mine.release();
  settle();
  CHECK(mine.released());
  CHECK_FALSE(is_free("k"));
  open.end();
  settle();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: a thread that would wait for itself is told so by the call", "[async]") {
  faulty_store::may_wait_here = false;
  const auto end =
      thrown([&] { home->async_acquire("k", {}, [](const std::exception_ptr&, const lease&) { FAIL("called"); }); });
  faulty_store::may_wait_here = true;
  CHECK(end == errc::store_failed);
}

// ---- cancellation ---------------------------------------------------------------------------------------------------

TEST_CASE("async: a cancellation that races with the grant ends in one of both, and nothing stays held", "[async]") {
  const auto store = std::make_shared<stores::memory_store>();
  lock_service locks(store, {.connections = 3, .close_limit = 10s});
  constexpr int rounds = 400;
  std::atomic<int> handled{0}, granted{0}, cancelled{0}, other{0};
  for (int i = 0; i < rounds; ++i) {
    std::stop_source stop;
    const auto key = "k" + std::to_string(i % 4);
    locks.async_acquire(key, {.wait = 1min, .retry = {.pause = 1ms}, .cancel = stop.get_token()},
                        [&](const std::exception_ptr& failure, lease held) {
                          const auto code = code_of(failure);
                          ++(held ? granted : code == errc::cancelled ? cancelled : other);
                          if (!held) {
                            ++handled;
                            return;
                          }
                          async_release(std::move(held), [&](const std::exception_ptr&) { ++handled; });
                        });
    for (int spin = 0; spin < i * 7 % 900; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
    stop.request_stop();
  }
  REQUIRE(eventually([&] { return handled == rounds; }));
  CHECK(granted + cancelled == rounds);
  CHECK(other == 0);
  lock_service rival(store, {});
  for (int i = 0; i < 4; ++i) CHECK(rival.try_acquire("k" + std::to_string(i)));
}
