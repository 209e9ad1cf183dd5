// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/database.hxx>

#include <memory>

#include "stores/mysql/client/settings.hpp"

namespace dlock::stores::mysql {

/// A database of the application's own, reached as the locks are.
std::unique_ptr<odb::database> open_application_database(const mysql_settings& settings);

}  // namespace dlock::stores::mysql
