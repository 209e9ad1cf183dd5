// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "dlock/store_interface/store_overview.hpp"

namespace dlock::command {

/// What happened in a store between two polls of it. Reads no clock.
class rates {
 public:
  struct per_second {
    std::optional<double> grants{};  ///< unknown if the store does not count them, and when rows were deleted
    std::optional<double> losses{};  ///< leases whose session ended without a release; unknown at the first poll
  };

  per_second next(const store_overview& now, std::chrono::steady_clock::time_point at);

 private:
  struct seen_session {
    std::uint64_t locks = 0;
    bool dead = false;
    bool late = false;  ///< it was not renewed in time: a healthy session has at least two thirds of its ttl left
  };

  bool known_ = false;
  std::chrono::steady_clock::time_point at_{};
  std::uint64_t keys_ = 0;
  std::optional<std::int64_t> grants_{};
  std::map<id128, seen_session> sessions_{};
};

}  // namespace dlock::command
