// SPDX-License-Identifier: BSL-1.0
// fails: else|expected expression
#include "dlock/macros.hpp"

// What waits for its lock has no busy branch: only TRY has.
int main() {
#ifdef DLOCK_SHOULD_COMPILE
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") { return 0; }
#else
  DISTRIBUTED_LOCKED("k") { return 0; }
#endif
  else {
    return 1;
  }
}
