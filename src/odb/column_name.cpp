// SPDX-License-Identifier: BSL-1.0
#include "odb/column_name.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#ifdef DLOCK_ODB_MYSQL
#include <odb/mysql/query.hxx>
#endif
#ifdef DLOCK_ODB_SQLITE
#include <odb/sqlite/query.hxx>
#endif

namespace dlock::detail {

namespace {

std::pair<std::string, std::string> names(const odb::native_column_info* info, odb::database_id database) {
  const void* const column = info[database].column;
  if (column == nullptr) {
    throw std::invalid_argument(
        "dlock: the mapped class was not generated for this kind of database, or its generated code is not linked (a "
        "static library of it must be linked whole)");
  }
#ifdef DLOCK_ODB_MYSQL
  if (database == odb::id_mysql) {
    const auto& is = *static_cast<const odb::mysql::query_column_base*>(column);
    return {is.table(), is.column()};
  }
#endif
#ifdef DLOCK_ODB_SQLITE
  if (database == odb::id_sqlite) {
    const auto& is = *static_cast<const odb::sqlite::query_column_base*>(column);
    return {is.table(), is.column()};
  }
#endif
  throw std::invalid_argument("dlock: this dlock was built without support for rows in this kind of database");
}

}  // namespace

std::string table_name(const odb::native_column_info* info, odb::database_id database) {
  return names(info, database).first;
}

std::string column_name(const odb::native_column_info* info, odb::database_id database) {
  return names(info, database).second;
}

}  // namespace dlock::detail
