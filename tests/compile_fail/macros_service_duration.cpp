// SPDX-License-Identifier: BSL-1.0
// fails: dlock: options have names
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  DISTRIBUTED_TRY_LOCKED(dlock::default_service(), "k", {.wait = 5s}) { return 1; }
#else
  DISTRIBUTED_TRY_LOCKED(dlock::default_service(), "k", 5s) { return 1; }
#endif
  return 0;
}
