// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <atomic>
#include <cstdint>
#include <memory>
#include <odb/sqlite/database.hxx>
#include <string>

#include "dlock/store/store_types.hpp"
#include "stores/sqlite/client/host.hpp"
#include "stores/sqlite/client/link.hpp"
#include "stores/sqlite/client/settings.hpp"
#include "stores/sqlite/client/write_queue.hpp"
#include "stores/sqlite/lease_table/sql.hpp"

namespace dlock::stores {

/// Which file a path leads to, now.
struct file_id {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  /// All zero: there is no such file.
  static file_id of(const char* path) noexcept;
  friend bool operator==(const file_id&, const file_id&) noexcept = default;
};

/// What the connections of one store share.
class sqlite_file {
 public:
  /// Opens nothing. Throws std::invalid_argument for a bad prefix.
  sqlite_file(sqlite_settings from, std::shared_ptr<const sqlite_host> machine);

  const sqlite_settings settings;
  const dlock::detail::odb_names names;
  const sqlite_sql sql;
  const std::shared_ptr<const sqlite_host> host;
  const std::string boot;  ///< host->boot_id()
  sqlite_write_queue queue{};

  /// Added to the boot clock, gives the time that rows locked in place go by: about the wall clock's, but never set while
  /// this boot lasts. Known after prepare().
  microseconds row_epoch() const noexcept { return microseconds{row_epoch_.load(std::memory_order_relaxed)}; }
  void row_epoch(microseconds found) noexcept { row_epoch_.store(found.count(), std::memory_order_relaxed); }

  /// By the clock that all times in the file go by.
  std::int64_t now() const noexcept { return host->now(); }
  /// The clock of rows that are renewed by their own column.
  microseconds wall_clock() const noexcept { return microseconds{host->wall_clock()}; }

  odb::sqlite::database& database() noexcept { return database_; }
  /// Throws odb::exception.
  sqlite_link_ptr connect(bool create) { return links_->connect(create ? SQLITE_OPEN_CREATE : 0); }

 private:
  std::atomic<std::int64_t> row_epoch_{0};
  sqlite_link_factory* links_ = nullptr;  // owned by database_
  odb::sqlite::database database_;
};

}  // namespace dlock::stores
