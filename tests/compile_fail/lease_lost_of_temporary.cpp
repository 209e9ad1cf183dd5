// SPDX-License-Identifier: GPL-2.0-or-later
// fails: deleted (member )?function .*lost

#include "dlock/dlock.hpp"

bool stopped() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::acquire("k");
  const auto lost = held.lost();
#else
  const auto lost = dlock::acquire("k").lost();
#endif
  return lost.stop_requested();
}
