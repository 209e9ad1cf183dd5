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

/// What a server says of itself, by INFO and CONFIG GET.
struct server_facts {
  std::string run{};  ///< names this start of it
  std::string version{};
  std::chrono::seconds up{0};  ///< since its start, rounded
  bool loading = false;        ///< it reads its data, and says nothing true of its settings until it has
  bool primary = false;
  std::string promotion{};  ///< names the fail-over by which this start became primary; empty: none, or forgotten
  bool cluster = false;
  std::string policy{};  ///< maxmemory-policy, where memory is limited or it is allkeys-*: which keys it deletes then
  persistence keeps = persistence::none;

  /// `info`: the answer to INFO. `fsync`: that to CONFIG GET *appendfsync*, which may be an error: then the least is
  /// assumed.
  static server_facts read(std::string_view info, const answer& fsync);
  /// Why locks may not live there, with the server's name and what is to be changed; empty: they may.
  std::string refusal(const redis_settings& settings) const;
};

/// What the answer to INFO says of that; empty: nothing.
std::string_view info_field(std::string_view info, std::string_view name);
/// Likewise the answer to CONFIG GET, which has names and values in turn.
std::string_view config_value(const answer& config, std::string_view name);

/// What each connection begins with: it logs in, asks what server that is, and loads a scheme's scripts.
class greeting {
 public:
  /// Throws std::runtime_error: there is no login at present.
  greeting(const redis_settings& settings, std::span<const std::string> scripts);

  const command_text& text() const noexcept { return text_; }

  struct result {
    server_facts server{};
    std::uint64_t client = 0;           ///< the connection's number there
    std::vector<std::string> hashes{};  ///< of the scripts, in their order
  };
  /// One answer for each command. False, and why: the server does not let us in, or is no primary.
  bool judge(std::span<const answer> response, const std::string& where, result& found, fault& why) const;

 private:
  command_text text_{};
  std::size_t logs_in_ = 0;  ///< how many commands
};

/// Adds AUTH; without a password nothing.
void add_login(command_text& to, const std::string& user, const std::string& password);

/// What matters to locks of a server and of our user there.
reply examine_server(redis_connection& with, const redis_settings& settings, std::vector<store_finding>& found);

}  // namespace dlock::stores::redis
