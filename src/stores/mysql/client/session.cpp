// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stores/mysql/client/errors.hpp"

namespace dlock::stores::mysql {
namespace {

enum on : unsigned { mysql = 1, mariadb = 2, mariadb_11 = 4, any_mariadb = mariadb | mariadb_11, all = 7 };

struct known_variable {
  unsigned servers;
  session_variable variable;
};

// docs/operations.md says of each why it is set. What may be changed only by privileged users is not in the list.
constexpr known_variable known[] = {
    {all, {"autocommit", "1"}},
    // The same under the standard's name and the older one: MariaDB has the former since 11.1.
    {mysql | mariadb_11, {"transaction_isolation", "'READ-COMMITTED'"}},
    {mysql | mariadb_11, {"transaction_read_only", "0"}},
    {mariadb, {"tx_isolation", "'READ-COMMITTED'"}},
    {mariadb, {"tx_read_only", "0"}},
    {all, {"completion_type", "NO_CHAIN"}},
    {all, {"innodb_lock_wait_timeout", "1"}},
    {all, {"lock_wait_timeout", "2"}},
    {all, {"time_zone", "'+00:00'"}},
    {all, {"sql_mode", "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"}},
    {all, {"sql_select_limit", "18446744073709551615"}},
    {all, {"sql_safe_updates", "0"}},
    {all, {"sql_big_selects", "1"}},
    {all, {"sql_auto_is_null", "0"}},
    {all, {"character_set_client", "utf8mb4"}},
    {all, {"character_set_connection", "utf8mb4"}},
    {all, {"character_set_results", "utf8mb4"}},
    {all, {"wait_timeout", "28800"}},
    {mysql, {"max_execution_time", "0"}},
    {any_mariadb, {"max_statement_time", "0"}},
    {any_mariadb, {"query_cache_type", "0"}},
    {any_mariadb, {"wsrep_sync_wait", "0"}},
    {any_mariadb, {"wsrep_dirty_reads", "0"}},
};

on kind_of(MYSQL* handle) {
  if (!is_mariadb(handle)) return mysql;
  return mysql_get_server_version(handle) < 110'100 ? mariadb : mariadb_11;
}

/// Takes out of the list what the server's text names. False: nothing of it.
bool leave_out_unknown(std::vector<session_variable>& variables, const fault& why) {
  constexpr int unknown_variable = 1193;
  return why.native == unknown_variable && std::erase_if(variables, [&](const session_variable& each) {
                                             return why.text.find(fmt::format("'{}'", each.name)) != std::string::npos;
                                           }) != 0;
}

}  // namespace

std::vector<session_variable> session_variables(MYSQL* handle) {
  const auto here = kind_of(handle);
  std::vector<session_variable> found;
  for (const auto& each : known) {
    if ((each.servers & here) != 0) found.push_back(each.variable);
  }
  return found;
}

bool set_session(MYSQL* handle, std::vector<session_variable> variables, std::string_view doing, fault& why) {
  for (;;) {
    std::string sql;
    for (const auto& each : variables) {
      sql += fmt::format("{}{}={}", sql.empty() ? "SET SESSION " : ", ", each.name, each.value);
    }
    if (run_mysql(handle, sql, doing, nullptr, why)) break;
    if (!leave_out_unknown(variables, why)) return false;
  }
  if (in_autocommit(handle)) {
    why = {};
    return true;
  }
  why = make_own_fault(
      fmt::format("{}: a transaction is open from the start: does the server's init_connect begin one?", doing), false,
      true);
  return false;
}

bool in_autocommit(MYSQL* handle) noexcept {
  return (handle->server_status & (SERVER_STATUS_IN_TRANS | SERVER_STATUS_AUTOCOMMIT)) == SERVER_STATUS_AUTOCOMMIT;
}

}  // namespace dlock::stores::mysql
