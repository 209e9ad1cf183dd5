// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stores/mysql/client/native.hpp"

namespace dlock::stores::mysql {

/// Which server a connection leads to.
struct mysql_server {
  std::string id{};      ///< the same for all connections to the same data
  std::string id_sql{};  ///< an expression whose value that is, for a condition in any statement
  std::string node{};    ///< which process serves it: of a cluster, one of several
  std::string start{};   ///< when that process started; empty: not known
  std::uint64_t connection = 0;
  std::string database{};  ///< of the connection
  std::string refusal{};   ///< why locks can't be had there: a replica, or outside its cluster; empty: they can
};

/// Reads it in one round trip. False, and the reason, if that failed.
bool read_server(MYSQL* handle, mysql_server& server, fault& why);

/// What mysql_server::refusal is, by the row of that round trip.
std::string mysql_refusal(const std::vector<std::optional<std::string>>& row);

/// Whether something stands in between that gives its clients numbers of its own, by which it may read a KILL.
bool is_behind_proxy(const mysql_server& server) noexcept;

/// Whether it is a node of a Galera cluster, of which each takes writes.
bool is_cluster(const mysql_server& server) noexcept;

/// What connection_identity::incarnation holds: the start and the node.
std::string incarnation_text(const mysql_server& server);

/// What may be done about a statement of a connection that was lost, seen from another connection.
enum class lost_connection { ended, reachable, out_of_reach };

/// Rule 6: ended: the server was started anew since. reachable: KILL ends it. out_of_reach: another server or
/// node, or a proxy in between, behind which a KILL may reach another server.
lost_connection compare_servers(const connection_identity& lost, const connection_identity& now);

}  // namespace dlock::stores::mysql
