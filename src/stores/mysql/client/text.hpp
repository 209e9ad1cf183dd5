// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/store_interface/id128.hpp"

namespace dlock::stores::mysql {

/// The first `characters` of a text as well-formed UTF-8: a '?' for each byte that is none. What a strict
/// server takes whatever the host's name or the user's label holds.
std::string clip_utf8(std::string_view text, std::size_t characters);

bool is_utf8(std::string_view text) noexcept;

/// With small letters instead of A to Z.
std::string lower_case(std::string_view text);

/// An id as a BINARY(16) column has it.
std::string_view bytes_of(const id128& id) noexcept;
/// Zero for NULL, which is no bytes at all, and for anything but 16 bytes.
id128 id_of(std::string_view bytes) noexcept;

/// A number as the server writes it; NULL: 0.
std::int64_t integer_of(const std::optional<std::string>& text) noexcept;
std::uint64_t unsigned_of(const std::optional<std::string>& text) noexcept;

}  // namespace dlock::stores::mysql
