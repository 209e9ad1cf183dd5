// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the key pattern names more or fewer arguments than the call passes
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{o}:{u}">(1, 2).str().size());
#else
  return static_cast<int>(dlock::key<"order:{o}">(1, 2).str().size());
#endif
}
