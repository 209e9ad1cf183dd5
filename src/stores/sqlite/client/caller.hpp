// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sqlite3.h>

#include "dlock/export.hpp"

namespace dlock::stores::sqlite {

/// The connection on which the calling thread has a transaction open; null: none that is known.
using caller_connection = sqlite3* (*)() noexcept;

/// Once, by dlock::odb_sqlite when it is linked, which knows ODB's current transactions; never unset.
DLOCK_EXPORT void watch_callers(caller_connection by) noexcept;
/// Without dlock::odb_sqlite always null.
sqlite3* connection_of_caller() noexcept;

}  // namespace dlock::stores::sqlite
