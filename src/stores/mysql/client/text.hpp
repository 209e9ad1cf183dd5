// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/verification.hpp"

namespace dlock::stores::mysql {

/// The first `characters` of a text as well-formed UTF-8: a '?' for each byte that is none. What a strict
/// server takes whatever the host's name or the user's label holds.
std::string clip_utf8(std::string_view text, std::size_t characters);

bool is_utf8(std::string_view text) noexcept;

/// An id as a BINARY(16) column has it.
std::string_view bytes_of(const id128& id) noexcept;
/// Zero for NULL, which is no bytes at all, and for anything but 16 bytes.
id128 id_of(std::string_view bytes) noexcept;

/// A number as the server writes it; NULL: 0.
std::int64_t integer_of(const std::optional<std::string>& text) noexcept;
std::uint64_t unsigned_of(const std::optional<std::string>& text) noexcept;

// ---- in SQL ---------------------------------------------------------------------------------------------------------

/// 'X''0A1B''': any bytes as a literal that needs no escaping, whatever the character set.
std::string mysql_literal(std::string_view bytes);
inline std::string mysql_literal(const id128& id) { return mysql_literal(bytes_of(id)); }
/// "`name`", with the quotation marks inside doubled.
std::string quote_mysql_name(std::string_view name);
/// Whether a text can stand between single quotation marks as it is: printable ASCII, without them and without
/// backslashes.
bool needs_no_escaping(std::string_view text) noexcept;
/// A text in utf8mb4, as a literal: as it is where it can.
std::string mysql_text_literal(std::string_view text);
/// A value as a literal, whatever the character set.
std::string mysql_value_literal(const verification::parameter& value);

}  // namespace dlock::stores::mysql
