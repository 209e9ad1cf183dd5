// SPDX-License-Identifier: GPL-2.0-or-later
// fails: callable_under_locks|no matching function
#include "dlock/with_lock.hpp"

// Under several keys there is a multi_lease, not a lease.
int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return dlock::default_service().with_locks({"a", "b"}, [](const dlock::multi_lease&) { return 0; });
#else
  return dlock::default_service().with_locks({"a", "b"}, [](const dlock::lease&) { return 0; });
#endif
}
