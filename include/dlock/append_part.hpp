// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/detail/cxx20.hpp"
//
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// append_part(out, value) appends the text that stands for `value` inside a key. The customisation point of
/// key<"..."> and key_of: to let a type of your own be part of a key, write a function beside it,
///
///   void append_part(std::string& out, const order_id& id) { dlock::append_part(out, id.value); }
///
/// It is found by argument-dependent lookup. What it must keep: different values give different texts, the
/// same value gives the same text in every process and version, and `out` only grows. Do not escape: the
/// composer escapes ':' and '%' in what was appended. To refuse a value throw std::invalid_argument with the
/// reason; the composer adds which part of which key it was.
///
/// Deliberately not parts: floating point (equal values print differently), bool (two keys for all values),
/// single characters (a letter or a number?) and pointers other than const char* (an address means nothing on
/// another machine). The compile error says what to write instead.
///
/// Thread safety: all of these are pure functions.
/// Cost: no round trip.

namespace detail {

template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

template <class T>
concept key_integer = std::integral<T> && !std::same_as<T, bool> && !character<T> && sizeof(T) <= 8;

template <class T>
concept key_byte = std::same_as<T, std::byte> || std::same_as<T, std::uint8_t>;

DLOCK_EXPORT [[noreturn]] void throw_null_part();
DLOCK_EXPORT [[noreturn]] void throw_empty_part();
DLOCK_EXPORT void append_hex(std::string& out, const void* bytes, std::size_t size);
DLOCK_EXPORT void append_number(std::string& out, std::int64_t value);
DLOCK_EXPORT void append_number(std::string& out, std::uint64_t value);

}  // namespace detail

/// Integers of up to 64 bits, in decimal: 42, -7. (std::int8_t and std::uint8_t are numbers, char is not.)
template <detail::key_integer T>
void append_part(std::string& out, T value) {
  if constexpr (std::is_signed_v<T>) {
    detail::append_number(out, std::int64_t{value});
  } else {
    detail::append_number(out, std::uint64_t{value});
  }
}

/// Enumerations, as the number behind them: the text then survives renaming an enumerator.
template <class T>
requires std::is_enum_v<T>
void append_part(std::string& out, T value) {
  using number = std::underlying_type_t<T>;
  if constexpr (detail::key_integer<number>) {
    append_part(out, static_cast<number>(value));
  } else {
    append_part(out, static_cast<std::int64_t>(value));
  }
}

/// Text: its bytes, any of them, also none.
inline void append_part(std::string& out, std::string_view text) { out.append(text); }

/// Text up to the terminating zero.
/// Errors: std::invalid_argument, a null pointer.
inline void append_part(std::string& out, const char* text) {
  if (text == nullptr) detail::throw_null_part();
  out.append(text);
}

/// A null pointer is no value.
void append_part(std::string& out, std::nullptr_t) = delete;

/// 16 bytes, such as a UUID: 32 lower-case hex digits, no dashes.
template <detail::key_byte Byte>
void append_part(std::string& out, const std::array<Byte, 16>& bytes) {
  detail::append_hex(out, bytes.data(), bytes.size());
}

/// The value inside.
/// Errors: std::invalid_argument, there is none: all rows without a value would share one key, which no author means.
template <class T>
requires requires(std::string& out, const T& value) { append_part(out, value); }
void append_part(std::string& out, const std::optional<T>& value) {
  if (!value) detail::throw_empty_part();
  append_part(out, *value);
}

/// A type that can be a part of a key.
template <class T>
concept key_part = requires(std::string& out, const T& value) {
  append_part(out, value);
};

}  // namespace dlock
