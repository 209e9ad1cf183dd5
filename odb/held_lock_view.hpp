// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A held lock joined with its session, as operators see it. The query is given at run time, with the columns
/// in this order. C++14: ODB's compiler reads it.

#include <array>
#include <cstdint>
#include <odb/core.hxx>
#include <odb/nullable.hxx>
#include <string>
#include <vector>

namespace dlock {
namespace entities {

// clang-format off
#pragma db view
struct held_lock_view {
  #pragma db mysql:type("VARBINARY(255)") sqlite:type("BLOB")
  std::vector<char> lock_key;
  #pragma db mysql:type("BINARY(16)") sqlite:type("BLOB")
  std::array<unsigned char, 16> session_id;
  std::uint64_t fence;
  /// Microseconds by the store's clock: since the grant, and until the expiry (0 or less: past).
  std::int64_t since_us;
  std::int64_t remaining_us;
  bool kept;
  bool revoked;
  /// Kept by a session that is gone or has expired.
  bool dead;
  /// Empty if the session is gone.
  std::string host;
  std::int64_t pid;
  std::string label;
};
// clang-format on

}  // namespace entities
}  // namespace dlock
