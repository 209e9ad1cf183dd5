// SPDX-License-Identifier: GPL-2.0-or-later
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
