// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "dlock/lock_key.hpp"

/// Lets fmt and spdlog print a dlock::lock_key with "{}", as printable() writes it. A separate header, so
/// that lock_key.hpp needs no fmt.
template <>
struct fmt::formatter<dlock::lock_key> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }

  template <class FormatContext>
  auto format(const dlock::lock_key& key, FormatContext& context) const {
    const std::string text = dlock::printable(key);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
