// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a single character cannot be part of a key
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"shelf:{letter}">("a").str().size());
#else
  return static_cast<int>(dlock::key<"shelf:{letter}">('a').str().size());
#endif
}
