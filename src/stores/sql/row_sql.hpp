// SPDX-License-Identifier: BSL-1.0
#pragma once

/// All SQL about rows of the application that are locked in place. What differs between databases is in their words
/// (row_text.hpp), and in the few functions that they override.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/row_table.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "dlock/store_interface/verification.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sql/row_text.hpp"
#include "stores/sql/sql_connection.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// The rows that a claim takes, and the holder that it writes.
struct claim_request {
  const row_table& table;
  std::span<const row_id* const> rows;  ///< at least one, all of that table
  id128 session{};
  std::uint64_t nonce = 0;
  microseconds own_ttl{0};  ///< row_renewal::column
};

/// Converts a value to an SQL literal.
using literal_of = std::string(const verification::parameter&);

/// How a database writes SQL about rows.
struct row_dialect {
  row_words words;
  lock_column_files files;
  char quote;
  marker marks;
  literal_of* literal;
  std::string_view alias{};  ///< of the table, in a poll and for operators; empty: its name
};

/// Each statement names its rows by primary key (rule 2: it never scans with a condition in a sub-query). Thread
/// safety: all functions may be called from any thread.
class row_sql {
 public:
  row_sql(table_names names, const row_dialect& dialect) : names_(std::move(names)), dialect_(dialect) {}
  virtual ~row_sql() = default;
  row_sql(const row_sql&) = delete;
  row_sql& operator=(const row_sql&) = delete;

  const table_names& names() const noexcept { return names_; }
  char quote() const noexcept { return dialect_.quote; }
  /// The id of the lock tables, unknown until it was set.
  tables_id tables() const noexcept {
    const auto number = tables_.load(std::memory_order_relaxed);
    return number > tables_id::most ? tables_id() : tables_id(number);
  }
  void tables(tables_id found) noexcept { tables_.store(found.number(), std::memory_order_relaxed); }
  row_holder owner_of(const request& from) const noexcept { return {from.session, from.nonce, tables()}; }

  // ---- one row ------------------------------------------------------------------------------------------------------
  /// A statement with parameters, and one with the row's id written in.
  statement_text prepared(row_statement which, const row_table& table) const;
  statement_text with_id(row_statement which, const row_id& row) const;
  /// A statement that fails if another transaction has the row locked.
  std::string ask(const row_id& row) const;
  /// Selects the fence of a row that this attempt was granted.
  std::string fence_of(const request& request) const;

  // ---- for operators (lease_admin) ----------------------------------------------------------------------------------
  /// Selects from one row: `before`, the owner, the fence, whether it has no expiry, whether its session is gone, the
  /// microseconds until its expiry or that of its session; and the session's host, pid, label and whether it is
  /// revoked.
  std::string holder_of(const row_id& row, std::string_view before = "") const;
  /// Selects the same from at most `limit` rows that are held, after the columns of their primary key.
  std::string holders_in(const row_table& table, std::size_t limit) const;
  /// Rule 12: revokes the session that keeps the row.
  std::string revoke(const row_id& row) const;
  /// The parameters of these statements that the connection does not know.
  virtual std::vector<sql_parameter> clocks(const row_table& /*table*/) const { return {}; }

  // ---- many rows of one table ---------------------------------------------------------------------------------------
  /// Selects holders, each after the number of its request.
  std::string poll_all(std::span<const request> requests) const;
  /// A take, release, cancel or extension. `skip`: it skips rows that another transaction has locked.
  std::string change_all(std::span<const request> requests, bool skip) const;
  /// Selects those rows after the change. Columns: the number of the request, owner, whether a take could have it,
  /// fence.
  std::string read_all(std::span<const request> requests) const;

  // ---- for transactions of the application's (application_database) -------------------------------------------------
  /// `which`: release, verify or sees.
  verification about(const request& grant, row_statement which) const;
  /// The same for a key: `text` has the parameters key, session and fence, and `more`.
  verification about_key(const request& grant, std::string_view text, std::vector<named_value> more = {}) const;
  std::string free_rows(const row_table& table) const;
  std::string abandoned_rows(const row_table& table) const;
  std::string claim(const claim_request& request) const;
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const;
  virtual std::string add_columns(const row_table& table) const = 0;

 protected:
  row_text text(const row_table& table) const;
  std::vector<std::string> added_columns(const row_table& table) const {
    return sql::added_columns(dialect_.files, table);
  }
  std::string literal_of_id(const row_id& row, std::size_t column) const;
  /// "a = 1 AND b = 2"; `columns` are those of the id.
  std::string where(const row_id& row, const std::vector<std::string>& columns) const;
  /// A condition that selects the rows by their primary keys alone.
  std::string any_of(std::span<const request> requests, const std::vector<std::string>& columns) const;

  /// The value in a type of this database.
  virtual verification::parameter adapted(verification::parameter value) const { return value; }
  /// A value of the id, for its column.
  virtual named_value value_of(const row_id& row, std::size_t column) const;
  /// A condition on one column: "a = 1".
  virtual std::string is_value(const row_id& row, std::size_t column, const std::string& name) const;
  /// Joins conditions, each in brackets: "((a = 1 AND b = 2) OR (...))".
  virtual std::string either(const std::vector<std::string>& conditions) const;
  /// The rows to change, as an UPDATE names them. The columns of `as` are qualified. `skip`: see change_all().
  virtual std::string rows_to_change(std::span<const request> requests, const row_table& as, bool skip) const = 0;
  /// A hint to read many rows by their ids alone.
  virtual std::string_view by_id_alone() const { return {}; }
  /// Writes in the times that are parameters elsewhere. {expiry} is after `own_ttl`; 0: the session keeps the lease.
  virtual void write_times(row_text& to, const row_table& table, microseconds own_ttl) const = 0;
  /// Sets the words that differ on a connection of the application.
  virtual void set_application_words(row_text& /*to*/, const row_table& /*table*/) const {}
  /// The prefix of a statement on such a connection that writes a time.
  virtual std::string prefix(const row_table& /*table*/) const { return {}; }

 private:
  row_text named(row_statement which, const row_table& table) const;
  row_table as_seen(const row_table& table) const;
  row_table with_name(const row_table& table) const { return qualified(table, qualifier(table, dialect_.quote)); }
  std::string in_list(std::span<const row_id* const> rows, const std::string& column) const;
  std::string one_by_one(std::span<const row_id* const> rows, const std::vector<std::string>& columns) const;
  template <class Value>
  std::string by_row(std::span<const request> requests, const std::vector<std::string>& columns, Value value) const;
  std::string any_of_ours(std::span<const request> requests, const row_table& as) const;
  verification for_transaction(std::string_view text, std::vector<named_value> values) const;

  const table_names names_;
  const row_dialect dialect_;
  std::atomic<std::uint32_t> tables_{tables_id().number()};
};

}  // namespace dlock::stores::sql
