// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dlock/export.hpp"

namespace dlock::detail {

/// A text as messages show it: bytes that no terminal shows as themselves are written as \xNN.
DLOCK_EXPORT std::string printable_text(std::string_view text);

/// A process as messages and marks name it: "host/pid label", without the label if that is empty.
DLOCK_EXPORT std::string describe_process(std::string_view host, std::int64_t pid, std::string_view label);

}  // namespace dlock::detail

namespace dlock::base {

/// Replaces A to Z by small letters in every locale, as databases compare names.
inline std::string lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lowered;
}

}  // namespace dlock::base
