// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Row 1: no fence at or below this is ever given to a new lock row; clean-up raises it before it deletes a row. Row 4:
/// a short id of the lock tables. SQLite has rows 2 and 3 too, about the boots of the host. C++14: ODB's compiler reads
/// it.

#include <cstdint>
#include <odb/core.hxx>

#include "model_version.hpp"

namespace dlock {
namespace entities {

// clang-format off
#pragma db object table("dlock_floor")
struct floor_entity {
  #pragma db id
  int id;
  std::uint64_t fence;
};
// clang-format on

}  // namespace entities
}  // namespace dlock
