// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a bool cannot be part of a key
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"door:{side}">(true ? "in" : "out").str().size());
#else
  return static_cast<int>(dlock::key<"door:{inside}">(true).str().size());
#endif
}
