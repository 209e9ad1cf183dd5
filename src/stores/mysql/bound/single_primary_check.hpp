// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "stores/mysql/client/connection.hpp"

namespace dlock::stores::mysql {

/// What decides whether a lock that is bound to a connection is the only one of its name.
struct server_facts {
  bool cluster = false;            ///< Galera
  bool several_primaries = false;  ///< group replication that writes everywhere
  bool proxy = false;              ///< the number of the connection is not the one of the handshake
  std::string version{};
  std::string first{};   ///< CONNECTION_ID() of one statement
  std::string second{};  ///< of the next one
};

/// Asks the server behind it. Throws store_error. Three statements.
server_facts read_facts(mysql_connection& connection, const mysql_server& server, const std::string& store);

/// Why such a lock could be granted twice there, or be lost without a word; empty: neither. `locks`: what they are, in
/// words.
std::string refusal(const server_facts& facts, const std::string& locks);

/// Throws std::invalid_argument if the URL names several hosts: each has such locks of its own.
void check_lone_host(const mysql_settings& settings, const std::string& scheme);

/// A server may turn into a replica, and keep its connections: then locks are to be had elsewhere. The statement, and
/// whether its answer says so.
inline constexpr const char* still_primary_sql = "SELECT @@global.read_only, @@global.innodb_read_only";
bool is_no_primary(const mysql_rows& answer);

/// What a connection's wait_timeout must be, so that the server keeps it for as long as the ttl of its locks: whole
/// seconds.
std::int64_t silence_for(microseconds ttl) noexcept;

}  // namespace dlock::stores::mysql
