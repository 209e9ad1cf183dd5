// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a name listed after the key pattern does not appear in it
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{o}", "o", "_">(1, 2).str().size());
#else
  return static_cast<int>(dlock::key<"order:{o}", "o", "u">(1, 2).str().size());
#endif
}
