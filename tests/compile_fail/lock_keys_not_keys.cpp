// SPDX-License-Identifier: BSL-1.0
// fails: no matching (constructor|function|member function)|cannot convert
#include "dlock/lock_service.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto held = dlock::default_service().try_acquire_all({"1", "2"});
  return held ? 0 : 1;
#else
  const auto held = dlock::default_service().try_acquire_all({1, 2});
  return held ? 0 : 1;
#endif
}
