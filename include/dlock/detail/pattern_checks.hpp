// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/key_pattern.hpp"

// What a pattern holds, as constants, and whether it is one: the sentences that the compiler says where it is not.
namespace dlock::detail {

template <fixed_string Pattern>
inline constexpr auto parsed = parse_pattern(Pattern);

template <fixed_string Pattern>
constexpr std::string_view path_of(std::size_t part) noexcept {
  return Pattern.view().substr(parsed<Pattern>.parts[part].path, parsed<Pattern>.parts[part].path_size);
}

template <fixed_string Pattern>
constexpr std::string_view literal_before(std::size_t part) noexcept {
  return {parsed<Pattern>.text + parsed<Pattern>.parts[part].literal, parsed<Pattern>.parts[part].literal_size};
}

template <fixed_string Pattern>
constexpr std::string_view literal_tail() noexcept {
  return {parsed<Pattern>.text + parsed<Pattern>.tail, parsed<Pattern>.text_size - parsed<Pattern>.tail};
}

// The rank of part's head among the different heads, in order of first appearance; their number when `part`
// is the number of parts.
template <fixed_string Pattern>
constexpr std::size_t head_rank(std::size_t part) noexcept {
  const std::size_t count = parsed<Pattern>.count;
  std::size_t rank = 0;
  for (std::size_t i = 0; i != count; ++i) {
    const std::string_view head = head_of(path_of<Pattern>(i));
    if (part != count && head == head_of(path_of<Pattern>(part))) return rank;
    bool is_new = true;
    for (std::size_t j = 0; j != i; ++j) is_new = is_new && head_of(path_of<Pattern>(j)) != head;
    rank += is_new ? 1 : 0;
  }
  return rank;
}

// Ends the compilation with advice unless the pattern is well-formed.
template <fixed_string Pattern>
constexpr bool check_pattern() {
  constexpr pattern_fault fault = parsed<Pattern>.fault;
  static_assert(fault != pattern_fault::empty,
                "dlock: the key pattern is empty: write what is locked, e.g. \"order:{o.id}\"");
  static_assert(fault != pattern_fault::unclosed,
                "dlock: a '{' of the key pattern is never closed: add '}', or write \"{{\" for a brace itself");
  static_assert(fault != pattern_fault::stray,
                "dlock: a '}' of the key pattern closes nothing: remove it, or write \"}}\" for a brace itself");
  static_assert(fault != pattern_fault::empty_braces,
                "dlock: empty braces in the key pattern: name the value, e.g. {o.id}, or write \"{{}}\" for "
                "the braces themselves");
  static_assert(fault != pattern_fault::bad_path,
                "dlock: braces of the key pattern take a name or a path of names, e.g. {id} or "
                "{o.customer.id}: no blanks, no format, no calls");
  static_assert(fault != pattern_fault::no_separator,
                "dlock: two {parts} of the key pattern have no ':' between them, so different values could give "
                "the same key: write \"{a}:{b}\"");
  return fault == pattern_fault::none;
}

inline constexpr std::string_view ignored_name = "_";

// Ends the compilation with advice unless the listed names and the pattern's heads are the same set.
template <fixed_string Pattern, fixed_string... Names>
constexpr bool check_names() {
  constexpr std::array<std::string_view, sizeof...(Names)> names{Names.view()...};
  constexpr bool unique = [names] {
    for (std::size_t i = 0; i != names.size(); ++i) {
      for (std::size_t j = 0; j != i; ++j) {
        if (names[i] == names[j] && names[i] != ignored_name) return false;
      }
    }
    return true;
  }();
  constexpr bool used = [names] {
    for (const std::string_view name : names) {
      bool found = name == ignored_name;
      for (std::size_t i = 0; i != parsed<Pattern>.count; ++i) {
        found = found || head_of(path_of<Pattern>(i)) == name;
      }
      if (!found) return false;
    }
    return true;
  }();
  constexpr bool listed = [names] {
    for (std::size_t i = 0; i != parsed<Pattern>.count; ++i) {
      bool found = false;
      for (const std::string_view name : names) found = found || head_of(path_of<Pattern>(i)) == name;
      if (!found) return false;
    }
    return true;
  }();
  static_assert(unique, "dlock: a name is listed twice after the key pattern: each argument has one name");
  static_assert(used,
                "dlock: a name listed after the key pattern does not appear in it: remove it, or write \"_\" "
                "for an argument that the key leaves out");
  static_assert(listed,
                "dlock: the key pattern uses a name that is not listed after it: list the names of all "
                "arguments in their order");
  return unique && used && listed;
}

}  // namespace dlock::detail
