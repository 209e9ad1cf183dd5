// SPDX-License-Identifier: BSL-1.0
#include "dlock/append_part.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <stdexcept>

#include "dlock/detail/append_value.hpp"
#include "dlock/key_of.hpp"

namespace dlock::detail {

namespace {

template <class Integer>
void append_digits(std::string& out, Integer value) {
  char digits[std::numeric_limits<Integer>::digits10 + 3];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void append_number(std::string& out, std::int64_t value) { append_digits(out, value); }
void append_number(std::string& out, std::uint64_t value) { append_digits(out, value); }

void throw_null_part() { throw std::invalid_argument("is a null pointer"); }

void throw_empty_part() { throw std::invalid_argument("is an empty optional"); }

void append_hex(std::string& out, const void* bytes, std::size_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto* byte = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i != size; ++i) {
    out.push_back(digits[byte[i] >> 4]);
    out.push_back(digits[byte[i] & 15]);
  }
}

void escape_tail(std::string& out, std::size_t begin) {
  const std::string raw = out.substr(begin);
  out.resize(begin);
  for (const char c : raw) {
    if (c == '%') {
      out.append("%25");
    } else if (c == ':') {
      out.append("%3A");
    } else {
      out.push_back(c);
    }
  }
}

void throw_bad_part(std::string_view key_text, std::string_view part, const char* reason) {
  throw std::invalid_argument(
      fmt::format("dlock: key '{}': part '{}' {}", printable_text(key_text), printable_text(part), reason));
}

void throw_shrunk(std::string_view key_text, std::string_view part) {
  throw_bad_part(key_text, part, "was written by an append_part that removed text instead of appending");
}

void throw_null_argument(std::string_view prefix, std::size_t argument) {
  throw_bad_part(prefix, fmt::format("arg<{}>", argument), "is null");
}

std::string checked_prefix(std::string prefix) {
  if (prefix.empty()) throw std::invalid_argument("dlock: key_of: prefix '' is empty; name what is locked");
  return prefix;
}

}  // namespace dlock::detail
