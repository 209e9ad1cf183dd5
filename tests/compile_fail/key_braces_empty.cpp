// SPDX-License-Identifier: BSL-1.0
// fails: dlock: empty braces in the key pattern
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{id}">(42).str().size());
#else
  return static_cast<int>(dlock::key<"order:{}">(42).str().size());
#endif
}
