// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "dlock/store_interface/store_overview.hpp"
#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/settings.hpp"

namespace dlock::stores::mysql {

/// Throws store_error, whose text begins with the name `store`.
[[noreturn]] void fail(const std::string& store, const fault& why);
[[noreturn]] void fail(const std::string& store, const std::string& text);
/// The same with unfit_tables.
[[noreturn]] void fail_tables(const std::string& store, const fault& why);

/// The message that no store works through a proxy that gives one server connection to several clients. `sign` is what
/// shows that it does.
std::string without_own_session(const std::string& sign);

/// Returns a statement's rows. Throws store_error if it fails.
mysql_rows read_rows(mysql_connection& connection, const std::string& store, const std::string& sql, const char* doing);

/// Checks the server's settings and clock, regardless of the tables. Throws store_error. At most six statements.
void check_server(mysql_connection& connection, const std::string& store);

/// Examines the server and the rights of our user, regardless of the tables. Returns failed if a statement failed for
/// another reason than a missing right.
reply examine_server(mysql_connection& with, const mysql_settings& settings, std::vector<store_finding>& found);

}  // namespace dlock::stores::mysql
