// SPDX-License-Identifier: BSL-1.0
// fails: held
#include "dlock/macros.hpp"

// The lease has a name only where the program gives it one.
int main() {
#ifdef DLOCK_SHOULD_COMPILE
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") { held.ensure_held(); }
#else
  DISTRIBUTED_TRY_LOCKED("k") { held.ensure_held(); }
#endif
  else {
    return 1;
  }
}
