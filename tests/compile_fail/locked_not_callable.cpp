// SPDX-License-Identifier: GPL-2.0-or-later
// fails: callable_under_lock|no matching function
#include "dlock/locked.hpp"

int main() {
  const auto place = dlock::default_service().locked("k", [](int) {});
#ifdef DLOCK_SHOULD_COMPILE
  place(42);
#else
  place("forty-two");
#endif
}
