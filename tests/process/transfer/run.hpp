// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace odb {
class database;
}

namespace dlock {
class lock_service;
}

namespace dlock::test {

struct transfer_settings {
  std::string log{};  ///< a transfer_log
  std::uint64_t wallets = 6;
  std::uint64_t seed = 1;
  std::chrono::milliseconds ttl{1000};
  bool unchecked = false;  ///< nobody verifies anything
};

/// Transfers between random wallets and logs what becomes of it, until somebody says something on standard input or
/// closes it.
void run_transfers(lock_service& locks, odb::database& bank, const transfer_settings& settings);

}  // namespace dlock::test
