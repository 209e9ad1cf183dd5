// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "dlock/store_interface/row_table.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "dlock/store_interface/verification.hpp"
#include "stores/sql/row_sql.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sqlite::lease_table {

/// The value to compare with a shared expiry column: wall-clock seconds (row_renewal::column) as text. `up`: rounds up
/// to the next whole second, because the column keeps only whole ones.
std::string row_time(microseconds at, bool up);

/// Longer than any lease. A later expiry is not dlock's, or the clock was set back between two boots.
inline constexpr microseconds row_horizon = std::chrono::hours{24 * 31};

/// Whether a row with an expiry is free. Both times are by the clock of the table's rows.
inline bool has_passed(const row_table& table, microseconds expiry, microseconds now) noexcept {
  return expiry <= now || (!sql::by_column(table) && expiry > now + row_horizon);
}

/// The value as an SQL literal.
std::string row_literal(const verification::parameter& value);

class lease_file;

/// SQL about rows of the application that are locked in place, in the words of SQLite, with the clocks of a file.
class sqlite_row_sql final : public sql::row_sql {
 public:
  /// `file` must outlive it.
  sqlite_row_sql(sql::table_names names, const lease_file& file);

  std::vector<sql::sql_parameter> clocks(const row_table& table) const override;
  std::string add_columns(const row_table& table) const override;

 private:
  verification::parameter adapted(verification::parameter value) const override;
  std::string either(const std::vector<std::string>& conditions) const override;
  /// A write locks the whole file, so it skips no row.
  std::string rows_to_change(std::span<const request>, const row_table& as, bool) const override { return as.table; }
  void write_times(sql::row_text& to, const row_table& table, microseconds own_ttl) const override;
  void set_application_words(sql::row_text& to, const row_table& table) const override;

  const lease_file& file_;
};

}  // namespace dlock::stores::sqlite::lease_table
