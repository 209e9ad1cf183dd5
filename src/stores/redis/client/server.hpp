// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store_overview.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/settings.hpp"

namespace dlock::stores::redis {

/// Facts about a server, from INFO and CONFIG GET.
struct server_facts {
  std::string run{};  ///< identifies this start of the server
  std::string version{};
  std::chrono::seconds up{0};  ///< since its start, rounded
  bool loading = false;        ///< it is loading its data, and its settings are not valid until it has
  bool primary = false;
  std::string promotion{};  ///< identifies the failover by which this start became primary; empty if there was none, or
                            ///< it is forgotten
  bool cluster = false;
  std::string policy{};  ///< maxmemory-policy, if memory is limited or it is allkeys-*: which keys it deletes then
  persistence keeps = persistence::none;

  /// `info` is the reply to INFO. `fsync` is the reply to CONFIG GET *appendfsync*, which may be an error; then the
  /// weakest setting is assumed.
  static server_facts read(std::string_view info, const answer& fsync);
  /// Why this server can't store locks, with its name and what to change; empty if it can.
  std::string refusal(const redis_settings& settings) const;
};

/// A field of the reply to INFO, empty if it has none.
std::string_view info_field(std::string_view info, std::string_view name);
/// A value of the reply to CONFIG GET, which has names and values in turn.
std::string_view config_value(const answer& config, std::string_view name);

/// The first commands of each connection: it logs in, asks which server it is, and loads a scheme's scripts.
class greeting {
 public:
  /// Throws std::runtime_error if there is no login at present.
  greeting(const redis_settings& settings, std::span<const std::string> scripts);

  const command_text& text() const noexcept { return text_; }

  struct result {
    server_facts server{};
    std::uint64_t client = 0;           ///< the connection's number at the server
    std::vector<std::string> hashes{};  ///< of the scripts, in their order
  };
  /// `response` has one reply for each command. Returns false and sets `why` if the server refuses the login, or is no
  /// primary.
  bool judge(std::span<const answer> response, const std::string& where, result& found, fault& why) const;

 private:
  command_text text_{};
  std::size_t logs_in_ = 0;  ///< the number of commands for the login
};

/// Adds AUTH, if there is a password.
void add_login(command_text& to, const std::string& user, const std::string& password);

/// Examines the server and the rights of our user.
reply examine_server(redis_connection& with, const redis_settings& settings, std::vector<store_finding>& found);

}  // namespace dlock::stores::redis
