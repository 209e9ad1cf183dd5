// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "dlock/id128.hpp"

namespace dlock {

/// A held lock as an operator sees it: lock_service::holder(), lock_service::held_keys().
struct holder_info {
  std::string key{};
  id128 session{};                     ///< of the holder
  std::uint64_t fence = 0;             ///< fencing token of the present grant
  std::string host{};                  ///< of the holder's process; empty if its session is gone
  std::int64_t pid = 0;                ///< likewise
  std::string label{};                 ///< service_options::label of the holder
  bool kept = false;                   ///< lives as long as its session; otherwise it has an expiry of its own
  bool doomed = false;                 ///< an operator forced it: its renewals are refused
  std::chrono::microseconds since{0};  ///< how long ago it was granted, by the server's clock
  std::chrono::microseconds left{0};   ///< until its expiry if nobody renews; 0: over, the next taker gets it
};

}  // namespace dlock
