// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Several requests by one statement.

#include <span>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::stores::mysql::lease_table {

/// Whether execute_in_one() can do them: all about keys, or all about rows of one table; polls, or of one session with
/// one ttl and no min_hold takes, releases, cancels, inserts of keys, or extensions of rows.
bool one_statement_can(std::span<const request> requests) noexcept;

/// One UPDATE, INSERT or SELECT for all. `can_skip`: the server knows SKIP LOCKED; then a row that somebody has locked
/// is answered as contended, and the others neither wait for it nor fail. A take that granted any is followed by one
/// SELECT of the fences (LAST_INSERT_ID tells one of them), a release or cancel that did not change all by one SELECT
/// of what the rows are now. What was sent is counted in the first reply.
/// False: nothing was done, or not all were extended, and each is to be done for itself. The statement is larger than
/// max_allowed_packet, or somebody else makes one of the keys that are to be inserted, or the server refused it,
/// perhaps for one of the rows.
bool execute_in_one(lease_connection& on, const lease_sql& keys, const mysql_row_sql& rows,
                    std::span<const request> requests, std::span<reply> replies, bool can_skip) noexcept;

}  // namespace dlock::stores::mysql::lease_table
