// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/database.hxx>

#include <memory>

#include "stores/sqlite/client/settings.hpp"

namespace dlock::stores::sqlite {

/// A database of the application's own, in the file that the locks are in. Its connections wait while others write.
std::unique_ptr<odb::database> open_application_database(const sqlite_settings& settings);

}  // namespace dlock::stores::sqlite
