// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Where the file is, and whether SQLite can keep processes apart there.

#include <cstdint>
#include <string>

#include "stores/sqlite/client/file.hpp"

namespace dlock::stores::sqlite {

/// A file system that machines share, by what statfs() calls it; null: none that is known.
const char* network_file_system(std::uint32_t type) noexcept;

/// Throws store_error: no such folder, no file (unless it is `to_be_made`), or a place where two could hold one key.
void check_location(const sqlite_file& file, bool to_be_made);

/// Which of the file, its -wal and its -shm this process may not write to, with modes and owners; empty: it may write to
/// all that are there.
std::string not_writable(const std::string& path);
/// The same of the folder, where -wal and -shm come and go.
std::string folder_not_writable(const std::string& path);

}  // namespace dlock::stores::sqlite
