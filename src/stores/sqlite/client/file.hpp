// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <cstdint>
#include <memory>
#include <odb/sqlite/database.hxx>
#include <string>

#include "dlock/store_interface/store_types.hpp"
#include "stores/sqlite/client/host.hpp"
#include "stores/sqlite/client/link.hpp"
#include "stores/sqlite/client/settings.hpp"
#include "stores/sqlite/client/write_queue.hpp"

namespace dlock::stores::sqlite {

/// Which file a path leads to, now.
struct file_id {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  /// All zero: there is no such file.
  static file_id of(const char* path) noexcept;
  friend bool operator==(const file_id&, const file_id&) noexcept = default;
};

/// What the connections of one store share. It knows no table.
class sqlite_file {
 public:
  /// Opens nothing.
  sqlite_file(sqlite_settings from, std::shared_ptr<const sqlite_host> machine, statement_rewrite rewrite = {});

  const sqlite_settings settings;
  const std::shared_ptr<const sqlite_host> host;
  const std::string boot;  ///< host->boot_id()
  sqlite_write_queue queue{};

  /// By the clock that all times in the file go by.
  std::int64_t now() const noexcept { return host->now(); }
  /// The clock of rows that are renewed by their own column.
  microseconds wall_clock() const noexcept { return microseconds{host->wall_clock()}; }

  odb::sqlite::database& database() noexcept { return database_; }
  /// Throws odb::exception.
  sqlite_link_ptr connect(bool create) { return links_->connect(create ? SQLITE_OPEN_CREATE : 0); }

 private:
  sqlite_link_factory* links_ = nullptr;  // owned by database_
  odb::sqlite::database database_;
};

}  // namespace dlock::stores::sqlite
