// SPDX-License-Identifier: BSL-1.0
// fails: empty body
#include "dlock/macros.hpp"

// As -Wextra -Werror do.
#pragma GCC diagnostic error "-Wempty-body"

int main() {
  int result = 0;
#ifdef DLOCK_SHOULD_COMPILE
  DISTRIBUTED_TRY_LOCKED("k") { ++result; }
#else
  DISTRIBUTED_TRY_LOCKED("k");
  { ++result; }
#endif
  return result;
}
