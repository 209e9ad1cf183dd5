// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

#include "dlock/store_interface/store_overview.hpp"
#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/settings.hpp"

namespace dlock::stores::mysql {

/// What matters to locks of a server and of our user there, whatever the tables. failed: a statement failed for another
/// reason than a missing right.
reply examine_server(mysql_connection& with, const mysql_settings& settings, std::vector<store_finding>& found);

}  // namespace dlock::stores::mysql
