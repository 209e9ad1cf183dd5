// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <variant>

namespace dlock::stores::mysql {
namespace {

/// The size of the code point that begins here, or 0 if none does.
std::size_t code_point_size(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i != size; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second > 0x9f;
  const bool too_large = lead == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_large ? 0 : size;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto size = text.front() == '\0' ? 1 : code_point_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string clip_utf8(std::string_view text, std::size_t characters) {
  std::string clipped;
  for (; !text.empty() && characters != 0; --characters) {
    const auto size = code_point_size(text);
    if (size == 0) {
      clipped.push_back('?');
    } else {
      clipped.append(text.substr(0, size));
    }
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return clipped;
}

std::string_view bytes_of(const id128& id) noexcept {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

id128 id_of(std::string_view bytes) noexcept {
  id128 id;
  if (bytes.size() == id.bytes.size()) std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

std::int64_t integer_of(const std::optional<std::string>& text) noexcept {
  return text ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

std::uint64_t unsigned_of(const std::optional<std::string>& text) noexcept {
  return text ? std::strtoull(text->c_str(), nullptr, 10) : 0;
}

// ---- in SQL ---------------------------------------------------------------------------------------------------------

std::string mysql_literal(std::string_view bytes) {
  std::string literal = "X'";
  literal.reserve(bytes.size() * 2 + 3);
  for (const char c : bytes) fmt::format_to(std::back_inserter(literal), "{:02X}", static_cast<unsigned char>(c));
  literal.push_back('\'');
  return literal;
}

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
