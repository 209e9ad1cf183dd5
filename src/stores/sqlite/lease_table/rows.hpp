// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The verbs on rows of the application's that are locked in place.

#include <array>
#include <list>
#include <memory>

#include "dlock/store_interface/store_types.hpp"
#include "stores/sqlite/client/statement.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"

namespace dlock::stores::sqlite {
class sqlite_busy_retry;
}

namespace dlock::stores::sqlite::lease_table {

class lease_connection;

/// The prepared statements of one connection about the application's tables: those of the tables used last.
class sqlite_row_statements {
 public:
  struct prepared {
    sql::statement_text text{};
    sqlite_statement statement{};
  };
  static constexpr std::size_t most_tables = 16;

  /// Valid until the next call. Throws only std::bad_alloc.
  prepared& of(const std::shared_ptr<const row_table>& table, sql::row_statement which, const sql::table_names& names);

 private:
  struct table_statements {
    std::shared_ptr<const row_table> table;  // kept, so that no other can come to its address
    std::array<prepared, row_statement_count> statements{};
  };
  std::list<table_statements> used_last_first_;
};

/// One request about a row. Throws only std::bad_alloc.
reply run_row(lease_connection& connection, sqlite_busy_retry& retry, const request& q);

}  // namespace dlock::stores::sqlite::lease_table
