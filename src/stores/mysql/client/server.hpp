// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stores/mysql/client/native.hpp"

namespace dlock::stores::mysql {

/// The server that a connection leads to.
struct mysql_server {
  std::string id{};      ///< the same for all connections to the same data
  std::string id_sql{};  ///< an SQL expression with that value, for a condition in any statement
  std::string node{};    ///< the server process: in a cluster, one of several
  std::string start{};   ///< when that process started; empty if unknown
  std::uint64_t connection = 0;
  std::string database{};  ///< the connection's database
  std::string refusal{};   ///< why it accepts no locks: a replica, or outside its cluster; empty if it does
};

/// Reads it in one round trip. Returns false and sets `why` if that failed.
bool read_server(MYSQL* handle, mysql_server& server, fault& why);

/// Makes mysql_server::refusal from the row of that round trip.
std::string mysql_refusal(const std::vector<std::optional<std::string>>& row);

/// Whether a proxy is in between that gives its clients its own connection numbers, to which a KILL may refer.
bool is_behind_proxy(const mysql_server& server) noexcept;

/// Whether it is a node of a Galera cluster, where each node accepts writes.
bool is_cluster(const mysql_server& server) noexcept;

/// The text of connection_identity::incarnation: the start and the node.
std::string incarnation_text(const mysql_server& server);

/// What another connection can do about a statement of a connection that was lost.
enum class lost_connection { ended, reachable, out_of_reach };

/// Rule 6. ended: the server was restarted since. reachable: KILL ends the statement. out_of_reach: another server or
/// node, or a proxy in between, behind which a KILL may reach another server.
lost_connection compare_servers(const connection_identity& lost, const connection_identity& now);

}  // namespace dlock::stores::mysql
