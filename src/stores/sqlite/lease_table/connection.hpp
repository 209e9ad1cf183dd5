// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "stores/sqlite/client/connection.hpp"
#include "stores/sqlite/client/statement.hpp"
#include "stores/sqlite/lease_table/file.hpp"
#include "stores/sqlite/lease_table/rows.hpp"
#include "stores/sqlite/lease_table/sql.hpp"

namespace dlock::stores::sqlite::lease_table {

/// A connection with the hot statements of the lock tables, and those of the application's tables used last.
class lease_connection final : public sqlite_connection {
 public:
  explicit lease_connection(const std::shared_ptr<lease_file>& file) : sqlite_connection(file), file_(*file) {}

  using sqlite_connection::run;
  /// Runs a hot statement to its end.
  template <class Bind, class Row>
  int run(hot which, sqlite_turn& turn, Bind&& bind, Row&& row) {
    return run(statements_[static_cast<std::size_t>(which)], file_.sql[which], turn, bind, row);
  }

  lease_file& file() noexcept { return file_; }
  /// A lock table that is not there, of a service that did not look at its start, or that was dropped since.
  void explain(fault& why) const override {
    if (why.text.find("no such table: " + file_.names.prefix()) == std::string::npos) return;
    why.text += ": open the store once with schema=create to make the lock tables";
  }
  sqlite_row_statements& rows() noexcept { return rows_; }

 private:
  lease_file& file_;  // the base keeps it
  std::array<sqlite_statement, static_cast<std::size_t>(hot::count_)> statements_{};
  sqlite_row_statements rows_{};
};

}  // namespace dlock::stores::sqlite::lease_table
