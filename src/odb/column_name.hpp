// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/forward.hxx>
#include <odb/query-dynamic.hxx>

#include <string>

namespace dlock::detail {

/// Quoted, as in SQL text.
struct column_name {
  std::string table{};  ///< or its alias in a query
  std::string column{};
};

/// Throws std::invalid_argument if ODB's code of the class was not generated for that database, or is not linked.
column_name name_of(const odb::native_column_info* info, odb::database_id database);

}  // namespace dlock::detail
