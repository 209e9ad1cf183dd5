// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>

#include "dlock/store_interface/store_overview.hpp"
#include "stores/mysql/client/connection.hpp"

namespace dlock::stores::mysql {

/// Connections that execute a statement which contains both texts at this moment, and so block for a key. The server
/// shows the connections of other users only to a user with the right PROCESS.
reply find_waiters(mysql_connection& connection, std::string_view statement, std::string_view key, std::size_t limit,
                   waiter_overview& found);

}  // namespace dlock::stores::mysql
