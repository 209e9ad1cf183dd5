// SPDX-License-Identifier: BSL-1.0
// fails: lock_key
#include "dlock/lock_key.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::lock_key("report").hash());
#else
  return static_cast<int>(dlock::lock_key(nullptr).hash());
#endif
}
