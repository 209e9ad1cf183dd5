// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "stores/sql/row_owner.hpp"
#include "stores/sql/row_sql.hpp"
#include "stores/sql/schema.hpp"
#include "stores/sql/table_names.hpp"
#include "stores/sqlite/client/database.hpp"
#include "stores/sqlite/client/file.hpp"
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

  /// Why no process can wake another one by a file beside the database; empty: it can.
  std::string unfit_for_waking() const;
  /// Whether waiters are woken there, and so can be read.
  bool knows_waiters() const { return wakes && unfit_for_waking().empty(); }

  /// Added to the boot clock, gives the time that rows locked in place go by: about the wall clock's, but never set
  /// while this boot lasts. Known after prepare().
  microseconds row_epoch() const noexcept { return microseconds{row_epoch_.load(std::memory_order_relaxed)}; }
  /// The time that rows of the table go by. `boot_time`: now().
  microseconds row_now(const row_table& table, std::int64_t boot_time) const noexcept {
    return sql::by_column(table) ? wall_clock() : microseconds{boot_time} + row_epoch();
  }
  void row_epoch(microseconds found) noexcept { row_epoch_.store(found.count(), std::memory_order_relaxed); }

  /// Known after prepare().
  sql::tables_id tables() const noexcept { return sql::tables_id(tables_.load(std::memory_order_relaxed)); }
  void tables(sql::tables_id found) noexcept { tables_.store(found.number(), std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> row_epoch_{0};
  std::atomic<std::uint32_t> tables_{0};
};

}  // namespace dlock::stores::sqlite::lease_table
