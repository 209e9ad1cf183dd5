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

/// The time zone of the session in which a statement runs, and so how it may write a TIMESTAMP. Not through local time,
/// which in one hour of a year means two times.
enum class session_zone {
  utc,          ///< a connection of dlock's
  any_mariadb,  ///< one of the application's: the statement sets the zone for itself
  any_mysql,    ///< likewise, where a literal may have an offset (since 8.0.19)
};

/// Whether the values of a row's id can be parameters. A text in another character set can't, nor one of characters
/// that the column may lack.
bool can_be_bound(const row_id& row) noexcept;

/// Where the parameters of a statement about a row are.
void set_fields(std::vector<mysql_field>& to, const sql::statement_text& text, const sql::statement_values& values);

/// SQL about rows of the application's that are locked in place. Each statement names its rows by primary key (rule 2:
/// never a scan that decides by a sub-query). Thread safety: all functions may be called from any thread.
class mysql_row_sql {
 public:
  /// `database` is that of the lock tables: the application's connections may have another one.
  mysql_row_sql(const sql::table_names& names, const std::string& database);

  /// The table names of these have their database.
  const sql::table_names& names() const noexcept { return names_; }

  /// Of the lock tables; not known before it was set.
  sql::tables_id tables() const noexcept {
    const auto number = tables_.load(std::memory_order_relaxed);
    return number > sql::tables_id::most ? sql::tables_id() : sql::tables_id(number);
  }
  void tables(sql::tables_id found) noexcept { tables_.store(found.number(), std::memory_order_relaxed); }
  sql::row_holder owner_of(const request& from) const noexcept { return {from.session, from.nonce, tables()}; }
  /// Reads it from the floor table.
  std::string read_tables_id() const;

  /// A statement about one row, whose id is a parameter, too.
  sql::statement_text prepared(sql::row_statement which, const row_table& table) const;
  /// The same with the row's id written in.
  sql::statement_text with_id(sql::row_statement which, const row_id& row) const;
  /// The same with all values written in: a take, take-over, extension, release or cancel.
  std::string change(const request& request) const;
  /// Likewise. Columns: owner, fence, no expiry, no session of that name, microseconds left, host, pid, label, revoked.
  std::string poll(const request& request) const;
  /// The same of many rows of one table, with the number of its request before each.
  std::string poll_all(std::span<const request> requests) const;
  /// The same for many rows of one table, but no take-overs. `skip`: it passes over rows that somebody's transaction
  /// has locked.
  std::string change_all(std::span<const request> requests, bool skip) const;
  /// Those rows as they are now. Columns: the number of its request, owner, free to be taken, fence.
  std::string read_all(std::span<const request> requests) const;
  /// Rows that are held, at most `limit`: the columns of the primary key, and then those of look().
  std::string held(const row_table& table, std::size_t limit) const;
  /// Rule 12: the session that keeps the row.
  std::string revoke(const row_id& row) const;
  /// Whether somebody's transaction has the row locked: an error, if so.
  std::string ask(const row_id& row) const;
  /// The fence of a row that this attempt was granted.
  std::string fence_of(const request& request) const;
  /// In a transaction of the application's.
  verification release(const request& grant, session_zone in) const;
  /// Likewise: writes the owner in another way that means the same.
  verification verify(const request& grant) const;
  /// Likewise: whether the row as it is seen there is ours.
  verification sees(const request& grant) const;

  std::string free_rows(const row_table& table) const;
  std::string abandoned_rows(const row_table& table) const;
  std::string claim(const sql::claim_request& request, session_zone in) const;
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const;
  std::string add_columns(const row_table& table) const;

 private:
  /// With the words of this database.
  sql::row_text text(const row_table& table) const;
  /// Likewise, for statements about one row whose values are parameters.
  sql::row_text named(const row_table& table, sql::row_statement which) const;
  std::string written_out(sql::row_statement which, const request& request) const;
  std::string poll(const request& request, std::string_view before) const;
  std::string any_of_ours(std::span<const request> requests, const row_table& as, std::string_view before) const;
  verification for_transaction(const request& grant, sql::row_statement which, session_zone in) const;

  sql::table_names names_;
  std::atomic<std::uint32_t> tables_{sql::tables_id().number()};
};

}  // namespace dlock::stores::mysql::lease_table
