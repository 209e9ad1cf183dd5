// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A class that ODB's compiler maps without dlock_odb_generate().

#include <dlock/odb/lock_columns.hpp>

#include <cstdint>
#include <odb/core.hxx>

#include "entities.hpp"

namespace dlock {
namespace test {

// clang-format off
#pragma db object table("by_hand") optimistic
struct by_hand {
  #pragma db id
  line_id id{};
  dlock::lock_columns lock{};
  #pragma db version
  std::uint32_t version = 0;
};
// clang-format on

}  // namespace test
}  // namespace dlock
