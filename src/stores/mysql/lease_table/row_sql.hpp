// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/client/statement.hpp"
#include "stores/sql/row_sql.hpp"
#include "stores/sql/statement_values.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::mysql::lease_table {

/// The time zone of the session in which a statement runs, which decides how it may write a TIMESTAMP. It never uses
/// local time, which is ambiguous in one hour of a year.
enum class session_zone {
  utc,          ///< a connection of dlock's
  any_mariadb,  ///< a connection of the application; the statement sets the zone for itself
  any_mysql,    ///< the same, where a literal may have an offset (since 8.0.19)
};

/// Whether the values of a row's id can be parameters. A text in another character set can't, or one with characters
/// that the column may lack.
bool can_be_bound(const row_id& row) noexcept;

/// Sets the places of the parameters of a statement about a row.
void set_fields(std::vector<mysql_field>& to, const sql::statement_text& text, const sql::statement_values& values);

/// SQL about rows of the application that are locked in place, in the words of MySQL. Thread safety: all functions may
/// be called from any thread.
class mysql_row_sql final : public sql::row_sql {
 public:
  /// `database` is the one of the lock tables; the application's connections may use another one. `zone` returns the
  /// zone of sessions on these.
  mysql_row_sql(
      const sql::table_names& names, const std::string& database,
      std::function<session_zone()> zone = [] { return session_zone::utc; });

  /// A SELECT of the id of the lock tables from the floor table.
  std::string read_tables_id() const;
  std::string add_columns(const row_table& table) const override;

 private:
  sql::named_value value_of(const row_id& row, std::size_t column) const override;
  std::string is_value(const row_id& row, std::size_t column, const std::string& name) const override;
  std::string rows_to_change(std::span<const request> requests, const row_table& as, bool skip) const override;
  std::string_view by_id_alone() const override { return "FORCE INDEX (PRIMARY)"; }
  void write_times(sql::row_text& to, const row_table& table, microseconds own_ttl) const override;
  void set_application_words(sql::row_text& to, const row_table& table) const override;
  std::string prefix(const row_table& table) const override;

  const std::function<session_zone()> zone_;
};

}  // namespace dlock::stores::mysql::lease_table
