// SPDX-License-Identifier: GPL-2.0-or-later
// fails: dlock: a time in lock_options has no unit
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

int main() {
  int runs = 0;
#ifdef DLOCK_SHOULD_COMPILE
  DISTRIBUTED_TRY_LOCKED("k", {.wait = 5s}) { ++runs; }
#else
  DISTRIBUTED_TRY_LOCKED("k", {.wait = 5}) { ++runs; }
#endif
  return runs;
}
