// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the decorated function can't be called with these arguments
#include "dlock/locked.hpp"

int main() {
  const auto place = dlock::default_service().locked("k", [](int) {});
#ifdef DLOCK_SHOULD_COMPILE
  place(42);
#else
  place("forty-two");
#endif
}
