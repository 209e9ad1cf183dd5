// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "dlock/export.hpp"

namespace dlock::detail {

// SHA-256 (FIPS 180-4) of the bytes of `text`.
DLOCK_EXPORT std::array<std::uint8_t, 32> sha256(std::string_view text) noexcept;

// The same as 64 lower-case hex digits.
DLOCK_EXPORT std::string sha256_hex(std::string_view text);

}  // namespace dlock::detail
