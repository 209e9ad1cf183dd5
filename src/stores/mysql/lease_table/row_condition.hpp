// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The parts of which SQL about rows of the application's is made.

#include <string>
#include <string_view>

#include "dlock/store/store_types.hpp"
#include "stores/mysql/client/quoting.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::lease_table {

/// The time zone of the session in which a statement runs, and so how it may write a TIMESTAMP. Not through local time,
/// which in one hour of a year means two times.
enum class session_zone {
  utc,          ///< a connection of dlock's
  any_mariadb,  ///< one of the application's: the statement sets the zone for itself
  any_mysql,    ///< likewise, where a literal may have an offset (since 8.0.19)
};

/// The unit of a shared expiry column: whole seconds, whatever its precision, because others compare it with now().
constexpr std::string_view column_clock = "UNIX_TIMESTAMP()";

inline bool by_column(const row_table& table) noexcept { return table.renewal == row_renewal::column; }

/// Where grants are counted by the version column, ordinary updates raise it while the row is held: only the owner's
/// text, which names session and attempt, tells a grant then.
inline bool fence_is_ours(const row_table& table) noexcept {
  return !table.version.empty() && table.version != table.fence;
}

/// Of a grant: 0 if its session keeps it.
inline microseconds own_ttl(const request& grant) noexcept {
  return grant.kind == lease_kind::session ? microseconds{0} : grant.ttl;
}

/// What a statement begins with.
std::string_view zone_prefix(const row_table& table, session_zone in);
/// Seconds since 1970 as a value for a TIMESTAMP column.
std::string timestamp(std::string_view seconds, session_zone in);

/// Passed, by the rule of the programs that share the column: expiry < now(), in whole seconds.
std::string expired(const row_table& table);
std::string alive(const row_table& table);
std::string nobody(const row_table& table);
std::string ours(const row_table& table, const sql::row_holder& who);

/// What a free row has.
std::string freed(const row_table& table, session_zone in);
/// The table with all its columns named as they may stand in a statement about several tables.
row_table qualified(const row_table& table);
/// What qualified() puts before each column.
std::string qualifier(const row_table& table);

/// A value of the id, as SQL text has it.
std::string literal_of(const row_id& row, std::size_t column);
/// "a=1 AND b=2"; `alias` before each column.
std::string where(const row_id& row, std::string_view alias = "");
/// The row, if that grant of it is still ours: `who`.
void bind_ours(bound_sql& to, const request& grant, const sql::row_holder& who);

}  // namespace dlock::stores::mysql::lease_table
