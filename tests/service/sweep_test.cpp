// SPDX-License-Identifier: BSL-1.0

/// Clean-up as the background does it: how often, how much at one time, and what it must not hold up.

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "service/engine_fixture.hpp"

namespace dlock::test {

namespace {

struct sweep_fixture : engine_fixture {
  service_options sweeping() {
    auto settings = options();
    settings.cleanup_interval = 1min;
    settings.key_retention = 10min;
    return settings;
  }
  /// So many keys that nobody will ask for again, idle for long.
  void leave_keys(int many) {
    const auto busy = foreign();
    for (int i = 0; i != many; ++i) busy->acquire("order:" + std::to_string(i)).release();
    clock.advance(20min);
  }
  std::size_t sweeps() const { return store->count(other_verb::cleanup); }
  /// Time passes until so many sweeps are over.
  bool pass_until_sweep(std::size_t many) {
    return eventually([&] {
      if (sweeps() < many) clock.advance(many == 1 ? 1s : 5ms);
      return sweeps() >= many;
    });
  }
};

}  // namespace

TEST_CASE_METHOD(sweep_fixture, "sweep: goes on while there is work, not once a minute", "[sweep][T58]") {
  leave_keys(1000);
  const auto locks = service(sweeping());
  REQUIRE(pass_until_sweep(1));
  const auto begun = clock.now();
  for (std::size_t step = 2; step <= 51; ++step) REQUIRE(pass_until_sweep(step));
  CHECK(clock.now() - begun < 10min);
  const auto left = foreign();
  for (const char* key : {"order:0", "order:500", "order:999"}) CHECK(left->acquire(key).fencing_token() == 2);
  // With nothing left it looks once a minute again.
  clock.advance(59s);
  CHECK(sweeps() == 51);
  CHECK(pass_until_sweep(52));
  CHECK(locks->count(event::kind::cleanup) < 20);  // not one for each step
}

TEST_CASE_METHOD(sweep_fixture, "sweep: what else there is to do in the background need not wait for a step",
                 "[sweep]") {
  leave_keys(200);
  auto options = sweeping();
  options.margin = 1ms;  // so long a lost key stays
  const auto locks = service(options);
  REQUIRE(pass_until_sweep(1));
  const auto held = locks->acquire("k", {.ttl = 20h, .renewal = renewal::none, .max_hold = 1h});
  bool was_free = false;
  // In the middle of the next step the time of a lease is over, and its key is to be freed.
  store->next(other_verb::cleanup, {.during = [&] {
                clock.advance(1h);
                CHECK(is_lost(held));
                clock.advance(1ms);  // the margin that its holder has
                was_free = eventually([&] { return is_free("k"); });
              }});
  REQUIRE(pass_until_sweep(2));
  CHECK(was_free);
  CHECK(sweeps() == 2);
}

TEST_CASE_METHOD(sweep_fixture, "sweep: the end of a service does not wait for one", "[sweep]") {
  leave_keys(5);
  auto locks = service(sweeping());
  const auto hanging = store->hold(other_verb::cleanup);  // and is never opened
  REQUIRE(as_time_passes([&] { return hanging->is_reached(); }, 1min));
  locks.reset();
  CHECK(eventually([&] { return store->connections() == 0; }));
}

TEST_CASE_METHOD(sweep_fixture, "sweep: keys are idle for as long as the option says", "[sweep][T10]") {
  auto options = sweeping();
  options.key_retention = 17min;
  const auto locks = service(options);
  REQUIRE(pass_until_sweep(1));
  CHECK(store->idle() == 17min);
}

TEST_CASE_METHOD(sweep_fixture, "sweep: a failure is tried again with the next look, not at once", "[sweep]") {
  leave_keys(100);
  const auto locks = service(sweeping());
  store->next(other_verb::cleanup, {.what = fate::fail, .why = {.native = 1205, .transient = true, .text = "busy"}});
  REQUIRE(pass_until_sweep(1));
  clock.advance(59s);
  CHECK(sweeps() == 1);
  CHECK(pass_until_sweep(2));
}

}  // namespace dlock::test
