// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a name is listed twice
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{o}:{u}", "u", "o">(1, 2).str().size());
#else
  return static_cast<int>(dlock::key<"order:{o}", "o", "o">(1, 2).str().size());
#endif
}
