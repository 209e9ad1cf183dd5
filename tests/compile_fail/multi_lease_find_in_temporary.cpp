// SPDX-License-Identifier: BSL-1.0
// fails: deleted (member )?function .*find

#include "dlock/dlock.hpp"

std::uint64_t fence() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().acquire_all({"a", "b"});
  const auto lease = held.find("a");
#else
  const auto lease = dlock::default_service().acquire_all({"a", "b"}).find("a");
#endif
  return lease->fencing_token();
}
