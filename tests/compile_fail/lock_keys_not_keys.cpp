// SPDX-License-Identifier: GPL-2.0-or-later
// fails: no matching constructor|cannot convert
#include "dlock/lock_service.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return dlock::default_service().try_acquire_all({"1", "2"}) ? 0 : 1;
#else
  return dlock::default_service().try_acquire_all({1, 2}) ? 0 : 1;
#endif
}
