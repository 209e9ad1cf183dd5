// SPDX-License-Identifier: BSL-1.0
// fails: dlock: braces of the key pattern take a name or a path of names
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{id}">(42).str().size());
#else
  return static_cast<int>(dlock::key<"order:{id:05}">(42).str().size());
#endif
}
