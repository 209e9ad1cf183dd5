// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dlock/detail/append_value.hpp"
#include "dlock/detail/field_names.hpp"
#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/key_pattern.hpp"
#include "dlock/lock_key.hpp"

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
                "arguments in their order, or none");
  return unique && used && listed;
}

// Where the path of a part begins: in the argument itself, or behind the head that names the argument.
enum class binding { by_name, into_the_only_argument };

// key<"order:{id}">(o) walks into the only argument when the heads are its fields. A type that can be a part
// itself is never entered unasked: {id} is then a name for it.
template <fixed_string Pattern, class Arg>
constexpr binding bind_one() noexcept {
  if constexpr (walkable<Arg> && !key_part<Arg> && has_base<Arg>) {
    return binding::into_the_only_argument;  // whatever is meant: the walk says why it can't be found
  } else if constexpr (walkable<Arg> && !key_part<Arg>) {
    const std::size_t count = parsed<Pattern>.count;
    bool any_field = false;
    bool any_rest = false;
    for (std::size_t i = 0; i != count; ++i) {
      any_field = any_field || field_index<Arg>(head_of(path_of<Pattern>(i))) != no_field;
      any_rest = any_rest || !rest_of(path_of<Pattern>(i)).empty();
    }
    // Neither a field nor a way on: a misspelled field, and the walk says so.
    const bool misspelled = head_rank<Pattern>(count) == 1 && !any_rest;
    return any_field || misspelled ? binding::into_the_only_argument : binding::by_name;
  } else {
    return binding::by_name;
  }
}

template <fixed_string Pattern, fixed_string... Names, class... Args>
constexpr binding bind(const std::tuple<const Args&...>*) noexcept {
  if constexpr (sizeof...(Names) == 0 && sizeof...(Args) == 1 && parsed<Pattern>.count != 0) {
    return (bind_one<Pattern, Args>(), ...);
  } else {
    return binding::by_name;
  }
}

// key<Pattern, Names...> as a type: stateless, its calls may run in parallel. Decorators call it with the
// arguments of the function they wrap.
template <fixed_string Pattern, fixed_string... Names>
struct key_composer {
  // How many arguments a call takes, where names are listed; zero says: as many as there are heads, or one.
  static constexpr std::size_t named_arguments = sizeof...(Names);

  template <class... Args>
  lock_key operator()(const Args&... args) const {
    std::string text;
    if constexpr (check_pattern<Pattern>()) {
      using arguments = std::tuple<const Args&...>;
      constexpr binding bound = bind<Pattern, Names...>(static_cast<const arguments*>(nullptr));
      if constexpr (check_arguments<bound, sizeof...(Args)>()) {
        compose<bound>(text, arguments(args...), std::make_index_sequence<parsed<Pattern>.count>());
      }
    }
    return lock_key(std::move(text));
  }

 private:
  template <binding Bound, std::size_t Count>
  static constexpr bool check_arguments() {
    if constexpr (Bound == binding::into_the_only_argument) {
      return true;
    } else if constexpr (sizeof...(Names) != 0) {
      static_assert(Count == sizeof...(Names),
                    "dlock: the call passes more or fewer arguments than names are listed after the key pattern");
      return check_names<Pattern, Names...>() && Count == sizeof...(Names);
    } else {
      constexpr std::size_t heads = head_rank<Pattern>(parsed<Pattern>.count);
      static_assert(Count == heads,
                    "dlock: the key pattern names more or fewer arguments than the call passes: names bind to "
                    "arguments in order of first appearance, so each argument needs one name");
      return Count == heads;
    }
  }

  template <std::size_t Part>
  static constexpr std::size_t argument_index() noexcept {
    if constexpr (sizeof...(Names) == 0) {
      return head_rank<Pattern>(Part);
    } else {
      constexpr std::array<std::string_view, sizeof...(Names)> names{Names.view()...};
      std::size_t index = 0;
      while (names[index] != head_of(path_of<Pattern>(Part))) ++index;
      return index;
    }
  }

  // The value of one part: the argument, walked along the path.
  template <binding Bound, std::size_t Part, class Arguments>
  static constexpr const auto& value_of(const Arguments& arguments) noexcept {
    constexpr pattern_part part = parsed<Pattern>.parts[Part];
    if constexpr (Bound == binding::into_the_only_argument) {
      return walk<slice<Pattern, part.path, part.path_size>()>(std::get<0>(arguments));
    } else {
      constexpr std::size_t rest = rest_of(path_of<Pattern>(Part)).size();
      constexpr std::size_t begin = part.path + part.path_size - rest;
      return walk<slice<Pattern, begin, rest>()>(std::get<argument_index<Part>()>(arguments));
    }
  }

  template <binding Bound, class Arguments, std::size_t... Part>
  static void compose(std::string& text, const Arguments& arguments, std::index_sequence<Part...>) {
    text.reserve((parsed<Pattern>.text_size + ... + size_hint(value_of<Bound, Part>(arguments))));
    ((text.append(literal_before<Pattern>(Part)),
      append_value(text, value_of<Bound, Part>(arguments), Pattern.view(), path_of<Pattern>(Part))),
     ...);
    text.append(literal_tail<Pattern>());
  }
};

}  // namespace dlock::detail
