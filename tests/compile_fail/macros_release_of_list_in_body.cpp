// SPDX-License-Identifier: BSL-1.0
// fails: const|qualifiers
#include "dlock/macros.hpp"

int main() {
  DISTRIBUTED_LOCKED_AS(held, {"a", "b"}) {
#ifdef DLOCK_SHOULD_COMPILE
    held.ensure_held();
#else
    held.release();
#endif
  }
}
