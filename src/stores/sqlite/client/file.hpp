// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/stat.h>

#include <dlock/detail/odb_compat.hpp>
//
#include <atomic>
#include <cstdint>
#include <memory>
#include <odb/sqlite/database.hxx>
#include <string>

#include "dlock/store_interface/store_types.hpp"
#include "stores/sqlite/client/busy_retry.hpp"
#include "stores/sqlite/client/database.hpp"
#include "stores/sqlite/client/host.hpp"
#include "stores/sqlite/client/settings.hpp"

namespace dlock::stores::sqlite {

/// Which file a path leads to, now.
struct file_id {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  /// All zero: there is no such file.
  static file_id of(const char* path) noexcept;
  static file_id of(const struct ::stat& found) noexcept {
    return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
  }
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

/// A file system that machines share, by what statfs() calls it; null: none that is known.
const char* network_file_system(std::uint32_t type) noexcept;

/// Throws store_error: no such folder, no file (unless it is `to_be_made`), or a place where two could hold one key.
void check_location(const sqlite_file& file, bool to_be_made);

/// Says that this process has a connection to a file open, while it lives.
class sqlite_open_mark {
 public:
  explicit sqlite_open_mark(const file_id& file);
  ~sqlite_open_mark() { connections_.fetch_sub(1); }
  sqlite_open_mark(const sqlite_open_mark&) = delete;
  sqlite_open_mark& operator=(const sqlite_open_mark&) = delete;

 private:
  std::atomic<unsigned>& connections_;
};

/// Whether this process came by fork() from one that had the file open then. SQLite keeps a list of the locks that the
/// process has on a file, and the child inherits the list without the locks: its own connections, new ones too, would
/// believe in locks that no process has, or wait without end for threads that do not exist. It could lose committed
/// grants.
bool carried_over_fork(const file_id& file) noexcept;

}  // namespace dlock::stores::sqlite
