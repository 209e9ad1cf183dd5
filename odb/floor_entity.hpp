// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// No fence at or below this is ever given to a new lock row: clean-up raises it before it deletes a row. One
/// row, id 1. C++14: ODB's compiler reads it.

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
