// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "stores/sql/row_statements.hpp"
#include "stores/sql/schema.hpp"
#include "stores/sql/verbs.hpp"
#include "stores/sqlite/client/connection.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/client/file.hpp"
#include "stores/sqlite/client/settings.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/sql.hpp"

namespace dlock::stores::sqlite::lease_table {

using lease_settings = sql::lease_settings<sqlite_settings>;

/// A file with lock tables.
class lease_file final : public sqlite_file {
 public:
  /// Opens nothing. Throws std::invalid_argument for a bad prefix.
  lease_file(const lease_settings& from, std::shared_ptr<const sqlite_host> machine);

  const sql::schema_mode schema;
  const bool wakes;
  const lease_sql sql;
  const sql::table_names& names;
  sqlite_row_sql row_sql;

  /// Why processes can't wake each other by a file beside the database; empty if they can.
  std::string unfit_for_waking() const;
  /// Whether the file's waiters are woken, and so are visible.
  bool knows_waiters() const { return wakes && unfit_for_waking().empty(); }

  /// Added to the boot clock, this gives the time of rows that are locked in place: about the wall clock's, but never
  /// set back or forward during this boot. Known after prepare().
  microseconds row_epoch() const noexcept { return microseconds{row_epoch_.load(std::memory_order_relaxed)}; }
  /// The time by the clock of the table's rows. `boot_time` is now().
  microseconds row_now(const row_table& table, std::int64_t boot_time) const noexcept {
    return sql::by_column(table) ? wall_clock() : microseconds{boot_time} + row_epoch();
  }
  void row_epoch(microseconds found) noexcept { row_epoch_.store(found.count(), std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> row_epoch_{0};
};

/// A statement about rows of one of the application's tables.
struct prepared_row {
  explicit prepared_row(sql::statement_text from) : text(std::move(from)) {}

  const sql::statement_text text;
  sqlite_statement statement{};
};

/// A connection with the prepared statements of the lock tables, and those of the application's tables that it used
/// last.
class lease_connection final : public sqlite_connection, public sql::verb_connection {
 public:
  explicit lease_connection(const std::shared_ptr<lease_file>& file) : sqlite_connection(file), file_(*file) {}

  using sqlite_connection::run;
  /// Runs a statement of the lock tables to its end: begin(now) before each try and row(statement) for each row.
  template <class Begin, class Row>
  int run(statement_id which, sqlite_busy_retry& retry, const statement_values& values, Begin&& begin, Row&& row) {
    const auto& text = file_.sql.statement(which);
    const auto give = [&](sqlite_statement& to, std::int64_t now) {
      begin(now);
      bind(to, text, values, {now, file_.boot});
    };
    return run(statements_[static_cast<std::size_t>(which)], text.sql, retry, give, row);
  }
  /// How the statements of verbs wait for the file while it exists.
  class verb_retry {
   public:
    template <class... Limit>
    verb_retry(lease_connection& of, lane lane, Limit... limit) : of_(of), retry_(of, lane, limit...) {
      of_.retry_ = &retry_;
    }
    ~verb_retry() { of_.retry_ = nullptr; }
    verb_retry(const verb_retry&) = delete;
    verb_retry& operator=(const verb_retry&) = delete;
    sqlite_busy_retry& get() noexcept { return retry_; }

   private:
    lease_connection& of_;
    sqlite_busy_retry retry_;
  };

  using sqlite_connection::change;
  reply change(statement_id which, const statement_values& values, sql::sending how) override;
  reply change(sql::row_statement which, const statement_values& values, sql::sending how) override;
  reply poll(const statement_values& values) override;
  sql::tables_id tables() const noexcept override { return file_.row_sql.tables(); }
  const sql::table_names& names() const noexcept override { return file_.names; }
  reply refuse(std::string text) const override;
  bool is_there(const fault& why) const noexcept override { return why.native == SQLITE_CONSTRAINT_PRIMARYKEY; }
  void read_fence(const request&, reply&) override {}  // RETURNING always returns it
  void doubt(reply&) override {}

  /// Runs the statement that polls many keys.
  template <class Bind, class Row>
  int poll_all(sqlite_busy_retry& retry, Bind&& bind, Row&& row) {
    return run(poll_all_, file_.sql.poll_all(), retry, bind, row);
  }

  lease_file& file() noexcept { return file_; }
  void explain(fault& why) override;

 private:
  prepared_row& of_row(sql::row_statement which, const row_id& row);
  reply change(sqlite_statement& statement, const sql::statement_text& text, const statement_values& values);
  reply poll_row(const statement_values& values);

  lease_file& file_;  // the base class keeps it alive
  std::array<sqlite_statement, statement_count> statements_{};
  sqlite_statement poll_all_{};
  sql::row_statements<prepared_row> rows_{};
  sqlite_busy_retry* retry_ = nullptr;  // used by the verbs
};

/// The holder in a row with the columns of the statement `poll`.
seen holder_in_key(const sqlite_statement& row, std::int64_t now);

}  // namespace dlock::stores::sqlite::lease_table
