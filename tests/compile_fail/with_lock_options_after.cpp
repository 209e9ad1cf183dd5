// SPDX-License-Identifier: BSL-1.0
// fails: dlock: options stand before the function
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  dlock::default_service().with_lock("k", {.wait = 1s}, [] {});
#else
  dlock::default_service().with_lock("k", [] {}, {.wait = 1s});
#endif
  return 0;
}
