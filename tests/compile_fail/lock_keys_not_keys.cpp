// SPDX-License-Identifier: GPL-2.0-or-later
// fails: no matching (member )?function|invalid conversion
#include "dlock/lock_service.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return dlock::try_acquire({"1", "2"}) ? 0 : 1;
#else
  return dlock::try_acquire({1, 2}) ? 0 : 1;
#endif
}
