// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Mapped classes whose rows can't be locked in place.

#include <dlock/odb/lock_columns.hpp>

#include <cstdint>
#include <odb/core.hxx>

namespace dlock {
namespace test {

// clang-format off
#pragma db object optimistic
struct bare {
  #pragma db id
  std::int32_t id = 0;
  #pragma db version
  std::uint32_t version = 0;
};

#pragma db object
struct draft {
  #pragma db id
  std::int32_t id = 0;
  dlock::lock_columns lock{};
};
// clang-format on

}  // namespace test
}  // namespace dlock
