// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>

#include "engine/books/grant.hpp"

using namespace std::chrono_literals;
using dlock::instant;
using dlock::engine::trust;
using std::chrono::microseconds;

TEST_CASE("trust: without a deadline it is left for ever, also on a clock that is still below zero", "[unit]") {
  // A machine that has just booted, seen by a client whose clock is behind.
  trust until{};
  CHECK(until.remaining(instant{-10min}) == microseconds::max());
  CHECK(until.remaining(instant{10min}) == microseconds::max());
}

TEST_CASE("trust: what is left is counted to the deadline, and nothing once it has passed", "[unit]") {
  trust until{instant{5s}};
  CHECK(until.remaining(instant{-1s}) == microseconds{6s});
  CHECK(until.remaining(instant{4s}) == microseconds{1s});
  CHECK(until.remaining(instant{5s}) == microseconds{0});
  CHECK(until.remaining(instant{4s}) == microseconds{0});  // it was told once that it had passed
  CHECK_FALSE(until.extend(instant{9s}));
}
