// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "support/redis_server.hpp"

namespace dlock::test {

/// Independent servers that write nothing to a disk.
class redis_masters {
 public:
  explicit redis_masters(std::size_t count = 5) : servers_(count) {}

  redis_server& operator[](std::size_t which) { return servers_[which]; }
  std::size_t size() const noexcept { return servers_.size(); }
  auto begin() noexcept { return servers_.begin(); }
  auto end() noexcept { return servers_.end(); }
  /// Those from `first` on; `parameters`: "&name=value".
  std::string url(const std::string& parameters = {}, std::size_t first = 0) const {
    std::string hosts;
    for (auto i = first; i < servers_.size(); ++i)
      hosts += fmt::format("{}127.0.0.1:{}", hosts.empty() ? "" : ",", servers_[i].port());
    return fmt::format("redlock://{}/0{}{}", hosts, parameters.empty() ? "" : "?",
                       parameters.substr(parameters.empty() ? 0 : 1));
  }

 private:
  struct without_disk : redis_server {
    without_disk() : redis_server({"--appendonly", "no"}) {}
  };
  std::vector<without_disk> servers_;
};

}  // namespace dlock::test
