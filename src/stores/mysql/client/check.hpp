// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "dlock/store_interface/store_overview.hpp"
#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/settings.hpp"

namespace dlock::stores::mysql {

/// Throws store_error. `store` is its name, which the text begins with.
[[noreturn]] void fail(const std::string& store, const fault& why);
[[noreturn]] void fail(const std::string& store, const std::string& text);

/// Why no store works through a proxy that gives one connection of the server to several clients; `sign`: what shows
/// it.
std::string without_own_session(const std::string& sign);

/// A statement's rows. Throws store_error if it fails.
mysql_rows read_rows(mysql_connection& connection, const std::string& store, const std::string& sql, const char* doing);

/// Whether a server will do for locks: its settings and its clock, whatever the tables. Throws store_error. At most
/// eight statements.
void check_server(mysql_connection& connection, const std::string& store);

/// What matters to locks of a server and of our user there, whatever the tables. failed: a statement failed for another
/// reason than a missing right.
reply examine_server(mysql_connection& with, const mysql_settings& settings, std::vector<store_finding>& found);

}  // namespace dlock::stores::mysql
