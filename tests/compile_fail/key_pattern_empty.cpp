// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the key pattern is empty
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"report">().str().size());
#else
  return static_cast<int>(dlock::key<"">().str().size());
#endif
}
