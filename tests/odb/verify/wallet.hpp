// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/odb/lock_columns.hpp>

#include <cstdint>
#include <odb/core.hxx>
#include <string>

namespace dlock {
namespace test {

// clang-format off
#pragma db object table("verify_wallet") optimistic
struct wallet {
  #pragma db id
  std::uint64_t id = 0;
  std::int64_t balance = 0;
  std::uint64_t fence = 0;  ///< of the lock under which it was written last
  dlock::lock_columns lock{};   ///< some are locked by it, see wallet_key()
  #pragma db version
  std::uint32_t version = 0;
};

/// One change of a wallet, written in the same transaction as the wallet.
#pragma db object table("verify_entry")
struct entry {
  #pragma db id auto
  std::uint64_t id = 0;  ///< in the order of the writes
  std::uint64_t wallet = 0;
  std::uint64_t fence = 0;
  std::int64_t before = 0;  ///< the balance that the writer had read
  std::int64_t delta = 0;
  std::string transfer;  ///< "<process>.<number>"; each has two entries
};

// clang-format on

}  // namespace test
}  // namespace dlock
