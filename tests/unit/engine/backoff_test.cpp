// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/backoff.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <set>
#include <vector>

namespace {

using namespace std::chrono_literals;
using dlock::detail::retry_settings;
using dlock::engine::backoff;
using std::chrono::microseconds;

std::vector<microseconds> pauses(const retry_settings& retry, std::uint64_t seed, int count) {
  backoff b(retry, seed);
  std::vector<microseconds> all;
  for (int i = 0; i < count; ++i) all.push_back(b.next());
  return all;
}

}  // namespace

TEST_CASE("backoff: pauses grow by the multiplier up to the longest", "[backoff]") {
  const retry_settings retry{.pause = 10ms, .multiplier = 3.0, .max_pause = 100ms, .jitter = 0.0};
  CHECK(pauses(retry, 1, 5) == std::vector<microseconds>{10ms, 30ms, 90ms, 100ms, 100ms});
}

TEST_CASE("backoff: a multiplier of one keeps the pause", "[backoff][T10]") {
  const retry_settings retry{.pause = 50ms, .multiplier = 1.0, .max_pause = 50ms, .jitter = 0.0};
  CHECK(pauses(retry, 1, 3) == std::vector<microseconds>{50ms, 50ms, 50ms});
}

TEST_CASE("backoff: the random part only ever shortens, and by no more than jitter says", "[backoff][T10]") {
  const retry_settings retry{.pause = 100ms, .multiplier = 1.0, .max_pause = 100ms, .jitter = 0.5};
  std::set<microseconds> different;
  for (const auto each : pauses(retry, 7, 1000)) {
    CHECK(each <= 100ms);
    CHECK(each >= 50ms);
    different.insert(each);
  }
  CHECK(different.size() > 900);
  CHECK(*different.begin() < 51ms);
  CHECK(*different.rbegin() > 99ms);
}

TEST_CASE("backoff: waiters with different seeds do not march in step", "[backoff][T34]") {
  const retry_settings retry{};
  CHECK(pauses(retry, 1, 10) == pauses(retry, 1, 10));
  CHECK(pauses(retry, 1, 10) != pauses(retry, 2, 10));
}

TEST_CASE("backoff: never zero, so that a poll never follows a poll at once", "[backoff][T32]") {
  const retry_settings retry{.pause = 1ms, .multiplier = 1.0, .max_pause = 1ms, .jitter = 1.0};
  for (const auto each : pauses(retry, 3, 1000)) CHECK(each > 0us);
}

TEST_CASE("backoff: thousands of pauses overflow nothing", "[backoff]") {
  const retry_settings retry{.pause = 1ms, .multiplier = 100.0, .max_pause = 24h, .jitter = 0.0};
  CHECK(pauses(retry, 3, 5000).back() == 24h);
}

TEST_CASE("backoff: a brief pause is like the second, and is none of them", "[backoff]") {
  const retry_settings retry{.pause = 10ms, .multiplier = 3.0, .max_pause = 100ms, .jitter = 0.0};
  backoff b(retry, 1);
  CHECK(b.brief() == 30ms);
  CHECK(b.next() == 10ms);
  CHECK(b.next() == 30ms);
  CHECK(b.next() == 90ms);
  CHECK(b.brief() == 30ms);
  CHECK(b.next() == 100ms);
  CHECK(backoff({.pause = 50ms, .max_pause = 60ms, .jitter = 0.0}, 1).brief() == 60ms);
}

TEST_CASE("backoff: grown, it pauses for the longest time at once", "[backoff]") {
  backoff b({.pause = 10ms, .max_pause = 100ms, .jitter = 0.0}, 1);
  b.grow();
  CHECK(b.next() == 100ms);
  CHECK(b.brief() == 20ms);
}
