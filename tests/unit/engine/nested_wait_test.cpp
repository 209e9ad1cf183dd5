// SPDX-License-Identifier: BSL-1.0

#include "engine/registry/nested_wait.hpp"

#include <optional>

#include "support/scarce_memory.hpp"
#include "support/test.hpp"

using namespace dlock::engine;
using namespace dlock;
using namespace std::chrono_literals;

namespace {

struct counting_waker final : waker {
  void wake() noexcept override { ++times; }
  int times = 0;
};

/// Three threads of one process wait for keys, and hold others meanwhile. Two of them hold `both`, one of them until it
/// notices that it has lost it, so a wait for `both` closes two cycles.
struct two_cycles {
  const lock_key first{"first"}, second{"second"}, both{"both"};
  counting_waker wakes_short{}, wakes_long{}, wakes_mine{};
  nested_wait short_wait{wakes_short}, long_wait{wakes_long}, mine{wakes_mine};

  nested_wait::awaited wait_for(const lock_key& key, microseconds until) const {
    return {.key = &key, .until = instant{until}};
  }
  static std::vector<nested_wait::held_lock> locks(std::initializer_list<const lock_key*> of) {
    std::vector<nested_wait::held_lock> all;
    for (const auto* const each : of) {
      all.push_back({.held = std::make_shared<grant>(nullptr, *each)});
      all.back().held->state = grant_state::held;
    }
    return all;
  }
  /// `reversed`: which of the two cycles is found first.
  void begin(bool reversed) {
    const auto begin_one = [&](nested_wait& wait, const lock_key& key, microseconds until) {
      REQUIRE(wait.begin(wait_for(key, until), locks({&both})).empty());
    };
    if (!reversed) begin_one(short_wait, first, 1s);
    begin_one(long_wait, second, 3s);
    if (reversed) begin_one(short_wait, first, 1s);
  }
  std::vector<cycle_link> close(microseconds until) {
    return mine.begin(wait_for(both, until), locks({&first, &second}));
  }
};

}  // namespace

TEST_CASE_METHOD(two_cycles,
                 "nested_wait: of two cycles that one wait closes each is broken by its wait that ends first") {
  begin(GENERATE(false, true));
  CHECK(close(5s).empty());
  CHECK(short_wait.cycle().size() == 1);
  CHECK(long_wait.cycle().size() == 1);
  CHECK(wakes_short.times == 1);
  CHECK(wakes_long.times == 1);
}

TEST_CASE_METHOD(two_cycles, "nested_wait: a wait that is refused itself causes no other refusal") {
  begin(GENERATE(false, true));
  CHECK(close(2s).size() == 1);  // it ends before the long one, and after the short one
  CHECK(short_wait.cycle().empty());
  CHECK(long_wait.cycle().empty());
}

TEST_CASE_METHOD(two_cycles,
                 "nested_wait: a wait that can't begin for want of memory has no other one refused for it") {
  begin(GENERATE(false, true));
  bool ran_out = true;
  for (std::size_t number = 0; ran_out; ++number) {
    REQUIRE(number < 100);
    auto held = locks({&first, &second});
    {
      const test::scarce_memory scarce(number);
      try {
        static_cast<void>(mine.begin(wait_for(both, 5s), std::move(held)));
      } catch (const std::bad_alloc&) {
      }
      ran_out = scarce.ran_out();
    }
    CAPTURE(number);
    CHECK(short_wait.cycle().empty() == ran_out);
    CHECK(long_wait.cycle().empty() == ran_out);
  }
}
