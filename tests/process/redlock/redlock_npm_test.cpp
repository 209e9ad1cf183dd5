// SPDX-License-Identifier: BSL-1.0

/// redlock:// over five masters, and redis://?scheme=setnx on one, beside programs that lock by the package `redlock`
/// of npm.

#include <fmt/format.h>

#include "dlock/stores/redis.hpp"
#include "dlock/stores/redlock.hpp"
#include "support/redis_counters.hpp"

namespace dlock::test {

namespace {

std::string node(const std::string& ports, const std::string& words) {
  return fmt::format("DLOCK_TEST_NPM={} exec node {} {} {}", DLOCK_TEST_NPM, DLOCK_TEST_REDLOCK_NPM, ports, words);
}

struct neighbours {
  explicit neighbours(std::size_t count) : masters(count) {}

  std::string ports() {
    std::string all;
    for (auto& each : masters) all += fmt::format("{}{}", all.empty() ? "" : ",", each.port());
    return all;
  }
  std::string run(const std::string& words) { return program_output(node(ports(), words)).end(); }

  void exclude_each_other(const std::string& url) {
    constexpr auto length = 3s;
    lock_service locks{url, {.close_limit = 0ms}};
    check_that_counters_exclude_each_other(
        locks, masters[0], node(ports(), fmt::format("count stock counter {}", length.count())), length);
  }

  redis_masters masters;
};

}  // namespace

TEST_CASE("redlock npm: over five masters they and dlock exclude each other") {
  neighbours five(5);
  five.exclude_each_other(five.masters.url("&restart_delay=0&master_timeout=5000"));
}

TEST_CASE("redlock npm: on one master they and scheme=setnx exclude each other") {
  neighbours alone(1);
  alone.exclude_each_other(alone.masters[0].url("&scheme=setnx&persistence=none"));
}

TEST_CASE("redlock npm: what one of them holds the other does not get, until it is released, or has expired") {
  neighbours five(5);
  lock_service locks{five.masters.url("&restart_delay=0&master_timeout=5000"), {.close_limit = 0ms}};
  five.masters[3].kill();
  {
    const lease held = locks.acquire("k");
    CHECK(five.run("try k") == "busy");
  }
  CHECK(five.run("try k") == "granted");
  CHECK_FALSE(granted(locks.try_acquire("k")));
  const auto holder = locks.holder("k");
  REQUIRE(holder);
  CHECK_FALSE(holder->session);
  CHECK(holder->remaining > 20s);
  CHECK(locks.held_keys().empty());  // no mark tells its keys from others
  five.run("keep other 300");
  CHECK(granted(locks.acquire("other", {.wait = 20s})));
  five.run("extend longer 60000");
  CHECK(locks.holder("longer")->remaining > 40s);
}

}  // namespace dlock::test
