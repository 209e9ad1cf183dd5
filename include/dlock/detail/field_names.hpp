// SPDX-License-Identifier: BSL-1.0
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

// Pointers to the fields of a type, which compilers print with the fields' names.
template <auto... Fields>
struct pointers_to_fields {};
template <class T, std::size_t... I>
constexpr auto point_to_fields(std::index_sequence<I...>) noexcept {
  return pointers_to_fields<field_pointer{&boost::pfr::get<I>(fake_object<T>.value)}...>();
}
#define DLOCK_DETAIL_POINTERS_TO_FIELDS

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif

struct name_probe {
  int first;
  std::string_view second_1;
};

// Looked at by the first key with a field, so that a program without one doesn't pay for it.
template <class Probe>
inline constexpr bool names_are_read = field_name<Probe, 0>() == "first" && field_name<Probe, 1>() == "second_1";

// Which field of T is called `name`; no_field when none is.
template <class T>
constexpr std::size_t field_index(std::string_view name) noexcept {
  static_assert(names_are_read<std::enable_if_t<walkable<T>, name_probe>>,
                "dlock: field names cannot be read with this compiler; use Boost 1.84 or later, or key_of");
  return [name]<std::size_t... I>(std::index_sequence<I...>) {
    std::size_t found = no_field;
    ((field_name<T, I>() == name ? void(found = I) : void()), ...);
    return found;
  }
  (std::make_index_sequence<boost::pfr::tuple_size_v<T>>());
}

}  // namespace dlock::detail
