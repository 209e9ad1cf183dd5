// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <optional>
#include <stop_token>

#include "dlock/lock_options.hpp"

// {.wait = 5} and {.timeout = 5s} are no lock_options, and compilers explain that by pages of overloads. What follows
// takes such lists, so that one sentence says what is wrong.
namespace dlock::detail {

struct any_time {
  template <class T>
  constexpr any_time(const T&) noexcept {}  // NOLINT(google-explicit-constructor)
};

#define DLOCK_DETAIL_LOCK_OPTION_FIELDS \
  "ttl, wait, renewal, reentry, retry, min_hold, max_hold, fairness, linger, cancel and mode"

/// The fields of lock_options, in their order. src/base/lock_options.cpp does not compile if one is missing.
struct options_without_units {
  any_time ttl = 0;
  any_time wait = 0;
  std::optional<dlock::renewal> renewal{};
  std::optional<dlock::reentry> reentry{};
  retry_policy retry{};
  any_time min_hold = 0;
  any_time max_hold = 0;
  std::optional<dlock::fairness> fairness{};
  any_time linger = 0;
  std::optional<std::stop_token> cancel{};
  std::optional<lock_mode> mode{};
  // What other libraries call them.
  any_time timeout = 0;
  any_time wait_time = 0;
  any_time wait_for = 0;
  any_time max_wait = 0;
  any_time expiry = 0;
  any_time expires = 0;
  any_time expiration = 0;
  any_time lease = 0;
  any_time lease_time = 0;
  any_time duration = 0;
  any_time time_to_live = 0;
  any_time retries = 0;
  any_time auto_renew = 0;
  any_time reentrant = 0;
  any_time fair = 0;
};

template <class T>
concept without_units = std::same_as<T, options_without_units>;

/// What a call with such a list gives: nothing that can be compiled.
template <class T>
struct time_without_unit {
  static_assert(!without_units<T>,
                "dlock: a time in lock_options has a unit and is whole milliseconds: write {.wait = 5s} or {.wait = "
                "500ms}, not 5 or 0.5s; with using namespace std::chrono_literals, or std::chrono::seconds{5}. Its "
                "fields are " DLOCK_DETAIL_LOCK_OPTION_FIELDS);
};

}  // namespace dlock::detail
