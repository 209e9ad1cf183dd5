// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::stores::mysql::lease_table {

/// Who holds the key in values(): the prepared statement.
reply poll_key(lease_connection& on);

/// Whether poll_all() can do them: polls of keys, or of rows.
bool one_poll_can(std::span<const request> requests) noexcept;

/// One SELECT for all; each request gets its own answer.
void poll_all(lease_connection& on, const lease_sql& statements, const mysql_row_sql& rows,
              std::span<const request> requests, std::span<reply> replies) noexcept;

}  // namespace dlock::stores::mysql::lease_table
