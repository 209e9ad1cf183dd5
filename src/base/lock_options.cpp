// SPDX-License-Identifier: BSL-1.0
#include "dlock/lock_options.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/lock_settings.hpp"
#include "base/text.hpp"
#include "dlock/service_options.hpp"

namespace dlock {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::size_t longest_label = 64;
constexpr milliseconds day = hours{24};
constexpr milliseconds month = hours{24 * 30};
constexpr milliseconds year = hours{24 * 365};

/// The classes of kept ttls: so many session rows a process can have at most.
constexpr std::array<int, 12> classes_s{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600};

[[noreturn]] void bad(const char* field, const std::string& value, const char* rule) {
  throw std::invalid_argument(std::string("dlock: ") + field + " = " + value + ": " + rule);
}

void check(const char* field, milliseconds value, milliseconds low, milliseconds high, const char* rule) {
  if (value < low || value > high) bad(field, std::to_string(value.count()) + " ms", rule);
}

void check(const char* field, double value, double low, double high, const char* rule) {
  if (!(value >= low && value <= high)) bad(field, std::to_string(value), rule);
}

void check(const detail::retry_settings& retry) {
  check("retry.pause", retry.pause, milliseconds{1}, day, "must be 1 ms to 1 day");
  check("retry.multiplier", retry.multiplier, 1.0, 100.0, "must be 1 to 100");
  check("retry.max_pause", retry.max_pause, retry.pause, day, "must not be below retry.pause, nor above 1 day");
  check("retry.jitter", retry.jitter, 0.0, 1.0, "must be 0 to 1");
}

template <class T>
const T& given_or(const std::optional<T>& given, const T& inherited) noexcept {
  return given ? *given : inherited;
}

}  // namespace

namespace detail {

lock_settings settled(const lock_options& given, const lock_settings& defaults) {
  const auto& retry = given.retry;
  return {.ttl = given_or(given.ttl, defaults.ttl),
          .wait = given_or(given.wait, defaults.wait),
          .renewal = given_or(given.renewal, defaults.renewal),
          .reentry = given_or(given.reentry, defaults.reentry),
          .retry = {.pause = given_or(retry.pause, defaults.retry.pause),
                    .multiplier = given_or(retry.multiplier, defaults.retry.multiplier),
                    .max_pause = given_or(retry.max_pause, defaults.retry.max_pause),
                    .jitter = given_or(retry.jitter, defaults.retry.jitter),
                    .limit = retry.limit ? retry.limit : defaults.retry.limit},
          .min_hold = given_or(given.min_hold, defaults.min_hold),
          .max_hold = given_or(given.max_hold, defaults.max_hold),
          .fairness = given_or(given.fairness, defaults.fairness),
          .cancel = given_or(given.cancel, defaults.cancel)};
}

lock_options as_options(const lock_settings& settings) {
  const auto& retry = settings.retry;
  return {.ttl = settings.ttl,
          .wait = settings.wait,
          .renewal = settings.renewal,
          .reentry = settings.reentry,
          .retry = {.pause = retry.pause,
                    .multiplier = retry.multiplier,
                    .max_pause = retry.max_pause,
                    .jitter = retry.jitter,
                    .limit = retry.limit ? retry.limit : std::numeric_limits<unsigned>::max()},
          .min_hold = settings.min_hold,
          .max_hold = settings.max_hold,
          .fairness = settings.fairness,
          .cancel = settings.cancel};
}

void validate(const lock_settings& options) {
  if (options.renewal == renewal::automatic) {
    check("ttl", options.ttl, milliseconds{1000}, hours{24},
          options.ttl < milliseconds{1000}
              ? "must be 1 s to 24 h for a lease that is renewed; shorter ones need renewal::none or renewal::manual"
              : "must be 1 s to 24 h for a lease that is renewed: it is not how long the work may take, but how long "
                "others "
                "wait after a crash");
  } else {
    check("ttl", options.ttl, milliseconds{10}, month, "must be 10 ms to 30 days");
  }
  if (options.wait != wait_forever) {
    check("wait", options.wait, milliseconds{0}, year, "must be 0 to 365 days, or wait_forever");
  }
  check(options.retry);
  if (options.fairness == fairness::fifo && options.retry.limited()) {
    bad("retry.limit", std::to_string(*options.retry.limit),
        "must not be set with fairness::fifo: such a call polls, and has no place in the order");
  }
  check("min_hold", options.min_hold, milliseconds{0}, month, "must be 0 to 30 days");
  check("max_hold", options.max_hold, milliseconds{0}, year, "must be 0 (no cap) to 365 days");
  if (options.max_hold.count() != 0 && options.max_hold < options.min_hold) {
    bad("max_hold", std::to_string(options.max_hold.count()) + " ms", "must not be below min_hold");
  }
}

void validate(const lock_settings& options, const service_options& in) {
  validate(options);
  const auto ttl = options.renewal == renewal::automatic ? ttl_class(options.ttl) : options.ttl;
  if (in.margin > ttl / 4) {
    const auto rule = "must not be above a quarter of the ttl, which is " + std::to_string(ttl.count()) + " ms";
    bad("margin", std::to_string(in.margin.count()) + " ms", rule.c_str());
  }
}

}  // namespace detail

void validate(const lock_options& options) { detail::validate(detail::settled(options)); }

void validate(const lock_options& options, const service_options& in) {
  detail::validate(detail::settled(options, detail::settled(in.defaults)), in);
}

std::chrono::milliseconds ttl_class(std::chrono::milliseconds ttl) noexcept {
  milliseconds found{1000};
  for (const int seconds : classes_s) {
    const milliseconds candidate = std::chrono::seconds{seconds};
    if (candidate <= ttl) found = candidate;
  }
  return found;
}

void validate(const service_options& options) {
  const auto count = [](const char* field, std::size_t value, std::size_t low, std::size_t high, const char* rule) {
    if (value < low || value > high) bad(field, std::to_string(value), rule);
  };
  if (options.label.size() > longest_label) {
    bad("label",
        fmt::format("'{}...' ({} bytes)", detail::printable_text(options.label.substr(0, 16)), options.label.size()),
        "must be at most 64 bytes");
  }
  count("connections", options.connections, 1, 256, "must be 1 to 256");
  check("margin", options.margin, milliseconds{0}, day, "must be 0 (max(50 ms, ttl/20)) to a quarter of the ttl");
  detail::validate(detail::settled(options.defaults), options);
  count("max_waiters", options.max_waiters, 1, 10'000'000, "must be 1 to 10 000 000");
  check("release_limit", options.release_limit, milliseconds{10}, milliseconds{60'000}, "must be 10 ms to 60 s");
  check("close_limit", options.close_limit, milliseconds{0}, day, "must be 0 to 1 day");
  check("start_limit", options.start_limit, milliseconds{0}, day, "must be 0 (one attempt) to 1 day");
  if (options.lazy && options.start_limit > milliseconds{0}) {
    bad("start_limit", fmt::format("{} ms", options.start_limit.count()),
        "must be 0 with lazy, which waits for nothing");
  }
  check("key_retention", options.key_retention, milliseconds{0}, year, "must be 0 (never) to 365 days");
  check("cleanup_interval", options.cleanup_interval, milliseconds{0}, day, "must be 0 (never) to 1 day");
  if (options.break_verified_after != milliseconds{0}) {
    check("break_verified_after", options.break_verified_after, milliseconds{1'000}, day,
          "must be 0 (never) or 1 s to 1 day");
  }
}

}  // namespace dlock
