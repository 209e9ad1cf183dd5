// SPDX-License-Identifier: BSL-1.0
// fails: deleted (member )?function .*operator bool|invokes a deleted function
#include "dlock/dlock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  if (const auto held = dlock::default_service().try_acquire("k")) return 1;
#else
  if (dlock::default_service().try_acquire("k")) return 1;
#endif
  return 0;
}
