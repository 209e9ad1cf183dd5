// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The table of what was done once (sql/done-*.sql), written once for all databases.

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "dlock/store_interface/mark_store.hpp"
#include "stores/sql/application_database.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/optional_table.hpp"
#include "stores/sql/sql_connection.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// The words in which databases differ, beside {lock} and {lock.<column>}. `wall`: the time since 1970 in microseconds,
/// which must not begin anew when the host boots.
struct done_words {
  std::string_view wall;
  std::string_view only_primary;  ///< the end of a condition that fails on a replica
  std::string_view lock_row;      ///< the end of a SELECT that locks the rows that it reads
  std::string_view share_row;     ///< the end of a SELECT that locks them shared, and reads what was committed last
  std::string_view insert;        ///< the INSERT that leaves an existing row
  std::string_view nowhere;       ///< the FROM of a SELECT without a table
  bool creates_inside = false;    ///< CREATE TABLE is a part of its transaction
};

/// Each database derives from it. Thread safety: all functions may be called from any thread.
class done_marks : public mark_store {
 public:
  reply find_mark(connection& on, std::string_view key, done_mark& found) noexcept final;
  reply set_mark(connection& on, const request& grant, std::optional<microseconds> valid,
                 std::string_view by) noexcept final;
  reply delete_mark(connection& on, std::string_view key) noexcept final;

  /// Makes the table if it is missing and the URL allows that, so that programs whose user may not make tables find it.
  /// Where it can't, the first use says so.
  void make(sql_connection& on);
  /// Deletes at most `limit` marks that count no more. reply::fence is their number.
  reply clean(sql_connection& on, std::size_t limit);
  /// `here`: a further condition, " AND ...".
  done_statements for_transaction(std::string_view key, std::optional<microseconds> valid, std::string_view by,
                                  std::string_view here) const;

 protected:
  /// `names` has the lock table; `file` is the text of sql/done-*.sql; `creates`: the URL says schema=create.
  /// `database`: what stands before the table's name where another database may be the current one.
  done_marks(const table_names& names, const done_words& words, std::string_view file, bool creates,
             const std::string& database = {});

  virtual std::string literal(const sql_value& value) const = 0;
  /// What :wall is in a text for a transaction of the application; empty where the server has the time.
  virtual std::optional<std::int64_t> wall() const { return std::nullopt; }
  /// What makes a statement see all that other nodes of a cluster have committed. Empty: this is no cluster.
  virtual std::string_view synced(sql_connection& /*on*/) const { return {}; }
  /// Whether this thread may wait for a lock of the database. If not, sets `why`.
  virtual bool may_wait(fault& /*why*/) const noexcept { return true; }

 private:
  /// Runs `statement`; if the table is missing, makes it and runs it again.
  template <class Run>
  reply with_table(sql_connection& on, Run run);
  std::string text(const char* source) const;

  table_names names_;
  table_names application_names_;  ///< on a connection of the application
  const done_words words_;
  const optional_table table_;
  const bool creates_;
  std::atomic<bool> used_{false};
};

}  // namespace dlock::stores::sql
