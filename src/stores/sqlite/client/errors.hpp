// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sqlite3.h>

#include <string>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::sqlite {

/// The file that `path` leads to, beside which SQLite puts -wal and -shm; `path` itself if that can't be found.
std::string behind_links(const std::string& path);
/// Which of the file, its -wal and its -shm this process may not write to, with modes and owners; empty: it may write
/// to all that are there.
std::string not_writable(const std::string& path);
/// The same of the folder, where -wal and -shm come and go.
std::string folder_not_writable(const std::string& path);

/// `code` (plain or extended) as a fault: one table says what may be tried again and what ends the
/// connection. `detail` is SQLite's own message; empty: the code's general text. Where a right is missing, it looks
/// which.
fault sqlite_fault(int code, const std::string& path, std::string detail = {});

/// What to do about SQLITE_BUSY_SNAPSHOT: no try of the same transaction helps.
inline constexpr const char* busy_snapshot_advice =
    "the transaction read before it wrote, and others have written since: begin it with BEGIN IMMEDIATE "
    "(dlock::begin_write() of an ODB database)";

/// Another connection has the file: the same statement may be tried again at once.
inline bool is_busy(int code) noexcept { return (code & 0xff) == SQLITE_BUSY; }

/// Whether a connection that could not be made may be made later, as things are. Else an operator has to mend something
/// first: "can't be reached" would not help a user that passed a picture.
bool may_open_later(int code) noexcept;

/// Whether a write that ended with `code` may still turn out to be committed: the log was written but could
/// not be synced, so a recovery after a crash may find it.
bool may_be_committed(int code) noexcept;

/// Throws store_error.
[[noreturn]] void refuse(const fault& why);
[[noreturn]] void refuse(std::string text);

/// For verbs, which never throw: what is left to say when there is no memory for the text.
reply out_of_memory() noexcept;

}  // namespace dlock::stores::sqlite
