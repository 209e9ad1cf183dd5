// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

struct does_not_compile {
  DLOCK_LOCKED("a") missing_type function();
};
