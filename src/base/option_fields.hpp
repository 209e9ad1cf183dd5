// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Iterates over the fields of lock_options by Boost.PFR, so that an operation on all of them covers new fields too.

#include <boost/pfr/core.hpp>
#include <boost/pfr/tuple_size.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dlock/detail/field_names.hpp"
#include "dlock/lock_options.hpp"

namespace dlock::detail {

template <class Options>
using field_indices = std::make_index_sequence<boost::pfr::tuple_size_v<Options>>;
template <class Options, std::size_t I>
using field_type = boost::pfr::tuple_element_t<I, Options>;

/// An option that may be left open, as opposed to a struct of such options.
template <class Field>
concept may_be_open = requires(const Field& field) {
  field.has_value();
};

/// Whether any field is set.
template <class Given>
constexpr bool gives_any(const Given& given) noexcept {
  if constexpr (may_be_open<Given>) {
    return given.has_value();
  } else {
    return [&given]<std::size_t... I>(std::index_sequence<I...>) {
      return (gives_any(boost::pfr::get<I>(given)) || ...);
    }
    (field_indices<Given>());
  }
}

/// Copies each field that is set to `to`.
template <class Given, class Settled>
void settle(const Given& given, Settled& to) {
  if constexpr (may_be_open<Given>) {
    if (given) to = *given;
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (settle(boost::pfr::get<I>(given), boost::pfr::get<I>(to)), ...);
    }
    (field_indices<Given>());
  }
}

/// Sets every field of `to`.
template <class Settled, class Given>
void give_all(const Settled& from, Given& to) {
  if constexpr (may_be_open<Given>) {
    to = from;
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (give_all(boost::pfr::get<I>(from), boost::pfr::get<I>(to)), ...);
    }
    (field_indices<Given>());
  }
}

/// Calls f(name, field) for each field.
template <class Options, class F>
void for_each_field(const Options& options, const F& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (f(field_name<Options, I>(), boost::pfr::get<I>(options)), ...); }
  (field_indices<Options>());
}

/// Whether `words` lists the names of all fields, as a sentence does: "a, b and c".
template <class Options>
consteval bool names_fields_of(std::string_view words) noexcept {
  constexpr auto last = boost::pfr::tuple_size_v<Options> - 1;
  const auto skip = [&words](std::string_view text) {
    const bool found = words.starts_with(text);
    if (found) words.remove_prefix(text.size());
    return found;
  };
  const auto named = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((skip(I == 0 ? "" : I == last ? " and " : ", ") && skip(field_name<Options, I>())) && ...);
  }
  (field_indices<Options>());
  return named && words.empty();
}

/// Whether `Other` begins with fields of the same names as `Options`, in the same order.
template <class Options, class Other>
consteval bool begins_with_fields_of() noexcept {
  if constexpr (boost::pfr::tuple_size_v<Other> < boost::pfr::tuple_size_v<Options>) {
    return false;
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return ((field_name<Options, I>() == field_name<Other, I>()) && ...);
    }
    (field_indices<Options>());
  }
}

/// Whether `Settled` is `Given` with no field left open.
template <class Given, class Settled>
consteval bool settles_to() noexcept {
  if constexpr (may_be_open<Given>) {
    return std::is_same_v<typename Given::value_type, Settled>;
  } else if constexpr (boost::pfr::tuple_size_v<Given> != boost::pfr::tuple_size_v<Settled>) {
    return false;
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return begins_with_fields_of<Given, Settled>() &&
             (settles_to<field_type<Given, I>, field_type<Settled, I>>() && ...);
    }
    (field_indices<Given>());
  }
}

}  // namespace dlock::detail
