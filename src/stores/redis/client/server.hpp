// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

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
  /// Whether locks may live there. `expire`: their keys have an expiry in the server. Throws std::invalid_argument,
  /// with the server's name and what is to be changed.
  void must_do(const redis_settings& settings, bool expire) const;
};

}  // namespace dlock::stores::redis
