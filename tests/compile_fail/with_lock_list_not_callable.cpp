// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the function under several locks takes nothing, or the leases
#include "dlock/with_lock.hpp"

// Under several keys there is a multi_lease, not a lease.
int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return dlock::default_service().with_locks({"a", "b"}, [](const dlock::multi_lease&) { return 0; });
#else
  return dlock::default_service().with_locks({"a", "b"}, [](const dlock::lease&) { return 0; });
#endif
}
