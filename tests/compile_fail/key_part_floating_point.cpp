// SPDX-License-Identifier: BSL-1.0
// fails: dlock: floating point cannot be part of a key
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"price:{cents}">(1999).str().size());
#else
  return static_cast<int>(dlock::key<"price:{euros}">(19.99).str().size());
#endif
}
