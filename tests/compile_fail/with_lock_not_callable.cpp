// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the function under the lock takes nothing, or the lease
#include "dlock/with_lock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return dlock::default_service().with_lock("k", [](const dlock::lease&) { return 0; });
#else
  return dlock::default_service().with_lock("k", [](int value) { return value; });
#endif
}
