// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Where the file is, and whether SQLite can keep processes apart there.

#include <cstdint>

#include "stores/sqlite/client/file.hpp"

namespace dlock::stores::sqlite {

/// A file system that machines share, by what statfs() calls it; null: none that is known.
const char* network_file_system(std::uint32_t type) noexcept;

/// Throws store_error: no such folder, no file (unless it is `to_be_made`), or a place where two could hold one key.
void check_location(const sqlite_file& file, bool to_be_made);

}  // namespace dlock::stores::sqlite
