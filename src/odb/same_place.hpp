// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>

#include "dlock/store.hpp"

namespace dlock::detail {

/// Whether a connection of the application's leads to the server (SQLite: the file) in which the store's locks live. yes,
/// no; failed or unknown: there was no answer. Cost: the first time for a database one statement, afterwards none.
outcome same_place(const store& where, odb::connection& on);

}  // namespace dlock::detail
