// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/server.hpp"

#include <fmt/format.h>

#include <array>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {
namespace {

constexpr std::string_view mariadb_node = "CONCAT_WS('|', @@hostname, @@port, @@datadir, @@server_id)";
constexpr std::string_view mariadb_cluster =
    "(SELECT CONCAT('galera|', VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE "
    "VARIABLE_NAME='WSREP_CLUSTER_STATE_UUID')";
constexpr std::string_view mysql_node = "@@server_uuid";

// Uptime and UNIX_TIMESTAMP() both count to the start of the statement, so the difference is the second in which the
// server started: always the same number, even if the clock is set. A Galera node that has lost its cluster still
// answers this, and keeps its clients.
constexpr const char* mariadb_sql =
    "SELECT CONNECTION_ID(), {}, "
    "UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
    "VARIABLE_NAME='UPTIME'), "
    "(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME='WSREP_ON'), "
    "(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
    "VARIABLE_NAME='WSREP_CLUSTER_STATE_UUID'), "
    "(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_READY'), "
    "(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='WSREP_CLUSTER_STATUS'), "
    "@@global.read_only, @@global.innodb_read_only, 0, DATABASE()";
constexpr const char* mysql_text_sql =
    "SELECT CONNECTION_ID(), {}, "
    "UNIX_TIMESTAMP()-(SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE "
    "VARIABLE_NAME='Uptime'), "
    "'OFF', '', '', '', @@global.read_only, @@global.innodb_read_only, @@global.super_read_only, DATABASE()";

constexpr std::string_view behind_proxy = "proxy";
constexpr std::string_view of_cluster = "galera|";

struct incarnation {
  std::string_view start;
  std::string_view node;
};

incarnation take_apart(std::string_view text) {
  const auto at = text.find('@');
  return {text.substr(0, at), at == std::string_view::npos ? std::string_view{} : text.substr(at + 1)};
}

}  // namespace

std::string mysql_refusal(const std::vector<std::optional<std::string>>& row) {
  const auto says = [&](std::size_t column) { return row.at(column).value_or(""); };
  if (says(3) == "ON" && !says(4).empty() && (says(5) != "ON" || says(6) != "Primary")) {
    return fmt::format("this node is not a working part of its cluster (wsrep_ready is {}, wsrep_cluster_status is {})",
                       says(5), says(6));
  }
  constexpr std::array<const char*, 3> names{"read_only", "innodb_read_only", "super_read_only"};
  for (std::size_t i = 0; i != names.size(); ++i) {
    const auto value = says(7 + i);
    if (value.empty() || value == "0" || value == "OFF") continue;
    return fmt::format("{} is on: this server is a replica or takes no writes, and locks need the server that does",
                       names[i]);
  }
  return {};
}

bool read_server(MYSQL* handle, mysql_server& server, fault& why) {
  mysql_rows rows;
  const bool mariadb = is_mariadb(handle);
  const auto sql =
      fmt::format(fmt::runtime(mariadb ? mariadb_sql : mysql_text_sql), mariadb ? mariadb_node : mysql_node);
  if (!run_mysql(handle, sql, "reading the server's identity", &rows, why)) return false;
  const auto& row = rows.at(0);
  server.connection = unsigned_of(row.at(0));
  server.node = row.at(1).value_or("");
  server.start = row.at(2).value_or("");
  server.database = row.at(10).value_or("");
  const bool cluster = row.at(3).value_or("") == "ON" && !row.at(4).value_or("").empty();
  server.id = cluster ? std::string(of_cluster) + *row.at(4) : server.node;
  server.id_sql = cluster ? mariadb_cluster : mariadb ? mariadb_node : mysql_node;
  server.refusal = mysql_refusal(row);
  // A proxy's handshake has a number that is not the server's.
  if (server.connection != mysql_thread_id(handle)) server.node = behind_proxy;
  return true;
}

bool is_behind_proxy(const mysql_server& server) noexcept { return server.node == behind_proxy; }

bool is_cluster(const mysql_server& server) noexcept { return server.id.starts_with(of_cluster); }

std::string incarnation_text(const mysql_server& server) { return fmt::format("{}@{}", server.start, server.node); }

lost_connection compare_servers(const connection_identity& lost, const connection_identity& now) {
  const auto then = take_apart(lost.incarnation);
  const auto here = take_apart(now.incarnation);
  const bool identified = !then.start.empty() && !here.start.empty() && !then.node.empty() && then.node != behind_proxy;
  if (!identified || lost.server != now.server || then.node != here.node) return lost_connection::out_of_reach;
  return then.start == here.start ? lost_connection::reachable : lost_connection::ended;
}

}  // namespace dlock::stores::mysql
