// SPDX-License-Identifier: BSL-1.0
// fails: dlock: behind the key stand lock_options
#include "dlock/dlock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().try_acquire("k", {});
#else
  const auto held = dlock::default_service().try_acquire("k", 5);
#endif
  return 0;
}
