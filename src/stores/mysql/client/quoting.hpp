// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Names and values in SQL text.

#include <string>
#include <string_view>

#include "dlock/store_interface/verification.hpp"

namespace dlock::stores::mysql {

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
