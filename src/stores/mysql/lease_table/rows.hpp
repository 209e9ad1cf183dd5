// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <vector>

#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store_overview.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"

namespace dlock::stores::mysql::lease_table {

/// Executes a request whose `row` is set: one statement.
reply execute_on_row(lease_connection& connection, const mysql_row_sql& sql, const request& request);

/// What the columns of mysql_row_sql::poll() show.
seen seen_in_row(const mysql_row_sql& sql, const row_table& table, const mysql_rows::value_type& row);

/// Who holds a row: one statement. Nobody: `out` stays as it is.
reply find_row_holder(lease_connection& connection, const mysql_row_sql& sql, const row_id& row,
                      std::vector<holder_info>& out);

/// Rows of the table that are held, at most `limit`: one statement.
reply find_held_rows(lease_connection& connection, const mysql_row_sql& sql,
                     const std::shared_ptr<const row_table>& table, std::size_t limit, std::vector<held_row>& out);

}  // namespace dlock::stores::mysql::lease_table
