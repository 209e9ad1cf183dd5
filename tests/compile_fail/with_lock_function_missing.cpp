// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the function that runs under the lock is missing
#include "dlock/dlock.hpp"

int main() {
  const dlock::lock_options options;
#ifdef DLOCK_SHOULD_COMPILE
  dlock::default_service().with_lock("k", options, [] {});
#else
  dlock::default_service().with_lock("k", options);
#endif
  return 0;
}
