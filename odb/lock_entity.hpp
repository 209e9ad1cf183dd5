// SPDX-License-Identifier: BSL-1.0
#pragma once

/// One row per key that was ever locked and not yet swept. C++14: ODB's compiler reads it.
///
/// There is no foreign key to the session: it would make each renewal wait for acquires in flight.

#include <array>
#include <cstdint>
#include <odb/core.hxx>
#include <odb/nullable.hxx>
#include <vector>

#include "model_version.hpp"

namespace dlock {
namespace entities {

// clang-format off
#pragma db object table("dlock_lock")
struct lock_entity {
  /// The key's bytes, compared byte by byte.
  #pragma db id mysql:type("VARBINARY(255)") sqlite:type("BLOB")
  std::vector<char> lock_key;

  /// The holder. NULL: free.
  #pragma db mysql:type("BINARY(16)") sqlite:type("BLOB")
  odb::nullable<std::array<unsigned char, 16>> session_id;

  /// Names the attempt of that session which was granted.
  std::uint64_t nonce;
  /// The fencing token: +1 at each grant.
  std::uint64_t fence;
  std::int64_t acquired_at_us;
  /// NULL: as long as its session lives.
  odb::nullable<std::int64_t> expires_at_us;

  /// The connection that verified the lease last, and how often it was verified.
  #pragma db default(0)
  std::uint64_t verified_by;
  #pragma db default(0)
  std::uint64_t verifies;
};
// clang-format on

}  // namespace entities
}  // namespace dlock
