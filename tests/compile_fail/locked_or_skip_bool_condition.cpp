// SPDX-License-Identifier: BSL-1.0
// fails: deleted (member )?function .*operator bool|invokes a deleted function
#include "dlock/dlock.hpp"

bool sell_one();

int main() {
  const auto tick = dlock::default_service().locked_or_skip("k", sell_one);
#ifdef DLOCK_SHOULD_COMPILE
  if (tick().value_or(false)) return 1;
#else
  if (tick()) return 1;
#endif
  return 0;
}
