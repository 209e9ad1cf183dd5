// SPDX-License-Identifier: BSL-1.0
#pragma once

/// One row per process and ttl class: what keeps the leases of that process alive. C++14: ODB's compiler reads it.

#include <array>
#include <cstdint>
#include <odb/core.hxx>
#include <string>

#include "model_version.hpp"

namespace dlock {
namespace entities {

// clang-format off
#pragma db object table("dlock_session")
struct session_entity {
  /// Random; never used again once the session is gone.
  #pragma db id mysql:type("BINARY(16)") sqlite:type("BLOB")
  std::array<unsigned char, 16> id;

  /// Microseconds since 1970-01-01 UTC by the server's clock (SQLite: since boot). Only ever raised.
  std::int64_t expires_at_us;
  std::int64_t ttl_us;
  /// Counts renewals, so that each of them changes the row.
  std::uint64_t beat;
  /// An operator forced it: it can't renew any more.
  bool revoked;

  #pragma db mysql:type("VARCHAR(255) CHARACTER SET utf8mb4")
  std::string host;
  std::int64_t pid;
  #pragma db mysql:type("VARCHAR(64) CHARACTER SET utf8mb4")
  std::string label;
  std::int64_t started_at_us;
  /// SQLite: which boot of the host the times belong to. Elsewhere empty.
  #pragma db mysql:type("VARCHAR(64) CHARACTER SET utf8mb4")
  std::string boot;
};
// clang-format on

}  // namespace entities
}  // namespace dlock
