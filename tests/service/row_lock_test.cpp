// SPDX-License-Identifier: BSL-1.0
// A transaction of another program has rows of ours locked: that is a matter of these keys alone.

#include <deque>

#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

/// Leases on more keys than there are connections. Their rows are locked then, and each is released on a thread of its
/// own.
struct locked_keys : engine_fixture {
  static constexpr int many = 12;
  std::unique_ptr<lock_service> locks;
  std::vector<lease> held{};
  lease kept{};  ///< of a key whose row nobody locks
  std::deque<concurrent_call> releases{};

  static lock_key key(int i) { return lock_key("locked " + std::to_string(i)); }
  /// `waits`: a statement waits for a row, unless it is told otherwise.
  void release_all(bool waits, std::chrono::milliseconds limit) {
    if (waits) store->let_changes_wait();
    locks = service([&](auto& settings) { settings.release_limit = limit; });
    for (int i = 0; i < many; ++i) held.push_back(locks->acquire(key(i)));
    kept = locks->acquire("held on", {.ttl = 5s});
    for (int i = 0; i < many; ++i) store->lock_row(key(i));
    for (auto& each : held) releases.emplace_back([&each] { each.release(); });
    REQUIRE(clock.at_rest({.callers = many}));
  }
  void unlock_all() {
    for (int i = 0; i < many; ++i) store->unlock_row(key(i));
  }
  /// Other keys are acquired, released and renewed while no time passes.
  void check_others() {
    for (int i = 0; i < 3; ++i) {
      const concurrent_call pair([&] { locks->acquire("other", {.wait = 10s}).release(); });
      CHECK(pair.over(20s));
      if (pair.over()) CHECK_FALSE(pair.end());
    }
  }
};

}  // namespace

TEST_CASE_METHOD(locked_keys, "row locks: other keys go on, and releases end without an error when the rows are free") {
  const bool waits = GENERATE(false, true);
  CAPTURE(waits);
  release_all(waits, 60s);
  for (int passed = 0; passed < 12'000; passed += 100) {
    REQUIRE(at_rest_after(100ms, {.callers = many}));
    if (passed % 1'000 == 0) check_others();
  }
  CHECK(kept.loss() == loss_reason::none);
  unlock_all();
  while_time_passes([&] {
    for (const auto& each : releases) CHECK_FALSE(each.end());
  });
  for (int i = 0; i < many; ++i) CHECK(is_free(key(i)));
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(locked_keys, "row locks: what is left to the background takes no connection from other keys") {
  const bool waits = GENERATE(false, true);
  CAPTURE(waits);
  release_all(waits, 200ms);
  while_time_passes([&] {
    for (const auto& each : releases) CHECK(each.end() == errc::outcome_unknown);
  });
  for (int passed = 0; passed < 12'000; passed += 100) {
    REQUIRE(at_rest_after(100ms));
    if (passed % 1'000 == 0) check_others();
  }
  CHECK(kept.loss() == loss_reason::none);
  CHECK(kept.remaining() > 3s);
  unlock_all();
  CHECK(as_time_passes([&] {
    for (int i = 0; i < many; ++i) {
      if (fence_of(key(i)) != 0) return false;
    }
    return true;
  }));
}

TEST_CASE_METHOD(locked_keys, "row locks: an extension that finds no connection to wait for its row tries again") {
  const bool nested = GENERATE(false, true);
  const bool in_time = GENERATE(true, false);
  CAPTURE(nested, in_time);
  locks = service([](auto& settings) { settings.connections = 1; });
  std::promise<void> holds, go;
  std::chrono::microseconds remaining{0};
  const concurrent_call call([&] {
    auto mine = locks->acquire("k", {.ttl = 4s, .renewal = renewal::manual});
    holds.set_value();
    go.get_future().wait();
    if (nested) {
      const auto inner = locks->acquire("k", {.ttl = 20s, .renewal = renewal::manual});
    } else {
      mine.renew(20s);
    }
    remaining = mine.remaining();
  });
  holds.get_future().wait();
  store->lock_row("k");
  const auto before = store->batches(verb::extend);
  go.set_value();
  for (auto passed = 0ms; passed < 3s; passed += 100ms) {
    REQUIRE(at_rest_after(100ms, {.callers = 1}));
    if (passed % 1s == 0ms) check_others();
  }
  CHECK(store->batches(verb::extend) > before + 10);  // its pauses grow
  CHECK(store->waited_for().empty());
  CHECK_FALSE(call.over());
  if (in_time) store->unlock_row("k");
  const auto end = while_time_passes([&] { return call.end(); });
  if (in_time) {
    CHECK_FALSE(end);
    CHECK(remaining > 13s);  // its margin is a quarter
    return;
  }
  CHECK(end == errc::store_failed);  // before the lease is lost, and not when the statement's time is over
  CHECK(seen->count(event::kind::lost) == 0);
  store->unlock_row("k");
}
