// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

struct no_rows {
  DLOCK_LOCKED_ROW(id) void which(int id);
};
