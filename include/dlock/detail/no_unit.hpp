// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <optional>
#include <stop_token>

#include "dlock/lock_options.hpp"

// {.wait = 5} is no lock_options, and compilers explain that by pages of overloads. What follows takes such lists, so
// that one sentence says what is wrong.
namespace dlock::detail {

struct any_time {
  template <class T>
  constexpr any_time(const T&) noexcept {}  // NOLINT(google-explicit-constructor)
};

/// The fields of lock_options, in their order.
struct options_without_units {
  any_time ttl = 0;
  any_time wait = 0;
  std::optional<dlock::renewal> renewal{};
  std::optional<dlock::reentry> reentry{};
  retry_policy retry{};
  any_time min_hold = 0;
  any_time max_hold = 0;
  std::optional<dlock::fairness> fairness{};
  std::optional<std::stop_token> cancel{};
};

template <class T>
concept without_units = std::same_as<T, options_without_units>;

/// What a call with such a list gives: nothing that can be compiled.
template <class T>
struct time_without_unit {
  static_assert(!without_units<T>,
                "dlock: a time in lock_options has a unit and is whole milliseconds: write {.wait = 5s} or {.wait = "
                "500ms}, not 5 "
                "or 0.5s; with using namespace std::chrono_literals, or std::chrono::seconds{5}");
};

}  // namespace dlock::detail
