// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

#define GUARDED DLOCK_LOCKED("a:{x}", .tll = 5s)

struct other_macro {
  GUARDED void function(int n);
};
