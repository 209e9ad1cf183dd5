// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the function returns a reference to the lease
#include "dlock/dlock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  dlock::default_service().with_lock("k", [](dlock::lease& held) { return held.fencing_token(); });
#else
  dlock::default_service().with_lock("k", [](dlock::lease& held) -> dlock::lease& { return held; });
#endif
  return 0;
}
