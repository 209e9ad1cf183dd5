// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/pfr/core.hpp>
#include <boost/pfr/tuple_size.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dlock/detail/key_pattern.hpp"

#if __has_include(<boost/pfr/core_name.hpp>)
#include <boost/pfr/core_name.hpp>
#endif

// Names of the fields of an aggregate: Boost.PFR's where it has them (Boost 1.84 and later), otherwise read
// out of the compiler's own name for a pointer to the field.
namespace dlock::detail {

inline constexpr std::size_t no_field = static_cast<std::size_t>(-1);

// What key<"..."> can walk into.
template <class T>
concept walkable = std::is_class_v<T> && std::is_aggregate_v<T>;

// Stands for any base class of T, and for nothing else.
template <class T>
struct any_base_of {
  template <class Base, class = std::enable_if_t<std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>>>
  operator Base() const noexcept;
};

// Whether an aggregate has a base class: that is the first thing that initializes it.
template <class T>
concept has_base = requires {
  T{any_base_of<T>{}};
};

#if defined(BOOST_PFR_CORE_NAME_ENABLED) && BOOST_PFR_CORE_NAME_ENABLED

template <class T, std::size_t I>
constexpr std::string_view field_name() noexcept {
  return boost::pfr::get_name<I, T>();
}

#else

template <class T>
struct never_defined {
  const T value;
};

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

// Only its fields' addresses are taken, and only at compile time.
template <class T>
extern const never_defined<T> fake_object;

// clang 14 takes a pointer to a subobject as a template argument only inside a class.
template <class Pointer>
struct field_pointer {
  Pointer pointer;
};

template <class Pointer>
field_pointer(Pointer) -> field_pointer<Pointer>;

// No std:: type in the signature: g++ would explain it after the part that is looked for.
template <auto Field>
constexpr auto spelled() noexcept {
  return __PRETTY_FUNCTION__;
}

// The last identifier in the compiler's spelling, "... Field = {... &order::id ...}]".
constexpr std::string_view last_name(std::string_view text) noexcept {
  while (!text.empty() && !is_name_char(text.back())) text.remove_suffix(1);
  std::size_t begin = text.size();
  while (begin != 0 && is_name_char(text[begin - 1])) --begin;
  return text.substr(begin);
}

template <class T, std::size_t I>
constexpr std::string_view field_name() noexcept {
  return last_name(spelled<field_pointer{&boost::pfr::get<I>(fake_object<T>.value)}>());
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif

struct name_probe {
  int first;
  std::string_view second_1;
};

static_assert(field_name<name_probe, 0>() == "first" && field_name<name_probe, 1>() == "second_1",
              "dlock: field names cannot be read with this compiler; use Boost 1.84 or later, or key_of");

// Which field of T is called `name`; no_field when none is.
template <class T>
constexpr std::size_t field_index(std::string_view name) noexcept {
  return [name]<std::size_t... I>(std::index_sequence<I...>) {
    std::size_t found = no_field;
    ((field_name<T, I>() == name ? void(found = I) : void()), ...);
    return found;
  }
  (std::make_index_sequence<boost::pfr::tuple_size_v<T>>());
}

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
