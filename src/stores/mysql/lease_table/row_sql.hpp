// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store_types.hpp"
#include "dlock/store_interface/verification.hpp"
#include "stores/mysql/client/statement.hpp"
#include "stores/sql/application_database.hpp"
#include "stores/sql/row_owner.hpp"
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

/// SQL about rows of the application that are locked in place. Each statement names its rows by primary key (rule 2: it
/// never scans with a condition in a sub-query). Thread safety: all functions may be called from any thread.
class mysql_row_sql {
 public:
  /// `database` is the one of the lock tables; the application's connections may use another one.
  mysql_row_sql(const sql::table_names& names, const std::string& database);

  /// Their table names include the database.
  const sql::table_names& names() const noexcept { return names_; }

  /// The id of the lock tables, unknown until it was set.
  sql::tables_id tables() const noexcept {
    const auto number = tables_.load(std::memory_order_relaxed);
    return number > sql::tables_id::most ? sql::tables_id() : sql::tables_id(number);
  }
  void tables(sql::tables_id found) noexcept { tables_.store(found.number(), std::memory_order_relaxed); }
  sql::row_holder owner_of(const request& from) const noexcept { return {from.session, from.nonce, tables()}; }
  /// A SELECT of the id from the floor table.
  std::string read_tables_id() const;

  /// A statement about one row, with the id as parameters.
  sql::statement_text prepared(sql::row_statement which, const row_table& table) const;
  /// A statement with the row's id written in.
  sql::statement_text with_id(sql::row_statement which, const row_id& row) const;
  /// A take, take-over, extension, release or cancel with all values written in.
  std::string change(const request& request) const;
  /// A poll with all values written in. Columns: owner, fence, no expiry, no session of that name, microseconds left,
  /// host, pid, label, revoked.
  std::string poll(const request& request) const;
  /// A poll of many rows of one table, with the number of the request before each.
  std::string poll_all(std::span<const request> requests) const;
  /// A change of many rows of one table, except a take-over. `skip`: it skips rows that another transaction has locked.
  std::string change_all(std::span<const request> requests, bool skip) const;
  /// Selects those rows after the change. Columns: the number of the request, owner, whether a take could have it,
  /// fence.
  std::string read_all(std::span<const request> requests) const;
  /// Selects at most `limit` rows that are held: the columns of the primary key, and then those of look().
  std::string held(const row_table& table, std::size_t limit) const;
  /// Rule 12: revokes the session that keeps the row.
  std::string revoke(const row_id& row) const;
  /// A statement that fails if another transaction has the row locked.
  std::string ask(const row_id& row) const;
  /// Selects the fence of a row that this attempt was granted.
  std::string fence_of(const request& request) const;
  /// For a transaction of the application.
  verification release(const request& grant, session_zone in) const;
  /// For a transaction of the application: writes the owner in its other form.
  verification verify(const request& grant) const;
  /// For a transaction of the application: selects whether the row, as it is visible there, is ours.
  verification sees(const request& grant) const;

  std::string free_rows(const row_table& table) const;
  std::string abandoned_rows(const row_table& table) const;
  std::string claim(const sql::claim_request& request, session_zone in) const;
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const;
  std::string add_columns(const row_table& table) const;

 private:
  /// The dictionary of the table, with the words of this database.
  sql::row_text text(const row_table& table) const;
  /// The dictionary for statements about one row with parameters.
  sql::row_text named(const row_table& table, sql::row_statement which) const;
  std::string written_out(sql::row_statement which, const request& request) const;
  std::string poll(const request& request, std::string_view before) const;
  std::string any_of_ours(std::span<const request> requests, const row_table& as, std::string_view before) const;
  verification for_transaction(const request& grant, sql::row_statement which, session_zone in) const;

  sql::table_names names_;
  std::atomic<std::uint32_t> tables_{sql::tables_id().number()};
};

}  // namespace dlock::stores::mysql::lease_table
