// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the call passes more or fewer arguments than names are listed
#include "dlock/key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{o}", "_", "o">(1, 2).str().size());
#else
  return static_cast<int>(dlock::key<"order:{o}", "o">(1, 2).str().size());
#endif
}
