// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "dlock/detail/append_value.hpp"
#include "dlock/detail/field_path.hpp"
#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/pattern_checks.hpp"
#include "dlock/lock_key.hpp"

// Puts a key together from a pattern and the arguments of a call.
namespace dlock::detail {

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
  // How many arguments a call takes, where names are listed; zero says: as many as there are heads, so one or none.
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
      // By their order alone, "{u.id}:{o.id}" would take the values of (o, u) for one another.
      static_assert(Count < 2 || heads == 0,
                    "dlock: which name of the key pattern is which of several arguments? List the names after the "
                    "pattern, in the order of the arguments: key<\"{o.id}:{u.id}\", \"o\", \"u\">(o, u), "
                    "locked<\"{o.id}\", \"o\", \"_\">(fn); \"_\" stands for one that the key leaves out");
      static_assert(Count == heads || (Count >= 2 && heads != 0),
                    "dlock: the key pattern names more or fewer arguments than the call passes");
      return Count == heads && Count < 2;
    }
  }

  template <std::size_t Part>
  static constexpr std::size_t argument_index() noexcept {
    if constexpr (sizeof...(Names) == 0) {
      return 0;
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
