// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"

namespace dlock::stores::mysql::lease_table {

/// Whether execute_rows_in_one() can do them: takes, releases, cancels, or extensions that don't wait, of rows of one
/// table, all of one session, with one ttl and no min_hold.
bool one_row_statement_can(std::span<const request> requests) noexcept;

/// One UPDATE for all rows, as execute_in_one() does it for keys. A take that granted any is followed by one SELECT of
/// the fences, a release or cancel that did not change all by one SELECT of what the rows are now. False: the server
/// refused the statement, perhaps for one of the rows, and nothing was done; or it did not extend all. Each is to be
/// done for itself. What was sent is counted in the first reply.
bool execute_rows_in_one(lease_connection& on, const mysql_row_sql& sql, std::span<const request> requests,
                         std::span<reply> replies, bool can_skip) noexcept;

}  // namespace dlock::stores::mysql::lease_table
