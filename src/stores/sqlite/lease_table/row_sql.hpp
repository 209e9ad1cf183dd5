// SPDX-License-Identifier: BSL-1.0
#pragma once

/// SQL text about rows of the application's that are locked in place.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dlock/store/row_table.hpp"
#include "dlock/store/store_types.hpp"
#include "dlock/store/verification.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sqlite::lease_table {

/// The statements about a row that a connection prepares.
enum class row_statement_id : unsigned char {
  take,
  look,
  take_over_kept,
  take_over_own,
  take_over_foreign,
  extend,
  release,
  cancel,
  count_  // how many there are
};

constexpr auto row_statement_count = static_cast<std::size_t>(row_statement_id::count_);

/// What they have as parameters, and under which names.
enum class row_parameter : unsigned char {
  now,
  owner,
  verified_owner,
  expiry,
  fence,
  seen_owner,
  seen_verified_owner,
  seen_session,
  horizon,  ///< no expiry of ours can be later
  id,       ///< the first column of the primary key: "id1"; those after it are the others
};

sql::statement_text row_statement(row_statement_id which, const row_table& table, const sql::table_names& names);

/// Whether the fence is a column of its own: the version, where that is the fence, is raised by the holder's own updates
/// too. The owner's text names the grant by itself.
inline bool has_own_fence(const row_table& table) noexcept {
  return !table.version.empty() && table.version != table.fence;
}
/// "UPDATE table SET ..." that frees a row. `now`: in SQL, as the expiry column has it.
std::string row_free_it(const row_table& table, std::string_view now);

/// What a row's expiry column is compared with: the text of wall-clock seconds (row_renewal::column), or microseconds.
struct row_time {
  /// `at`: of the clock that the table's rows go by. `up`: to the next whole second, where only whole ones are kept.
  static std::string text(microseconds at, bool up);
  /// UTC since 1970.
  static microseconds wall_clock() noexcept;
};

/// Longer than any lease: an expiry further off is none of ours, or the clock was set back between two boots.
inline constexpr microseconds row_horizon = std::chrono::hours{24 * 31};

// ---- the same as text with its values written into it --------------------------------------------------------------

/// The last part of a name such as "main"."order", without its quotation marks; and the way back.
std::string bare_name(std::string_view name);
std::string quoted_name(std::string_view name);

/// As SQL text has it.
std::string row_literal(const verification::parameter& value);
verification::parameter row_argument(const row_value& value);

/// Nobody holds the row. `now`: of the clock that the table's rows go by.
std::string row_free(const row_table& table, microseconds now);
/// Its holder's session is gone or has expired. `now`: of the clock that sessions go by.
std::string row_abandoned(const row_table& table, const sql::table_names& names, sql::tables_id tables,
                          microseconds now);
std::string row_claim(const row_table& table, std::string_view owner, const std::string& ids, microseconds now,
                      microseconds own_ttl);
std::string row_ids(const row_table& table, std::span<const row_id* const> rows);
std::string row_columns(const row_table& table);
/// Columns: owner, fence, the moment from which the row is free by its own expiry, and of the holder's session: when it
/// expires, host, pid, label, revoked, ttl, boot.
std::string row_holder(const row_id& row, const sql::table_names& names);
/// Revokes the session that keeps the row.
std::string row_revoke(const row_id& row, const sql::table_names& names);

}  // namespace dlock::stores::sqlite::lease_table
