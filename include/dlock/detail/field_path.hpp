// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/pfr/core.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

#include "dlock/detail/field_names.hpp"
#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/key_pattern.hpp"

// Follows a path of field names through aggregates: what {o.customer.id} of a key pattern means.
namespace dlock::detail {

// Ends the compilation unless the field was found. The name in single characters: clang 14 prints a
// fixed_string as numbers, and the name is what the reader of the error needs.
template <class T, bool Found, char... Name>
constexpr bool check_field() noexcept {
  static_assert(Found,
                "dlock: a {path} of the key pattern names a field that the type does not have; the compiler shows "
                "type and name as check_field<type, ..., 'n', 'a', 'm', 'e'>");
  return Found;
}

// Which field of T the first name of Path is; ends the compilation when none is.
template <fixed_string Path, class T, std::size_t... I>
constexpr std::size_t first_field(std::index_sequence<I...>) noexcept {
  constexpr std::size_t index = field_index<T>({Path.chars, sizeof...(I)});
  return check_field<T, index != no_field, Path.chars[I]...>() ? index : no_field;
}

// Follows Path ("customer.id") from `object` on; the object itself when Path is empty.
template <fixed_string Path, class T>
constexpr const auto& walk(const T& object) noexcept {
  if constexpr (Path.size() == 0) {
    return object;
  } else {
    static_assert(walkable<T>,
                  "dlock: a {path} of the key pattern goes on into a type that is not an aggregate; for classes "
                  "with private members, pointers and the like use key_of(\"...\", arg<1>(&type::member))");
    static_assert(
        !has_base<T>,
        "dlock: a {path} of the key pattern goes on into a class that has a base class, whose fields can't be "
        "found by their names; use key_of(\"...\", arg<1>(&type::member))");
    if constexpr (walkable<T> && !has_base<T>) {
      constexpr std::size_t index = first_field<Path, T>(std::make_index_sequence<head_of(Path.view()).size()>());
      if constexpr (index != no_field) {
        constexpr std::size_t rest = rest_of(Path.view()).size();
        return walk<slice<Path, Path.size() - rest, rest>()>(boost::pfr::get<index>(object));
      } else {
        return no_field;  // one error is enough: let the rest compile
      }
    } else {
      return no_field;
    }
  }
}

}  // namespace dlock::detail
