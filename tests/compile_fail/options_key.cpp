// SPDX-License-Identifier: BSL-1.0
// fails: dlock: this call takes one key
#include "dlock/dlock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().acquire_all({"a", "b"});
#else
  const auto held = dlock::default_service().acquire("a", "b");
#endif
  return 0;
}
