// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a pointer cannot be part of a key
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{id}">(0).str().size());
#else
  return static_cast<int>(dlock::key<"order:{id}">(nullptr).str().size());
#endif
}
