// SPDX-License-Identifier: BSL-1.0
#pragma once

/// lock_options with no field left open, as the engine uses them. The values here are the library's defaults.
/// option_fields.hpp iterates over the fields.

#include <chrono>
#include <limits>
#include <stop_token>

#include "dlock/export.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/service_options.hpp"

namespace dlock::detail {

/// The fields of retry_policy.
struct retry_settings {
  std::chrono::milliseconds pause{10};
  double multiplier = 2.0;
  std::chrono::milliseconds max_pause{250};
  double jitter = 0.5;
  unsigned limit = std::numeric_limits<unsigned>::max();  // which means no limit

  bool limited() const noexcept { return limit != std::numeric_limits<unsigned>::max(); }
  bool operator==(const retry_settings&) const = default;
};

/// The fields of lock_options, in their order. lock_options.cpp does not compile if one is missing.
struct lock_settings {
  std::chrono::milliseconds ttl{30'000};
  std::chrono::milliseconds wait{10'000};
  dlock::renewal renewal = dlock::renewal::automatic;
  dlock::reentry reentry = dlock::reentry::allow;
  retry_settings retry{};
  std::chrono::milliseconds min_hold{0};
  std::chrono::milliseconds max_hold{0};
  dlock::fairness fairness = dlock::fairness::none;
  std::chrono::milliseconds linger{0};
  std::stop_token cancel{};
  lock_mode mode{};

  bool operator==(const lock_settings&) const = default;
};

/// Takes each field that `given` leaves open from `defaults`. Validates nothing.
DLOCK_EXPORT lock_settings settled(const lock_options& given, const lock_settings& defaults = {});
/// These settings as options, none of them open.
lock_options as_options(const lock_settings& settings);

/// Throw std::invalid_argument naming the first bad field and its value.
DLOCK_EXPORT void validate(const lock_settings& settings);
void validate(const lock_settings& settings, const service_options& in);

}  // namespace dlock::detail
