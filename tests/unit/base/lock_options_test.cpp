// SPDX-License-Identifier: BSL-1.0
#include "dlock/lock_options.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/lock_settings.hpp"
#include "dlock/service_options.hpp"
#include "support/calls.hpp"

namespace {

using namespace std::chrono_literals;
using namespace dlock;

/// The text of what validate() throws; empty if it accepts.
template <class Options>
std::string complaint(const Options& options) {
  return dlock::test::refusal([&] { validate(options); });
}

bool names(const std::string& text, const std::string& field, const std::string& value) {
  return text.starts_with("dlock: " + field + " = " + value + ":");
}

static_assert(std::is_aggregate_v<lock_options> && std::is_aggregate_v<service_options>);

}  // namespace

TEST_CASE("lock_options: the defaults are valid and finite", "[lock_options][T37]") {
  CHECK(complaint(lock_options{}).empty());
  CHECK(complaint(service_options{}).empty());
  CHECK(detail::settled({}).ttl == 30s);
  CHECK(detail::settled({}).wait == 10s);
}

TEST_CASE("lock_options: each bad field is named with its value", "[lock_options]") {
  CHECK(names(complaint(lock_options{.ttl = 999ms}), "ttl", "999 ms"));
  CHECK(names(complaint(lock_options{.ttl = 24h + 1ms}), "ttl", "86400001 ms"));
  CHECK(names(complaint(lock_options{.ttl = 9ms, .renewal = renewal::none}), "ttl", "9 ms"));
  CHECK(names(complaint(lock_options{.ttl = 9ms, .renewal = renewal::manual}), "ttl", "9 ms"));
  CHECK(names(complaint(lock_options{.ttl = 24h * 30 + 1ms, .renewal = renewal::none}), "ttl", "2592000001 ms"));
  CHECK(names(complaint(lock_options{.wait = -1ms}), "wait", "-1 ms"));
  CHECK(names(complaint(lock_options{.wait = 24h * 366}), "wait", "31622400000 ms"));
  CHECK(names(complaint(lock_options{.retry = {.pause = 0ms}}), "retry.pause", "0 ms"));
  CHECK(names(complaint(lock_options{.retry = {.multiplier = 0.5}}), "retry.multiplier", "0.500000"));
  CHECK(names(complaint(lock_options{.retry = {.multiplier = 101}}), "retry.multiplier", "101.000000"));
  CHECK(names(complaint(lock_options{.retry = {.max_pause = 9ms}}), "retry.max_pause", "9 ms"));
  CHECK(names(complaint(lock_options{.retry = {.jitter = 1.01}}), "retry.jitter", "1.010000"));
  CHECK(names(complaint(lock_options{.retry = {.jitter = -0.01}}), "retry.jitter", "-0.010000"));
  CHECK(names(complaint(lock_options{.retry = {.limit = 3}, .fairness = fairness::fifo}), "retry.limit", "3"));
  CHECK(names(complaint(lock_options{.min_hold = -1ms}), "min_hold", "-1 ms"));
  CHECK(names(complaint(lock_options{.max_hold = -1ms}), "max_hold", "-1 ms"));
  CHECK(names(complaint(lock_options{.min_hold = 2s, .max_hold = 1s}), "max_hold", "1000 ms"));
}

TEST_CASE("lock_options: a ttl out of bounds is told what it is for, and by which bound", "[lock_options]") {
  CHECK(complaint(lock_options{.ttl = 999ms}).find("shorter ones need renewal::none") != std::string::npos);
  CHECK(complaint(lock_options{.ttl = 48h}).find("shorter") == std::string::npos);
  CHECK(complaint(lock_options{.ttl = 48h}).find("how long others wait after a crash") != std::string::npos);
}

TEST_CASE("lock_options: not-a-number is no number", "[lock_options]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(complaint(lock_options{.retry = {.multiplier = nan}}).empty());
  CHECK_FALSE(complaint(lock_options{.retry = {.jitter = nan}}).empty());
}

TEST_CASE("lock_options: the bounds themselves are accepted", "[lock_options]") {
  CHECK(complaint(lock_options{.ttl = 1s}).empty());
  CHECK(complaint(lock_options{.ttl = 24h}).empty());
  CHECK(complaint(lock_options{.ttl = 10ms, .renewal = renewal::none}).empty());
  CHECK(complaint(lock_options{.ttl = 24h * 30, .renewal = renewal::manual}).empty());
  CHECK(complaint(lock_options{.wait = 0ms}).empty());
  CHECK(complaint(lock_options{.wait = 24h * 365}).empty());
  CHECK(complaint(lock_options{.wait = wait_forever}).empty());
  CHECK(complaint(lock_options{.retry = {.pause = 1ms, .multiplier = 1, .max_pause = 1ms, .jitter = 0}}).empty());
  CHECK(complaint(lock_options{.retry = {.multiplier = 100, .jitter = 1, .limit = 0u}}).empty());
  CHECK(complaint(lock_options{.min_hold = 1s, .max_hold = 1s}).empty());
  CHECK(complaint(lock_options{.retry = {.limit = 3}, .fairness = fairness::none}).empty());
  CHECK(complaint(lock_options{.fairness = fairness::fifo}).empty());
}

TEST_CASE("service_options: each bad field is named with its value", "[lock_options]") {
  CHECK(names(complaint(service_options{.label = std::string(65, 'x')}), "label", "'xxxxxxxxxxxxxxxx...' (65 bytes)"));
  CHECK(names(complaint(service_options{.connections = 0}), "connections", "0"));
  CHECK(names(complaint(service_options{.connections = 257}), "connections", "257"));
  CHECK(names(complaint(service_options{.defaults = {.ttl = 1ms}}), "ttl", "1 ms"));
  CHECK(names(complaint(service_options{.margin = -1ms}), "margin", "-1 ms"));
  CHECK(names(complaint(service_options{.margin = 7501ms}), "margin", "7501 ms"));
  CHECK(names(complaint(service_options{.defaults = {.ttl = 1999ms}, .margin = 251ms}), "margin", "251 ms"));
  CHECK(names(complaint(service_options{.max_waiters = 0}), "max_waiters", "0"));
  CHECK(names(complaint(service_options{.release_limit = 9ms}), "release_limit", "9 ms"));
  CHECK(names(complaint(service_options{.close_limit = -1ms}), "close_limit", "-1 ms"));
  CHECK(names(complaint(service_options{.start_limit = -1ms}), "start_limit", "-1 ms"));
  CHECK(names(complaint(service_options{.start_limit = 24h + 1ms}), "start_limit", "86400001 ms"));
  CHECK(names(complaint(service_options{.start_limit = 1s, .lazy = true}), "start_limit", "1000 ms"));
  CHECK(names(complaint(service_options{.key_retention = -1ms}), "key_retention", "-1 ms"));
  CHECK(names(complaint(service_options{.cleanup_interval = -1ms}), "cleanup_interval", "-1 ms"));
}

TEST_CASE("service_options: a margin is at most a quarter of the ttl that a lease gets", "[lock_options]") {
  CHECK(complaint(service_options{.margin = 7500ms}).empty());
  CHECK(complaint(service_options{.defaults = {.ttl = 1999ms}, .margin = 250ms}).empty());
  const lock_options exactly{.ttl = 1999ms, .renewal = renewal::none};
  CHECK(complaint(service_options{.defaults = exactly, .margin = 499ms}).empty());
  CHECK(names(complaint(service_options{.defaults = exactly, .margin = 500ms}), "margin", "500 ms"));
}

TEST_CASE("ttl_class: the nearest class that is not above what was asked", "[lock_options]") {
  const std::vector<std::chrono::milliseconds> classes{1s, 2s, 5s, 10s, 15s, 30s, 60s, 120s, 300s, 600s, 1800s, 3600s};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    CHECK(ttl_class(classes[i]) == classes[i]);
    const auto above = i + 1 < classes.size() ? classes[i + 1] : 24h;
    CHECK(ttl_class(above - 1ms) == classes[i]);
  }
}
