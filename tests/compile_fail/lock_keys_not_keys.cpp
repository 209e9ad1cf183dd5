// SPDX-License-Identifier: GPL-2.0-or-later
// fails: no matching (member )?function|invalid conversion
#include "dlock/lock_service.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return dlock::default_service().try_acquire_all({"1", "2"}) ? 0 : 1;
#else
  return dlock::default_service().try_acquire_all({1, 2}) ? 0 : 1;
#endif
}
