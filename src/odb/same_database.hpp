// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>

#include <functional>
#include <string>

#include "stores/sql/application_database.hpp"

namespace dlock::detail {

/// Executes a statement that is to change so many rows in the place; gives how many it did. Where it fails or changes
/// another number because the connection leads to another server (SQLite: file), `elsewhere` is called, which throws.
/// An address may lead to one server today and to another tomorrow, so no answer about that is kept. One more
/// statement, only where something is wrong. Throws what ODB throws.
unsigned long long execute_there(const stores::sql::application_database& application, odb::connection& connection,
                                 const std::string& sql, unsigned long long expected,
                                 const std::function<void()>& elsewhere);

}  // namespace dlock::detail
