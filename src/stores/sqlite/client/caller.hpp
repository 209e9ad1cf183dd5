// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sqlite3.h>

#include "dlock/export.hpp"

namespace dlock::stores::sqlite {

/// The connection on which the calling thread has an open transaction; null if none is known.
using caller_connection = sqlite3* (*)() noexcept;

/// Called once by dlock::odb_sqlite, which knows ODB's current transactions, when it is linked. It stays set.
DLOCK_EXPORT void watch_callers(caller_connection by) noexcept;
/// Always null without dlock::odb_sqlite.
sqlite3* connection_of_caller() noexcept;

}  // namespace dlock::stores::sqlite
