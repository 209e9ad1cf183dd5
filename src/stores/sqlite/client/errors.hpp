// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sqlite3.h>

#include <string>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::sqlite {

/// The file that `path` leads to, beside which SQLite puts -wal and -shm; `path` itself if it can't be resolved.
std::string behind_links(const std::string& path);
/// Which of the file, its -wal and its -shm this process may not write, with modes and owners; empty if it may write
/// all that exist.
std::string not_writable(const std::string& path);
/// The same for the folder, where -wal and -shm come and go.
std::string folder_not_writable(const std::string& path);

/// Makes a fault of `code` (plain or extended). One table decides what may be retried and what ends the connection.
/// `detail` is SQLite's own message; if empty, the code's general text is used. If a right is missing, finds out which.
fault sqlite_fault(int code, const std::string& path, std::string detail = {});

/// Advice about SQLITE_BUSY_SNAPSHOT, where no retry in the same transaction helps.
inline constexpr const char* busy_snapshot_advice =
    "the transaction read before it wrote, and others have written since: begin it with BEGIN IMMEDIATE "
    "(dlock::begin_write() of an ODB database)";

/// Whether another connection has the file, so that the same statement may be retried at once.
inline bool is_busy(int code) noexcept { return (code & 0xff) == SQLITE_BUSY; }

/// Whether a connection that failed to open may open later. Otherwise an operator has to repair something first: "can't
/// be reached" would not help a user whose file is a picture.
bool may_open_later(int code) noexcept;

/// Whether a write that ended with `code` may still turn out to be committed: the log was written but not synced, so a
/// recovery after a crash may find it.
bool may_be_committed(int code) noexcept;

/// Throws store_error.
[[noreturn]] void refuse(const fault& why);
[[noreturn]] void refuse(std::string text);
/// Throws unfit_tables.
[[noreturn]] void refuse_unfit(const std::string& text);

/// The reply of verbs, which never throw, if there is no memory for a text.
reply out_of_memory() noexcept;

}  // namespace dlock::stores::sqlite
