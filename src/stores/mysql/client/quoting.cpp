// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/quoting.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "stores/mysql/client/native.hpp"

namespace dlock::stores::mysql {

std::string quote_mysql_name(std::string_view name) {
  std::string text = "`";
  for (const char c : name) text.append(c == '`' ? 2 : 1, c);
  return text + "`";
}

bool needs_no_escaping(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\'' && c != '\\'; });
}

std::string mysql_text_literal(std::string_view text) {
  if (!needs_no_escaping(text)) return "_utf8mb4 " + mysql_literal(text);
  std::string literal;
  literal.reserve(text.size() + 2);
  return literal.append(1, '\'').append(text).append(1, '\'');
}

std::string mysql_value_literal(const verification::parameter& value) {
  struct to_literal {
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(std::uint64_t number) const { return std::to_string(number); }
    std::string operator()(const std::string& text) const {
      const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '+';
      });
      return plain ? "'" + text + "'" : "_utf8mb4 " + mysql_literal(text);
    }
    std::string operator()(const verification::bytes& bytes) const { return mysql_literal(bytes.value); }
  };
  return std::visit(to_literal{}, value);
}

}  // namespace dlock::stores::mysql
