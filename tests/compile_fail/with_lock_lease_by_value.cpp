// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the function under the lock takes nothing, or the lease
#include "dlock/dlock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  dlock::default_service().with_lock("k", [](const dlock::lease&) {});
#else
  dlock::default_service().with_lock("k", [](dlock::lease) {});
#endif
  return 0;
}
