// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <string>

#include "dlock/lock_key.hpp"

/// Lets fmt and spdlog print a dlock::lock_key as printable() writes it; takes the format specification of a
/// string. A header of its own, so that lock_key.hpp needs no fmt.
template <>
struct fmt::formatter<dlock::lock_key> : fmt::formatter<std::string> {
  template <class FormatContext>
  auto format(const dlock::lock_key& key, FormatContext& context) const {
    return fmt::formatter<std::string>::format(dlock::printable(key), context);
  }
};
