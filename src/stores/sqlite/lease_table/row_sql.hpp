// SPDX-License-Identifier: BSL-1.0
#pragma once

/// SQL about rows of the application that are locked in place.

#include <cstddef>
#include <span>
#include <string>

#include "dlock/store_interface/row_table.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "dlock/store_interface/verification.hpp"
#include "stores/sql/application_database.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sql/row_sql.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sqlite::lease_table {

/// The dictionary for rows of a table, with the words of this database.
sql::row_text row_text(const row_table& table, const sql::table_names& names);
sql::statement_text row_statement_text(sql::row_statement which, const row_table& table, const sql::table_names& names);

/// The value to compare with a shared expiry column: wall-clock seconds (row_renewal::column) as text. `up`: rounds up
/// to the next whole second, because the column keeps only whole ones.
std::string row_time(microseconds at, bool up);

/// Longer than any lease. A later expiry is not dlock's, or the clock was set back between two boots.
inline constexpr microseconds row_horizon = std::chrono::hours{24 * 31};

/// Whether a row with an expiry is free. Both times are by the clock of the table's rows.
inline bool has_passed(const row_table& table, microseconds expiry, microseconds now) noexcept {
  return expiry <= now || (!sql::by_column(table) && expiry > now + row_horizon);
}

// ---- the same as text with its values written into it --------------------------------------------------------------

/// The value as an SQL literal.
std::string row_literal(const verification::parameter& value);
verification::parameter row_argument(const row_value& value);

/// A condition that selects the rows by their ids.
std::string row_ids(const row_table& table, std::span<const row_id* const> rows);
/// Columns: owner, fence, no expiry, no living session, microseconds left, host, pid, label, revoked. Parameters: now,
/// boot, and row_now, by the clock of the table's rows.
std::string row_holder(const row_id& row, const sql::table_names& names);
/// The same for at most `limit` rows that have a holder, after the columns of their primary key.
std::string row_holders(const row_table& table, const sql::table_names& names, std::size_t limit);
/// Revokes the session that keeps the row.
std::string row_revoke(const row_id& row, const sql::table_names& names);

}  // namespace dlock::stores::sqlite::lease_table
