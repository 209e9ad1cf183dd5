// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a time in lock_options has a unit and is whole milliseconds
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().acquire("k", {.wait = 500ms});
#else
  const auto held = dlock::default_service().acquire("k", {.wait = 0.5s});
#endif
  return 0;
}
