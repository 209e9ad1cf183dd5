// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "dlock/append_part.hpp"
#include "dlock/export.hpp"

namespace dlock::detail {

// Replaces, from `begin` on, '%' by "%25" and ':' by "%3A".
DLOCK_EXPORT void escape_tail(std::string& out, std::size_t begin);

DLOCK_EXPORT [[noreturn]] void throw_shrunk(std::string_view key_text, std::string_view part);
DLOCK_EXPORT [[noreturn]] void throw_bad_part(std::string_view key_text, std::string_view part, const char* reason);

// Room to reserve for a value; a guess where only append_part knows.
template <class T>
std::size_t size_hint(const T& value) {
  if constexpr (key_integer<T>) {
    return std::numeric_limits<T>::digits10 + 2;
  } else if constexpr (std::is_array_v<T>) {
    return std::extent_v<T>;
  } else if constexpr (std::is_convertible_v<const T&, std::string_view> && !std::is_pointer_v<T>) {
    return std::string_view(value).size();
  } else {
    return 20;
  }
}

// Ends the compilation with advice unless T can be a part of a key.
template <class T>
constexpr bool check_part() {
  constexpr bool is_pointer = (std::is_pointer_v<T> || std::is_null_pointer_v<T>)&&!key_part<T>;
  constexpr bool has_message = std::is_same_v<T, bool> || std::is_floating_point_v<T> || character<T> || is_pointer;
  static_assert(!std::is_same_v<T, bool>,
                "dlock: a bool cannot be part of a key: it makes two keys of everything there is; "
                "write an enumeration, or a text such as flag ? \"in\" : \"out\"");
  static_assert(!std::is_floating_point_v<T>,
                "dlock: floating point cannot be part of a key: equal values may print differently; "
                "use an integer in the smallest unit (cents, microseconds) or a text of your own");
  static_assert(!character<T>,
                "dlock: a single character cannot be part of a key: it may mean a letter or a number; "
                "pass a std::string_view of it, or an integer");
  static_assert(!is_pointer,
                "dlock: a pointer cannot be part of a key: an address means nothing on another machine; "
                "pass the object (*p) or its id");
  static_assert(key_part<T> || has_message,
                "dlock: this type cannot be part of a key: write "
                "void append_part(std::string& out, const T& value) beside it, or name one of its fields");
  return key_part<T>;
}

// Appends one value, escaped: the text of a value never holds a ':', so a ':' ends it for sure.
template <class T>
void append_raw(std::string& out, const T& value) {
  if constexpr (std::is_array_v<T>) {  // a char array that is full has no terminating zero
    const std::string_view text(value, std::extent_v<T>);
    out.append(text.substr(0, text.find('\0')));
  } else {
    append_part(out, value);
  }
}

// As append_raw, escaped; `key_text` and `part` name the place in messages.
template <class T>
void append_value(std::string& out, const T& value, std::string_view key_text, std::string_view part) {
  if constexpr (!check_part<T>()) {
    return;
  } else if constexpr (key_integer<T>) {
    append_part(out, value);
  } else {
    const std::size_t begin = out.size();
    try {
      append_raw(out, value);
    } catch (const std::invalid_argument& error) {
      throw_bad_part(key_text, part, error.what());
    }
    if (out.size() < begin) throw_shrunk(key_text, part);
    for (std::size_t i = begin; i != out.size(); ++i) {
      if (out[i] == ':' || out[i] == '%') return escape_tail(out, i);
    }
  }
}

}  // namespace dlock::detail
