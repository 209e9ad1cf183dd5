// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "stores/sqlite/client/busy_retry.hpp"
#include "stores/sqlite/client/settings.hpp"

namespace dlock::stores::sqlite {

/// The store's queries about its machine. Tests replace it. Thread safety: any thread.
class sqlite_host {
 public:
  virtual ~sqlite_host() = default;

  /// Identifies the boot; empty if the system does not say. Equal ids mean one boot. Different ones prove nothing,
  /// because containers of one kernel may each see another id.
  virtual std::string boot_id() const;
  /// Microseconds since the boot, time asleep included. The same for all processes of the kernel.
  virtual std::int64_t now() const noexcept;
  /// Microseconds since 1970, UTC. Only for rows whose expiry other programs compare with datetime('now').
  virtual std::int64_t wall_clock() const noexcept;
  /// Whether now() differs from that of the kernel's other processes, because this one is in another time namespace.
  virtual bool shifted_clock() const;

  /// The type by statfs() of the file system that a file or folder is on; 0 if statfs() fails.
  virtual std::uint32_t file_system(const std::string& path) const noexcept;
  /// Whether the file itself is a mount point, as containers can have it.
  virtual bool mounted_alone(const std::string& path) const noexcept;
  /// The number of the file's hard links; 0 if it can't be read.
  virtual std::uint64_t names(const std::string& path) const noexcept;

  /// The real machine; lives as long as the process.
  static const std::shared_ptr<const sqlite_host>& here();
};

/// Reads /proc/self/timens_offsets: lines such as "boottime  86400  0", in seconds and nanoseconds.
bool has_shifted_boot_clock(std::istream& offsets);

/// The file that a path leads to now.
struct file_id {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  /// All zero if there is no such file.
  DLOCK_EXPORT static file_id of(const char* path) noexcept;
  static file_id of(const struct ::stat& found) noexcept {
    return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
  }
  friend bool operator==(const file_id&, const file_id&) noexcept = default;
};

/// What the connections of one store share. It knows no tables.
class sqlite_file {
 public:
  /// Opens nothing.
  sqlite_file(sqlite_settings from, std::shared_ptr<const sqlite_host> machine);

  const sqlite_settings settings;
  const std::shared_ptr<const sqlite_host> host;
  const std::string boot;  ///< host->boot_id()
  sqlite_write_queue queue{};

  /// The clock of all times in the file.
  std::int64_t now() const noexcept { return host->now(); }
  /// The clock of rows that have their own expiry column.
  microseconds wall_clock() const noexcept { return microseconds{host->wall_clock()}; }
};

/// The name of a file system that machines share, by its type of statfs(); null if the type is none of these.
const char* network_file_system(std::uint32_t type) noexcept;

/// Throws store_error if there is no such folder, no file (unless it is `to_be_made`), or the place would let two
/// processes hold one key.
void check_location(const sqlite_file& file, bool to_be_made);

/// While it lives, marks that this process has a connection to a file open.
class sqlite_open_mark {
 public:
  explicit sqlite_open_mark(const file_id& file);
  ~sqlite_open_mark() { connections_.fetch_sub(1); }
  sqlite_open_mark(const sqlite_open_mark&) = delete;
  sqlite_open_mark& operator=(const sqlite_open_mark&) = delete;

 private:
  std::atomic<unsigned>& connections_;
};

/// Whether a fork() made this process while its parent had the file open. SQLite keeps a list of the process's locks on
/// a file, and the child inherits the list without the locks: all its connections would rely on locks that no process
/// has, or wait for ever for threads that do not exist. Committed grants could be lost.
bool carried_over_fork(const file_id& file) noexcept;

}  // namespace dlock::stores::sqlite
