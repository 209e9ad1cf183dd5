// SPDX-License-Identifier: BSL-1.0
#include "dlock/lock_options.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/lock_settings.hpp"
#include "base/option_fields.hpp"
#include "base/text.hpp"
#include "dlock/detail/no_unit.hpp"
#include "dlock/detail/option_limits.hpp"
#include "dlock/service_options.hpp"

namespace dlock {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::size_t longest_label = 64;
constexpr milliseconds day = hours{24};
constexpr milliseconds year = hours{24 * 365};

/// The ttls of kept leases. Their number is the largest number of session rows that a process can have.
constexpr std::array<int, 12> classes_s{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600};

[[noreturn]] void bad(std::string_view field, const std::string& value, const char* rule) {
  throw std::invalid_argument(fmt::format("dlock: {} = {}: {}", field, value, rule));
}

void check(std::string_view field, milliseconds value, milliseconds low, milliseconds high, const char* rule) {
  if (value < low || value > high) bad(field, std::to_string(value.count()) + " ms", rule);
}

void check(std::string_view field, double value, double low, double high, const char* rule) {
  if (!(value >= low && value <= high)) bad(field, std::to_string(value), rule);
}

/// Checks the value of one field alone.
struct field_check {
  const detail::lock_settings& options;

  void operator()(std::string_view field, milliseconds value) const {
    auto limits = *detail::limits_of(field);
    if (field == "wait" && value == wait_forever) return;
    if (field == "ttl" && options.renewal == renewal::automatic) {
      limits.least = milliseconds{1000};
      limits.most = hours{24};
      limits.rule =
          value < limits.least
              ? "must be 1 s to 24 h for a lease that is renewed; shorter ones need renewal::none or renewal::manual"
              : "must be 1 s to 24 h for a lease that is renewed: it is not how long the work may take, but how long "
                "others wait after a crash";
    }
    check(field, value, limits.least, limits.most, limits.rule);
  }
  void operator()(std::string_view /*field*/, const detail::retry_settings& retry) const {
    check("retry.pause", retry.pause, milliseconds{1}, day, "must be 1 ms to 1 day");
    check("retry.multiplier", retry.multiplier, 1.0, 100.0, "must be 1 to 100");
    check("retry.max_pause", retry.max_pause, retry.pause, day, "must not be below retry.pause, nor above 1 day");
    check("retry.jitter", retry.jitter, 0.0, 1.0, "must be 0 to 1");
  }
  // Each of their values is valid.
  void operator()(std::string_view /*field*/, renewal /*value*/) const {}
  void operator()(std::string_view /*field*/, reentry /*value*/) const {}
  void operator()(std::string_view /*field*/, fairness /*value*/) const {}
  void operator()(std::string_view /*field*/, const std::stop_token& /*value*/) const {}
  void operator()(std::string_view field, const lock_mode& mode) const {
    constexpr std::uint32_t most = 1'000'000;
    const bool counted = mode.permits != 0 && mode.units >= 1 && mode.units <= mode.permits && mode.permits <= most;
    if (mode == exclusive || mode == shared || counted) return;
    bad(field, fmt::format("{} of {}", mode.units, mode.permits), "must be 1 to all of 1 to 1,000,000 permits");
  }
};

}  // namespace

namespace detail {

namespace {

template <class Field, class WithoutUnit>
constexpr bool takes_without_unit =
    std::is_same_v<WithoutUnit, std::conditional_t<std::is_same_v<Field, optional_time>, any_time, Field>>;

template <class Options, class WithoutUnits>
constexpr bool take_without_units = []<std::size_t... I>(std::index_sequence<I...>) {
  return begins_with_fields_of<Options, WithoutUnits>() &&
         (takes_without_unit<field_type<Options, I>, field_type<WithoutUnits, I>> && ...);
}
(field_indices<Options>());

static_assert(settles_to<lock_options, lock_settings>(),
              "each field of lock_options needs its default in lock_settings, in the same place");
static_assert(take_without_units<lock_options, options_without_units>,
              "each field of lock_options must be in options_without_units, in the same place, a time as any_time");
static_assert(names_fields_of<lock_options>(DLOCK_DETAIL_LOCK_OPTION_FIELDS),
              "DLOCK_DETAIL_LOCK_OPTION_FIELDS, which is a part of a message, must name the fields of lock_options");

}  // namespace

lock_settings settled(const lock_options& given, const lock_settings& defaults) {
  lock_settings all = defaults;
  settle(given, all);
  return all;
}

lock_options as_options(const lock_settings& settings) {
  lock_options all;
  give_all(settings, all);
  return all;
}

void validate(const lock_settings& options) {
  for_each_field(options, field_check{options});
  if (options.fairness == fairness::fifo && options.retry.limited()) {
    bad("retry.limit", std::to_string(options.retry.limit),
        "must not be set with fairness::fifo: such a call polls, and has no place in the order");
  }
  if (options.linger.count() != 0) {
    const auto linger = std::to_string(options.linger.count()) + " ms";
    if (options.renewal != renewal::automatic) bad("linger", linger, "needs renewal::automatic, which keeps the key");
    const auto ttl = ttl_class(options.ttl);
    if (options.linger > ttl) {
      bad("linger", linger, fmt::format("must not be above the ttl, which is {} ms", ttl.count()).c_str());
    }
    if (options.fairness == fairness::fifo) {
      bad("linger", linger, "must not be set with fairness::fifo: only the store knows whether others come first");
    }
    if (options.min_hold.count() != 0) {
      bad("linger", linger, "must not be set with min_hold, which counts from a grant by the store");
    }
  }
  if (options.mode != exclusive) {
    constexpr const char* rule = "is not for shared locks and permits (lock_options::mode)";
    if (options.renewal != renewal::automatic) bad("renewal", "none or manual", rule);
    if (options.min_hold.count() != 0) bad("min_hold", fmt::format("{} ms", options.min_hold.count()), rule);
    if (options.fairness != fairness::none) bad("fairness", "fifo", rule);
    if (options.linger.count() != 0) bad("linger", fmt::format("{} ms", options.linger.count()), rule);
  }
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
  if (options.defaults.mode.value_or(exclusive) != exclusive) {
    bad("defaults.mode", "shared or one_of()", "must be left unset: each call says whether it shares the key");
  }
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
