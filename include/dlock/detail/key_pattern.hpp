// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string_view>

#include "dlock/detail/fixed_string.hpp"

// Splits the text of key<"..."> at compile time. Grammar:
//   pattern := literal (part literal)*        two parts have a ':' somewhere between them
//   part    := '{' name ('.' name)* '}'
//   literal := any text; "{{" and "}}" stand for single braces
namespace dlock::detail {

enum class pattern_fault { none, empty, unclosed, stray, empty_braces, bad_path, no_separator };

struct pattern_part {
  std::size_t literal = 0;  // text before the value: offset in parsed_pattern::text
  std::size_t literal_size = 0;
  std::size_t path = 0;  // what stands in the braces: offset in the pattern
  std::size_t path_size = 0;
};

template <std::size_t N>
struct parsed_pattern {
  pattern_fault fault = pattern_fault::none;
  char text[N]{};  // the literals, unescaped
  std::size_t text_size = 0;
  pattern_part parts[N / 3 + 1]{};  // a part takes three characters at least
  std::size_t count = 0;
  std::size_t tail = 0;  // where in `text` the literal after the last part begins
};

constexpr bool is_name_start(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);  // above 0x7f: identifiers may be written in UTF-8
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || byte >= 0x80;
}

constexpr bool is_name_char(char c) noexcept { return is_name_start(c) || (c >= '0' && c <= '9'); }

constexpr bool is_name(std::string_view text) noexcept {
  if (text.empty() || !is_name_start(text.front())) return false;
  for (const char c : text) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

// Where `wanted` is in `text`; the size when it is not. Not string_view::find: g++ 12 with
// -fsanitize=undefined cannot evaluate that at compile time for the text of a template argument.
constexpr std::size_t find_char(std::string_view text, char wanted) noexcept {
  std::size_t at = 0;
  while (at != text.size() && text[at] != wanted) ++at;
  return at;
}

constexpr std::string_view head_of(std::string_view path) noexcept { return path.substr(0, find_char(path, '.')); }

constexpr std::string_view rest_of(std::string_view path) noexcept {
  const std::size_t dot = find_char(path, '.');
  return dot == path.size() ? std::string_view() : path.substr(dot + 1);
}

constexpr bool is_path(std::string_view path) noexcept {
  for (;;) {
    if (!is_name(head_of(path))) return false;
    if (find_char(path, '.') == path.size()) return true;
    path = rest_of(path);
  }
}

// One '{...}' at `at`; returns the offset behind it, or sets fault.
template <std::size_t N>
constexpr std::size_t parse_part(parsed_pattern<N>& result, std::string_view pattern, std::size_t at) noexcept {
  std::size_t close = at + 1;
  while (close != pattern.size() && pattern[close] != '{' && pattern[close] != '}') ++close;
  if (close == pattern.size() || pattern[close] == '{') {
    result.fault = pattern_fault::unclosed;
    return pattern.size();
  }
  const std::string_view path = pattern.substr(at + 1, close - at - 1);
  const std::string_view before(result.text + result.tail, result.text_size - result.tail);
  if (path.empty()) {
    result.fault = pattern_fault::empty_braces;
  } else if (!is_path(path)) {
    result.fault = pattern_fault::bad_path;
  } else if (result.count != 0 && find_char(before, ':') == before.size()) {
    result.fault = pattern_fault::no_separator;
  } else {
    result.parts[result.count++] = {result.tail, before.size(), at + 1, path.size()};
    result.tail = result.text_size;
  }
  return close + 1;
}

template <std::size_t N>
constexpr parsed_pattern<N> parse_pattern(const fixed_string<N>& source) noexcept {
  parsed_pattern<N> result;
  const std::string_view pattern = source.view();
  if (pattern.empty()) result.fault = pattern_fault::empty;
  std::size_t at = 0;
  while (at < pattern.size() && result.fault == pattern_fault::none) {
    const char c = pattern[at];
    const bool doubled = at + 1 < pattern.size() && pattern[at + 1] == c;
    if (c == '{' && !doubled) {
      at = parse_part(result, pattern, at);
    } else if (c == '}' && !doubled) {
      result.fault = pattern_fault::stray;
    } else {
      result.text[result.text_size++] = c;
      at += c == '{' || c == '}' ? 2 : 1;
    }
  }
  return result;
}

}  // namespace dlock::detail
