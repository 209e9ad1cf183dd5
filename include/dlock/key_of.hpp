// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dlock/append_part.hpp"
#include "dlock/detail/append_value.hpp"
#include "dlock/detail/invoke.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {

// What may be null instead of pointing to an object: raw and smart pointers, std::optional.
template <class T>
concept nullable = requires(const T& pointer) {
  *pointer;
  static_cast<bool>(pointer);
};

DLOCK_EXPORT [[noreturn]] void throw_null_argument(std::string_view prefix, std::size_t argument);
DLOCK_EXPORT std::string checked_prefix(std::string prefix);

// The projection of arg<N>().
struct itself {
  template <class T>
  constexpr const T& operator()(const T& value) const noexcept {
    return value;
  }
};

// Reads one part of a key from argument Index (counted from 1) of a call.
template <std::size_t Index, class Projection>
struct argument_part {
  Projection projection;

  template <class... Args>
  void append(std::string& out, std::string_view prefix, const std::tuple<const Args&...>& arguments) const {
    static_assert(Index <= sizeof...(Args),
                  "dlock: arg<N> of key_of asks for an argument that the call does not have: "
                  "N counts from 1");
    if constexpr (Index <= sizeof...(Args)) {
      append_from(out, prefix, std::get<Index - 1>(arguments));
    }
  }

 private:
  template <class Arg>
  void append_from(std::string& out, std::string_view prefix, const Arg& argument) const {
    static_assert(std::invocable<const Projection&, const Arg&>,
                  "dlock: arg<N>(projection) of key_of cannot be applied to argument N: use a member pointer or "
                  "const getter of its type, or a callable that takes it by const reference");
    if constexpr (std::invocable<const Projection&, const Arg&>) {
      if constexpr (nullable<Arg> && std::is_member_pointer_v<Projection>) {
        if (!static_cast<bool>(argument)) throw_null_argument(prefix, Index);
      }
      decltype(auto) value = detail::invoke(projection, argument);
      using value_type = std::remove_cvref_t<decltype(value)>;
      append_value<value_type>(out, value, prefix, argument_name);
    }
  }

  // "arg<7>" or "arg<12>", for messages.
  static constexpr char tens = static_cast<char>('0' + Index / 10);
  static constexpr char ones = static_cast<char>('0' + Index % 10);
  static constexpr char spelled[] = {'a', 'r', 'g', '<', Index < 10 ? ones : tens, Index < 10 ? '>' : ones, '>'};
  static constexpr std::string_view argument_name{spelled, Index < 10 ? 6 : 7};
};

}  // namespace detail

/// Composes keys by projections; made by key_of, called with the arguments of the function to be locked.
///
/// Thread safety: calls may run in parallel if the projections allow it.
template <class... Parts>
class projected_key {
 public:
  /// Errors: std::invalid_argument, the prefix is empty.
  explicit projected_key(std::string prefix, Parts... parts)
      : prefix_(detail::checked_prefix(std::move(prefix))), parts_(std::move(parts)...) {}

  /// The prefix, then ':' and the escaped value of each part. Arguments that no part asks for are left out.
  /// Errors: std::invalid_argument for an empty std::optional, a null pointer, or when an append_part refuses its
  /// value; what the projections throw.
  /// Cost: no round trip.
  template <class... Args>
  [[nodiscard]] lock_key operator()(const Args&... args) const {
    const std::tuple<const Args&...> arguments(args...);
    std::string text;
    text.reserve(prefix_.size() + sizeof...(Parts) * 21);
    text.append(prefix_);
    std::apply([&](const Parts&... parts) { ((text.push_back(':'), parts.append(text, prefix_, arguments)), ...); },
               parts_);
    return lock_key(std::move(text));
  }

 private:
  std::string prefix_;
  std::tuple<Parts...> parts_;
};

/// One part of key_of: what `projection` (a pointer to a member or const getter, a lambda; called through
/// std::invoke) makes of argument N of the call, counted from 1. A member pointer also works on pointers to
/// objects, raw and smart; a null one is an error.
template <std::size_t N, class Projection>
[[nodiscard]] constexpr auto arg(Projection projection) {
  static_assert(N >= 1 && N <= 99, "dlock: arg<N> counts arguments from 1");
  constexpr std::size_t index = N == 0 ? 1 : N;  // one error is enough
  return detail::argument_part<index, Projection>{std::move(projection)};
}

/// The argument N itself.
template <std::size_t N>
[[nodiscard]] constexpr auto arg() {
  return arg<N>(detail::itself());
}

/// Keys for classes with private members, which key<"..."> cannot look into:
///
///   const auto order_key = key_of("order", arg<1>(&order::id), arg<2>(&user::name));
///   order_key(o, u)    "order:<id>:<name>", as key<"order:{o.id}:{u.name}", "o", "u">(o, u)
///
/// The prefix is taken verbatim and must not be empty; values are escaped as key<"..."> escapes them, so different
/// values never give the same key. The projections are copied.
/// Errors: std::invalid_argument, the prefix is empty.
template <class... Parts>
[[nodiscard]] projected_key<Parts...> key_of(std::string prefix, Parts... parts) {
  return projected_key<Parts...>(std::move(prefix), std::move(parts)...);
}

}  // namespace dlock
