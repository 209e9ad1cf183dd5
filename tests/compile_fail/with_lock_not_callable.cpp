// SPDX-License-Identifier: GPL-2.0-or-later
// fails: callable_under_lock|no matching function
#include "dlock/with_lock.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return dlock::default_service().with_lock("k", [](const dlock::lease&) { return 0; });
#else
  return dlock::default_service().with_lock("k", [](int value) { return value; });
#endif
}
