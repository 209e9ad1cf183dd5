// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The result of a poll of a key or of a row, the same for all databases.

#include <cstdint>
#include <string_view>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/row_table.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::sql {

struct polled_key {
  id128 holder{};  ///< zero if it is free
  std::uint64_t fence = 0;
  bool kept = false;           ///< its session keeps it: the row has no expiry
  bool gone = false;           ///< its session does not exist
  std::int64_t remaining = 0;  ///< in microseconds; negative if it has expired
  std::string_view host{};
  std::int64_t pid = 0;
  std::string_view label{};
  std::uint64_t nonce = 0;
};
dlock::seen holder_of(const polled_key& row);

struct polled_row {
  std::string_view owner{};  ///< empty if it is free
  std::uint64_t fence = 0;
  bool kept = false;
  bool gone = false;
  std::int64_t remaining = 0;
  std::string_view host{};
  std::int64_t pid = 0;
  std::string_view label{};
};
/// `tables` is the id of our lock tables.
dlock::seen holder_of(const polled_row& row, const row_table& table, tables_id tables);

}  // namespace dlock::stores::sql
