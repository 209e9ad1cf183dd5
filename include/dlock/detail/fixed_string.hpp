// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string_view>

namespace dlock::detail {

// A string literal as a template argument. Members are public because a template argument's type must be
// structural; N counts the terminating zero.
template <std::size_t N>
struct fixed_string {
  char chars[N]{};

  constexpr fixed_string() = default;

  // Implicit: that is what lets key<"order:{id}"> be written.
  constexpr fixed_string(const char (&text)[N]) noexcept {
    for (std::size_t i = 0; i != N; ++i) chars[i] = text[i];
  }

  constexpr std::size_t size() const noexcept { return N - 1; }
  constexpr std::string_view view() const noexcept { return {chars, N - 1}; }
};

// The Size characters of Text from Begin on, as a template argument again: errors then show the very part.
template <fixed_string Text, std::size_t Begin, std::size_t Size>
constexpr fixed_string<Size + 1> slice() noexcept {
  fixed_string<Size + 1> result;
  for (std::size_t i = 0; i != Size; ++i) result.chars[i] = Text.chars[Begin + i];
  return result;
}

}  // namespace dlock::detail
