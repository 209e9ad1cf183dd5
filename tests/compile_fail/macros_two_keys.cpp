// SPDX-License-Identifier: BSL-1.0
// fails: dlock: this call takes one key
#include "dlock/dlock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  DISTRIBUTED_LOCKED({"a", "b"}) { return 1; }
#else
  DISTRIBUTED_LOCKED("a", "b") { return 1; }
#endif
  return 0;
}
