// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The values of a primary key's columns.

#include <boost/pfr.hpp>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dlock/store_interface/row_table.hpp"

namespace dlock::detail {

template <class Id>
concept integer_id = std::integral<Id> && !std::same_as<Id, bool>;

template <class Id>
concept text_id = std::convertible_to<const Id&, std::string_view> && !std::is_pointer_v<Id>;

template <class Id>
void append_row_values(std::vector<row_value>& to, const Id& id) {
  if constexpr (integer_id<Id> && std::signed_integral<Id>) {
    to.emplace_back(static_cast<std::int64_t>(id));
  } else if constexpr (integer_id<Id>) {
    to.emplace_back(static_cast<std::uint64_t>(id));
  } else if constexpr (text_id<Id>) {
    to.emplace_back(std::string(std::string_view(id)));
  } else {
    constexpr bool composite = std::is_class_v<Id> && std::is_aggregate_v<Id>;
    static_assert(
        composite,
        "dlock: a row's id must be an integer, a string, or a struct of those (without private members, bases "
        "and constructors) whose members are the columns of the primary key, in its order");
    if constexpr (composite) {
      boost::pfr::for_each_field(id, [&](const auto& field) { append_row_values(to, field); });
    }
  }
}

/// In the order of the members.
template <class Id>
std::vector<row_value> row_values(const Id& id) {
  std::vector<row_value> values;
  append_row_values(values, id);
  return values;
}

}  // namespace dlock::detail
