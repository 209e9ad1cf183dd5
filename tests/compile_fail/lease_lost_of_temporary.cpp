// SPDX-License-Identifier: BSL-1.0
// fails: deleted (member )?function .*lost

#include "dlock/dlock.hpp"

bool stopped() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().acquire("k");
  const auto lost = held.lost_token();
#else
  const auto lost = dlock::default_service().acquire("k").lost_token();
#endif
  return lost.stop_requested();
}
