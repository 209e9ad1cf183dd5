// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/detail/cxx20.hpp"
//
#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// 128 random bits that name a session. All zero means "none".
struct id128 {
  std::array<unsigned char, 16> bytes{};

  /// From the operating system's generator; never zero.
  /// Errors: std::system_error, the generator failed.
  static id128 random();
  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
  /// Reads such a text. Returns nothing for another text.
  static std::optional<id128> parse(std::string_view hex) noexcept;

  explicit operator bool() const noexcept { return *this != id128{}; }
  friend bool operator==(const id128&, const id128&) noexcept = default;
  friend auto operator<=>(const id128&, const id128&) noexcept = default;
};

}  // namespace dlock
