// SPDX-License-Identifier: BSL-1.0
// fails: dlock: this call takes no function
#include "dlock/dlock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  dlock::default_service().with_lock("k", [] {});
#else
  dlock::default_service().acquire("k", [] {});
#endif
  return 0;
}
