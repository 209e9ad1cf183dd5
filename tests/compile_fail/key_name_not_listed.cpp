// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the key pattern uses a name that is not listed
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{o}:{u}", "o", "u">(1, 2).str().size());
#else
  return static_cast<int>(dlock::key<"order:{o}:{u}", "o", "_">(1, 2).str().size());
#endif
}
