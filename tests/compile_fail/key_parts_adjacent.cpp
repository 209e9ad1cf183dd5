// SPDX-License-Identifier: BSL-1.0
// fails: dlock: two \{parts\} of the key pattern have no .:. between them
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"{a}:{b}">(1, 2).str().size());
#else
  return static_cast<int>(dlock::key<"{a}-{b}">(1, 2).str().size());
#endif
}
