// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Several requests by one statement.

#include <span>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::stores::mysql::lease_table {

/// Whether execute_in_one() supports these requests: all about keys, or all about rows of one table; either polls, or,
/// with one session, one ttl and no min_hold, takes, releases, cancels, inserts of keys, or extensions of rows.
bool one_statement_can(std::span<const request> requests) noexcept;

/// Executes all by one UPDATE, INSERT or SELECT. `can_skip`: the server knows SKIP LOCKED; then a locked row is
/// answered as contended, and the others neither wait for it nor fail. If a take granted any, one SELECT reads the
/// fences, because LAST_INSERT_ID returns only one. If a release or cancel did not change all, one SELECT reads the
/// present rows. The first reply counts the statements.
/// Returns false if nothing was changed, or not all were extended, so that each request must be executed separately:
/// the statement is larger than max_allowed_packet, or another process makes one of the keys to insert, or the server
/// refused it, perhaps because of one of the rows.
bool execute_in_one(lease_connection& on, const lease_sql& keys, const mysql_row_sql& rows,
                    std::span<const request> requests, std::span<reply> replies, bool can_skip) noexcept;

}  // namespace dlock::stores::mysql::lease_table
