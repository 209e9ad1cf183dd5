// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Names and values in SQL text.

#include <string>
#include <string_view>

#include "dlock/store_interface/verification.hpp"

namespace dlock::stores::mysql {

/// "`db`.`table`" without its database and quotation marks: "table".
std::string bare_table(std::string_view quoted);
/// "`name`", with the quotation marks inside doubled.
std::string quote_mysql_name(std::string_view name);
/// Whether a text can stand between single quotation marks as it is: printable ASCII, without them and without
/// backslashes.
bool needs_no_escaping(std::string_view text) noexcept;
/// A text in utf8mb4, as a literal: as it is where it can.
std::string mysql_text_literal(std::string_view text);
/// A value as a literal, whatever the character set.
std::string mysql_value_literal(const verification::parameter& value);

/// A value of a statement.
struct bound {
  verification::parameter value;
  std::string literal{};  ///< empty: as mysql_value_literal() has it
};

/// A statement made in two forms at once: with markers and parameters, and as one text.
struct bound_sql {
  verification statement{};

  bound_sql& operator<<(std::string_view sql);
  bound_sql& operator<<(const bound& parameter);
};

}  // namespace dlock::stores::mysql
