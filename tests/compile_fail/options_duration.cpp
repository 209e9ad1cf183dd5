// SPDX-License-Identifier: BSL-1.0
// fails: dlock: options have names
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().acquire("k", {.wait = 5s});
#else
  const auto held = dlock::default_service().acquire("k", 5s);
#endif
  return 0;
}
