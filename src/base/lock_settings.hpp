// SPDX-License-Identifier: BSL-1.0
#pragma once

/// lock_options with nothing left open: what the engine works with. The values here are the library's defaults.

#include <chrono>
#include <limits>
#include <optional>
#include <stop_token>

#include "dlock/export.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/service_options.hpp"

namespace dlock::detail {

struct retry_settings {
  std::chrono::milliseconds pause{10};
  double multiplier = 2.0;
  std::chrono::milliseconds max_pause{250};
  double jitter = 0.5;
  std::optional<unsigned> limit{};  // none, or the greatest number: no limit

  bool limited() const noexcept { return limit && *limit != std::numeric_limits<unsigned>::max(); }
};

struct lock_settings {
  std::chrono::milliseconds ttl{30'000};
  std::chrono::milliseconds wait{10'000};
  dlock::renewal renewal = dlock::renewal::automatic;
  dlock::reentry reentry = dlock::reentry::allow;
  retry_settings retry{};
  std::chrono::milliseconds min_hold{0};
  std::chrono::milliseconds max_hold{0};
  dlock::fairness fairness = dlock::fairness::none;
  std::stop_token cancel{};
};

/// What is given, and what is not given from the defaults, field by field. Validates nothing.
DLOCK_EXPORT lock_settings settled(const lock_options& given, const lock_settings& defaults = {});
/// Whether there is a field that is not inherited.
inline bool gives_any(const lock_options& given) noexcept {
  const auto& retry = given.retry;
  return given.ttl || given.wait || given.renewal || given.reentry || given.min_hold || given.max_hold ||
         given.fairness || given.cancel || retry.pause || retry.multiplier || retry.max_pause || retry.jitter ||
         retry.limit;
}
/// The same with every field set.
lock_options as_options(const lock_settings& settings);

/// Throw std::invalid_argument naming the first bad field and its value.
DLOCK_EXPORT void validate(const lock_settings& settings);
void validate(const lock_settings& settings, const service_options& in);

}  // namespace dlock::detail
