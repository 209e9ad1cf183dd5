// SPDX-License-Identifier: BSL-1.0
// fails: deleted (member )?function .*operator bool|invokes a deleted function
#include "dlock/dlock.hpp"

bool sell_one();

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  while (dlock::default_service().try_with_lock("k", sell_one).value_or(false)) {
  }
#else
  while (dlock::default_service().try_with_lock("k", sell_one)) {
  }
#endif
  return 0;
}
