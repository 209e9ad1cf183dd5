// SPDX-License-Identifier: BSL-1.0
// fails: deleted (member )?function .*key

#include "dlock/dlock.hpp"

std::size_t length() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().acquire("k");
  const auto name = held.key();
#else
  const auto name = dlock::default_service().acquire("k").key();
#endif
  return name.size();
}
