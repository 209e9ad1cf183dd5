// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stores/redis/client/server.hpp"

namespace dlock::stores::redis {

/// What each connection begins with: it logs in, asks what server that is, and loads a scheme's scripts.
class greeting {
 public:
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
  std::size_t logs_in_;  ///< how many commands
};

}  // namespace dlock::stores::redis
