// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the output of dlock-gen calls (docs/annotations.md). Only generated code includes this header.

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dlock/append_part.hpp"
#include "dlock/detail/append_value.hpp"
#include "dlock/detail/lease_call.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"

namespace dlock::detail {

/// The generated code asks for this number: output of another release of dlock-gen does not compile by accident.
inline constexpr int annotated_code = 1;

/// A value of a key, and what the author called it.
template <class T>
struct key_value {
  std::string_view name;
  const T& value;
};
/// Ends the compilation, at the annotation's line, unless T can be a part of a key.
template <class T>
constexpr key_value<T> named_value(std::string_view name, const T& value) noexcept {
  static_cast<void>(check_part<T>());
  return {name, value};
}

inline std::size_t piece_size(std::string_view literal) noexcept { return literal.size(); }
template <class T>
std::size_t piece_size(const key_value<T>& piece) {
  return size_hint(piece.value);
}
inline void append_piece(std::string& out, std::string_view, std::string_view literal) { out.append(literal); }
template <class T>
void append_piece(std::string& out, std::string_view key_text, const key_value<T>& piece) {
  append_value(out, piece.value, key_text, piece.name);
}

/// Composes a key as key<"..."> does: literals as they are, values escaped. dlock-gen has checked the template.
template <class... Pieces>
lock_key annotated_key(std::string_view key_text, const Pieces&... pieces) {
  std::string text;
  text.reserve((std::size_t{0} + ... + piece_size(pieces)));
  (append_piece(text, key_text, pieces), ...);
  return lock_key(std::move(text));
}

template <class T>
concept tests_for_null = requires(const T& pointer) {
  static_cast<bool>(pointer);
};
[[noreturn]] inline void throw_null(std::string_view key_text, std::string_view part) {
  throw std::invalid_argument("dlock: key '" + std::string(key_text) + "': '" + std::string(part) +
                              "' is null, and a key needs a value");
}
/// What "->" follows in a template.
template <class T>
const T& not_null(std::string_view key_text, std::string_view part, const T& pointer) {
  if constexpr (tests_for_null<T>) {
    if (!static_cast<bool>(pointer)) throw_null(key_text, part);
  }
  return pointer;
}

/// The object of a wrapper, which the wrapper owns or only refers to.
template <class T>
std::shared_ptr<T> wrapped_object(T& object) noexcept {
  return std::shared_ptr<T>(std::shared_ptr<T>(), &object);
}
template <class T>
std::shared_ptr<T> wrapped_object(std::shared_ptr<T> object) {
  if (object == nullptr) throw std::invalid_argument("dlock: a wrapper needs an object, and was given a null pointer");
  return object;
}

/// with_lock() of a lease that may be empty: then `busy` gives the result.
template <class Held, class F, class Busy>
result_under_t<Held, F> call_or(Held held, F&& fn, Busy&& busy) {
  if (!held) return std::forward<Busy>(busy)();
  return call_checked(std::move(held), std::forward<F>(fn));
}

}  // namespace dlock::detail
