// SPDX-License-Identifier: BSL-1.0
#pragma once

/// One row per key and process that waits for it, on MySQL and MariaDB. A release finds the first of them, and wakes
/// it. A row says nothing by itself: it counts while its process has its wake id, a named lock of the server. C++14:
/// ODB's compiler reads it.

#include <array>
#include <cstdint>
#include <odb/core.hxx>
#include <odb/nullable.hxx>
#include <string>
#include <vector>

#include "model_version.hpp"

namespace dlock {
namespace entities {

// clang-format off
/// Their order is that in which they are woken.
#pragma db value
struct waiter_place {
  #pragma db mysql:type("VARBINARY(255)")
  std::vector<char> lock_key;
  /// Microseconds since 1970-01-01 UTC by the server's clock.
  std::int64_t since_us;
  /// The named lock is 'dlock.' and these bytes in hexadecimal digits.
  #pragma db mysql:type("BINARY(16)")
  std::array<unsigned char, 16> wake_id;
};

#pragma db object table("dlock_waiter")
struct waiter_entity {
  #pragma db id column("")
  waiter_place place;

  /// Who waits. Zero: a process that has no session yet.
  #pragma db mysql:type("BINARY(16)")
  std::array<unsigned char, 16> session_id;

  /// The locks that threads of that process hold while they wait for the key, so that deadlock cycles of processes are found;
  /// NULL: none. Microseconds since 1970-01-01 UTC, when this was written, then for each lock the key, its session and
  /// its fence, all in hexadecimal digits.
  #pragma db mysql:type("MEDIUMTEXT CHARACTER SET ascii")
  odb::nullable<std::string> held;
};
// clang-format on

}  // namespace entities
}  // namespace dlock
