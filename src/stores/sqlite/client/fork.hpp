// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

#include "stores/sqlite/client/file.hpp"

namespace dlock::stores::sqlite {

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
