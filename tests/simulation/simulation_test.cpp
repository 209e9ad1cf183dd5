// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstdint>
#include <ctime>
#include <string>

#include "simulation/run.hpp"

namespace {

using namespace dlock::simulation;

constexpr auto to_the_end = std::uint64_t{1'000'000};

/// The first seed that fails with it; 0: none up to that.
std::uint64_t finds(mistake wrong, std::uint64_t last, subject about = subject::everything) {
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    if (!simulate(plan::of(seed, {.about = about}), wrong).failure.empty()) return seed;
  }
  return 0;
}

}  // namespace

TEST_CASE("simulation: clusters by chance keep what is promised, whatever befalls them", "[simulation]") {
  // As many as this machine can do in so much of its processor's time, and some in any case. ./dev simulate does more.
  const auto end = std::clock() + 20 * CLOCKS_PER_SEC;
  std::uint64_t acquires = 0;
  std::uint64_t faults = 0;
  for (std::uint64_t seed = 1; seed <= 20 || (seed < to_the_end && std::clock() < end); ++seed) {
    const auto how = plan::of(seed);
    const auto came = simulate(how);
    INFO(how.describe());
    REQUIRE(came.failure == "");
    acquires += came.acquires;
    faults += came.faults;
  }
  CHECK(acquires > 10'000);
  CHECK(faults > 1'000);
}

TEST_CASE("simulation: nested waits that are cancelled, shared keys, and waiters that stand still, break no promise",
          "[simulation]") {
  const auto about = GENERATE(subject::cycles, subject::shared, subject::stops);
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto how = plan::of(seed, {.about = about});
    INFO(how.describe());
    REQUIRE(simulate(how).failure == "");
  }
}

TEST_CASE("simulation: a seed always gives the same run", "[simulation]") {
  const auto seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{6}));
  const auto first = simulate(plan::of(seed), mistake::none, true);
  const auto again = simulate(plan::of(seed), mistake::none, true);
  CHECK(first.digest == again.digest);
  CHECK(first.steps == again.steps);
  CHECK(first.acquires == again.acquires);
  CHECK(first.story.size() == again.story.size());
  CHECK(
      std::equal(first.story.begin(), first.story.end(), again.story.begin(), again.story.end(),
                 [](const auto& one, const auto& other) { return one.when == other.when && one.text == other.text; }));
  CHECK(first.digest == simulate(plan::of(seed)).digest);  // nobody looks on
  CHECK(first.digest != simulate(plan::of(seed + 1)).digest);
}

TEST_CASE("simulation: a mistake of the store is found", "[simulation]") {
  // Those that take few seeds; mutations/run.sh and ./dev simulate --mistake have the others.
  const auto wrong =
      GENERATE(mistake::unkept_with_session, mistake::floor_forgotten, mistake::cancel_without_nonce,
               mistake::expiry_left_over, mistake::take_over_from_living, mistake::take_from_anybody,
               mistake::fence_not_raised, mistake::min_hold_kept, mistake::batch_mixed_up, mistake::batch_of_one);
  CAPTURE(static_cast<int>(wrong));
  CHECK(finds(wrong, 200) > 0);
}

TEST_CASE("simulation: a mistake in a statement about members is found", "[simulation]") {
  const auto wrong =
      GENERATE(mistake::join_ignores_closing, mistake::members_ignored, mistake::permits_not_locked,
               mistake::own_units_forgotten, mistake::left_by_key_alone, mistake::left_by_session_alone,
               mistake::closing_lapses_at_once, mistake::writer_without_fence, mistake::member_without_token);
  CAPTURE(static_cast<int>(wrong));
  CHECK(finds(wrong, 200, subject::shared) > 0);
}

TEST_CASE("simulation: waiters that stand still delay the others once, and a mistake in that is found",
          "[simulation]") {
  std::string failure;
  for (std::uint64_t seed = 1; seed <= 200 && failure.empty(); ++seed)
    failure = simulate(plan::of(seed, {.about = subject::stops}), mistake::passed_over_until_woken).failure;
  CHECK(failure.starts_with("liveness: key "));
}

TEST_CASE("simulation: a run that fails is told by the least that fails, and what happened to the key",
          "[simulation]") {
  const auto seed = finds(mistake::fence_not_raised, 200);
  REQUIRE(seed > 0);
  const auto failed = plan::of(seed);
  const auto least = reduced(failed, mistake::fence_not_raised);
  CHECK((least.hazards & ~failed.hazards) == 0);
  CHECK(least.threads <= failed.threads);
  const auto came = simulate(least, mistake::fence_not_raised, true);
  REQUIRE(came.failure.starts_with("I2: key "));
  const auto text = excerpt(came, 10);
  CHECK(text.find("take over grants fence") != std::string::npos);
  CHECK(text.ends_with(came.failure + "\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') <= 11);
  constexpr moment all_of_it = 3'600'000'000;
  const auto drawn = picture(came, all_of_it);
  CHECK(drawn.starts_with("<svg"));
  CHECK(drawn.find(">p") != std::string::npos);  // the lane of a process
  CHECK(picture(came).find("at the end: " + came.failure) != std::string::npos);
}
