// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Two classes on equal tables: one locked by dlock, one by hand. C++14: ODB's compiler reads it.

#include <cstdint>
#include <dlock/odb/lock_columns.hpp>
#include <odb/core.hxx>
#include <odb/nullable.hxx>
#include <string>

namespace dlock {
namespace bench {

// clang-format off
#pragma db object table("bench_ours") optimistic
struct ours {
  #pragma db id
  std::int64_t id = 0;
  std::string status;
  dlock::lock_columns lock;
  #pragma db version
  std::uint32_t version = 0;
};

#pragma db object table("bench_by_hand") optimistic
struct by_hand {
  #pragma db id
  std::int64_t id = 0;
  std::string status;
  #pragma db readonly type("VARCHAR(50)")
  odb::nullable<std::string> lock_owner;
  #pragma db readonly
  odb::nullable<std::int64_t> lock_expires_at_us;
  #pragma db readonly
  std::uint64_t lock_fence = 0;
  #pragma db version
  std::uint32_t version = 0;
};
// clang-format on

}  // namespace bench
}  // namespace dlock
