// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>

#include "stores/sqlite/client/wake_file.hpp"

namespace dlock::test {

/// How many locks threads hold that wait for others, as the wake file of that database has it.
inline std::size_t held_by_waiters_of(const std::string& database) {
  stores::sqlite::wake_file wakes(database);
  std::string why;
  const auto file = wakes.open(false, why);
  std::size_t locks = 0;
  if (file == nullptr) return locks;
  for (const auto& each : file->nested_waiters()) locks += each.held.size();
  return locks;
}

}  // namespace dlock::test
