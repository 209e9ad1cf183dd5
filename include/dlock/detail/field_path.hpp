// SPDX-License-Identifier: BSL-1.0
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

// The names of T's fields in one text: "id, name".
template <class T>
struct field_list {
  template <std::size_t... I>
  static constexpr std::size_t size_of(std::index_sequence<I...>) noexcept {
    return (std::size_t{1} + ... + (field_name<T, I>().size() + 2));
  }
  template <std::size_t... I>
  static constexpr auto make(std::index_sequence<I...> all) noexcept {
    fixed_string<size_of(all)> text;
    std::size_t end = 0;
    const auto append = [&](std::string_view part) {
      for (const char c : part) text.chars[end++] = c;
    };
    ((append(I == 0 ? "" : ", "), append(field_name<T, I>())), ...);
    return text;
  }
};
template <class T>
inline constexpr auto fields_of = field_list<T>::make(std::make_index_sequence<boost::pfr::tuple_size_v<T>>());

// A text as g++, and clang from 16 on, print it in an error. clang 14 prints a fixed_string as numbers: there in single
// characters.
#if defined(__clang__) && __clang_major__ < 16
template <char... Characters>
struct shown {};
template <fixed_string Text, std::size_t... I>
constexpr shown<Text.chars[I]...> show(std::index_sequence<I...>) noexcept {
  return {};
}
template <fixed_string Text>
using shown_text = decltype(show<Text>(std::make_index_sequence<Text.size()>()));
#else
template <fixed_string Text>
struct shown_text {};
#endif

// The fields of T in an error: where texts would be single characters, pointers, such as &fake_object.value.id.
#if defined(__clang__) && __clang_major__ < 16 && defined(DLOCK_DETAIL_POINTERS_TO_FIELDS)
template <class T>
using shown_fields = decltype(point_to_fields<T>(std::make_index_sequence<boost::pfr::tuple_size_v<T>>()));
#else
template <class T>
using shown_fields = shown_text<fields_of<T>>;
#endif

// Ends the compilation unless the field was found.
template <class T, bool Found, class Name, class FieldsThereAre>
constexpr bool check_field() noexcept {
  static_assert(
      Found,
      "dlock: a {path} of the key pattern names a field that the type does not have; the compiler shows the type, "
      "the name and the fields that there are as check_field<type, false, name, fields>");
  return Found;
}

// Which field of T the first name of Path is; ends the compilation when none is.
template <fixed_string Path, class T>
constexpr std::size_t first_field() noexcept {
  constexpr std::size_t size = head_of(Path.view()).size();
  constexpr std::size_t index = field_index<T>({Path.chars, size});
  if constexpr (index == no_field) {
    check_field<T, false, shown_text<slice<Path, 0, size>()>, shown_fields<T>>();
  }
  return index;
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
      constexpr std::size_t index = first_field<Path, T>();
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
