// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dlock/detail/field_names.hpp"
#include "dlock/lock_options.hpp"

// The ranges of the times in lock_options, for validate() and for dlock-gen, which says the same of a literal.
namespace dlock::detail {

struct time_limits {
  std::string_view field;
  std::chrono::milliseconds least;
  std::chrono::milliseconds most;
  const char* rule;
};

inline constexpr std::array option_limits{
    // Of a lease that is renewed the range is narrower.
    time_limits{"ttl", std::chrono::milliseconds{10}, std::chrono::hours{24 * 30}, "must be 10 ms to 30 days"},
    time_limits{"wait", {}, std::chrono::hours{24 * 365}, "must be 0 to 365 days, or wait_forever"},
    time_limits{"min_hold", {}, std::chrono::hours{24 * 30}, "must be 0 to 30 days"},
    time_limits{"max_hold", {}, std::chrono::hours{24 * 365}, "must be 0 (no cap) to 365 days"},
    time_limits{"linger", {}, std::chrono::hours{1}, "must be 0 (off) to the ttl"},
};

/// Empty if the field is not a time. By value, because with -fsanitize=undefined g++ 12 takes no comparison of a
/// pointer with nullptr for a constant.
constexpr std::optional<time_limits> limits_of(std::string_view field) noexcept {
  for (const auto& each : option_limits) {
    if (each.field == field) return each;
  }
  return std::nullopt;
}

static_assert(
    []<std::size_t... I>(std::index_sequence<I...>) {
      return ((std::is_same_v<boost::pfr::tuple_element_t<I, lock_options>, optional_time> ==
               limits_of(field_name<lock_options, I>()).has_value()) &&
              ...);
    }(std::make_index_sequence<boost::pfr::tuple_size_v<lock_options>>()),
    "each time in lock_options needs its range in option_limits, and nothing else may have one");

}  // namespace dlock::detail
