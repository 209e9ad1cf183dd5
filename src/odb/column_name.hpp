// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/query-dynamic.hxx>

#include <string>

namespace dlock::detail {

/// As SQL text has them, quoted. Throw std::invalid_argument if the class was not generated for that database, or what
/// was generated is not linked.
std::string table_name(const odb::native_column_info* info, odb::database_id database);
std::string column_name(const odb::native_column_info* info, odb::database_id database);

}  // namespace dlock::detail
