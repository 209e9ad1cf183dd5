// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/verification.hpp"

namespace dlock::stores::mysql {

/// The first `characters` of a text as well-formed UTF-8, with a '?' for each invalid byte, so that a strict server
/// accepts any host name and label.
std::string clip_utf8(std::string_view text, std::size_t characters);

bool is_utf8(std::string_view text) noexcept;

/// An id as the value of a BINARY(16) column.
std::string_view bytes_of(const id128& id) noexcept;
/// Returns zero for NULL, which has no bytes, and for anything but 16 bytes.
id128 id_of(std::string_view bytes) noexcept;

/// Reads a number from the server's text; NULL reads as 0.
std::int64_t integer_of(const std::optional<std::string>& text) noexcept;
std::uint64_t unsigned_of(const std::optional<std::string>& text) noexcept;

// ---- in SQL ---------------------------------------------------------------------------------------------------------

/// Writes bytes as a literal that needs no escaping in any character set, such as X'0A1B'.
std::string mysql_literal(std::string_view bytes);
inline std::string mysql_literal(const id128& id) { return mysql_literal(bytes_of(id)); }
/// Returns "`name`", with the quotation marks inside doubled.
std::string quote_mysql_name(std::string_view name);
/// Whether a text needs no escaping between single quotes: printable ASCII without single quotes and backslashes.
bool needs_no_escaping(std::string_view text) noexcept;
/// A text in utf8mb4 as a literal, quoted if it needs no escaping.
std::string mysql_text_literal(std::string_view text);
/// A value as a literal for any character set.
std::string mysql_value_literal(const verification::parameter& value);

}  // namespace dlock::stores::mysql
