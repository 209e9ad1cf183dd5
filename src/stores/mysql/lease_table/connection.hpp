// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/statement.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"
#include "stores/sql/row_statements.hpp"
#include "stores/sql/statement_values.hpp"
#include "stores/sql/verbs.hpp"

namespace dlock::stores::mysql::lease_table {

/// The places of all parameters of the prepared statements about lock tables, one set for each connection.
struct lease_values {
  mysql_bytes<255> key{};
  mysql_bytes<16> session{};
  mysql_bytes<16> holder{};
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  std::uint64_t seen_fence = 0;
  std::int64_t own_ttl = 0;
  mysql_bool no_own_ttl = 0;  ///< the session keeps the lease: own_ttl is NULL
  std::int64_t min_hold = 0;
  std::uint64_t count = 0;
  std::int64_t ttl = 0;
  std::int64_t pid = 0;
  mysql_bytes<1020> host{};  // characters of utf8mb4 have up to four bytes
  mysql_bytes<256> label{};
  mysql_bytes<16> wake_id{};

  void assign(const sql::statement_values& from) noexcept;
};

/// The row that poll reads.
struct mysql_poll_row {
  mysql_bytes<16> holder{};
  std::uint64_t fence = 0;
  std::int64_t kept = 0;
  std::int64_t gone = 0;
  std::int64_t remaining_us = 0;
  mysql_bytes<1020> host{};
  std::int64_t pid = 0;
  mysql_bytes<256> label{};
  std::uint64_t nonce = 0;

  /// The places of its columns, in their order.
  std::array<mysql_field, 9> fields() noexcept {
    return {mysql_field::bytes(holder), mysql_field::number(fence),        mysql_field::number(kept),
            mysql_field::number(gone),  mysql_field::number(remaining_us), mysql_field::text(host),
            mysql_field::number(pid),   mysql_field::text(label),          mysql_field::number(nonce)};
  }
  /// The holder according to the row.
  seen shown() const;
};

/// The row that a poll of an application's row reads.
struct mysql_polled_row {
  mysql_bytes<1020> owner{};  // another program's name may be longer than ours
  std::uint64_t fence = 0;
  std::int64_t kept = 0;
  std::int64_t gone = 0;
  std::int64_t remaining_us = 0;
  mysql_bytes<1020> host{};
  std::int64_t pid = 0;
  mysql_bytes<256> label{};
  std::int64_t revoked = 0;

  std::array<mysql_field, 9> fields() noexcept {
    return {mysql_field::text(owner),  mysql_field::number(fence),        mysql_field::number(kept),
            mysql_field::number(gone), mysql_field::number(remaining_us), mysql_field::text(host),
            mysql_field::number(pid),  mysql_field::text(label),          mysql_field::number(revoked)};
  }
  seen shown(const row_table& table, sql::tables_id tables) const;
};

/// A prepared statement about rows of one of the application's tables.
struct prepared_row {
  explicit prepared_row(sql::statement_text from) : text(std::move(from)) { statement.fail_without_table(); }

  const sql::statement_text text;
  mysql_statement statement{text.sql, text.name, {}};
};

/// Makes a statement with parameters in `values`. Both must outlive it.
mysql_statement make_statement(const sql::statement_text& text, lease_values& values);

/// A connection with the prepared statements of the lock tables and of rows.
class lease_connection final : public mysql_connection, public sql::verb_connection {
 public:
  /// All arguments must outlive it. Throws as mysql_connection does.
  lease_connection(mysql_opened from, const lease_sql& sql, const mysql_row_sql& rows, mysql_hosts& hosts);

  void explain(fault& why) override;

  using mysql_connection::change;
  reply change(statement_id which, const sql::statement_values& values, sql::sending how) override;
  reply change(sql::row_statement which, const sql::statement_values& values, sql::sending how) override;
  reply poll(const sql::statement_values& values) override;
  /// A release that also finds the first waiter other than `own` process: the fence of the reply is the number of its
  /// connection, or no_waiter, or 0 if a trigger hides that.
  reply release_and_wake(const request& asked, const id128& own);
  sql::tables_id tables() const noexcept override { return row_sql_.tables(); }
  const sql::table_names& names() const noexcept override { return sql_.names(); }
  reply refuse(std::string text) const override { return mysql::refuse(std::move(text)); }
  bool is_there(const fault& why) const noexcept override {
    return why.native == static_cast<int>(mysql_duplicate_key);
  }
  void read_fence(const request& asked, reply& grant) override;
  void doubt(reply& no) override;

  /// The text of a statement about a key, with these values written in.
  std::string written_out(statement_id which, const sql::statement_values& values);
  /// Whether the server accepts a text of that size (max_allowed_packet). A larger one would break the connection.
  /// Large texts cost one statement the first time.
  bool fits(const std::string& text);
  /// Prepares all statements, to see now whether the server rejects one. Returns false and sets `why` if so.
  bool prepare_all(fault& why);

 private:
  mysql_statement& statement(statement_id which) noexcept { return statements_[static_cast<std::size_t>(which)]; }
  /// Calls use(statement) with a statement about that row, after setting its values.
  template <class Use>
  auto with_statement(sql::row_statement which, const sql::statement_values& values, Use&& use);

  reply poll_row(const sql::statement_values& values);

  const lease_sql& sql_;
  lease_values values_{};
  std::size_t largest_text_ = 0;  // 0 if it is not known yet
  std::vector<mysql_statement> statements_{};
  mysql_statement release_and_wake_;
  const mysql_row_sql& row_sql_;
  sql::row_statements<prepared_row> rows_{};
  std::vector<mysql_field> fields_{};  // the parameters of the next statement about a row
};

}  // namespace dlock::stores::mysql::lease_table
