// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::stores::mysql::lease_table {

/// Whether execute_in_one() can do them: take, insert, release or cancel, all of one session, with one ttl and no
/// min_hold.
bool one_statement_can(std::span<const request> requests) noexcept;

/// One UPDATE for all keys. `can_skip`: the server knows SKIP LOCKED; then a row that somebody has locked is answered
/// as contended, and the others neither wait for it nor fail. A take that granted any is followed by one SELECT of the
/// fences (LAST_INSERT_ID tells one of them), a release or cancel that did not change all by one SELECT of which are
/// free now. False: none was done, because somebody else makes one of the keys that are to be inserted, or because the
/// statement is larger than max_allowed_packet; each is to be done for itself. The statement is counted in the first
/// reply.
bool execute_in_one(lease_connection& on, const lease_sql& statements, std::span<const request> requests,
                    std::span<reply> replies, bool can_skip) noexcept;

}  // namespace dlock::stores::mysql::lease_table
