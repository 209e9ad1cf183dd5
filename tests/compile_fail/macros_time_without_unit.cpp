// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a time in lock_options has a unit and is whole milliseconds
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

int main() {
  int runs = 0;
#ifdef DLOCK_SHOULD_COMPILE
  DISTRIBUTED_LOCKED("k", {.wait = 5s}) { ++runs; }
#else
  DISTRIBUTED_LOCKED("k", {.wait = 5}) { ++runs; }
#endif
  return runs;
}
