// SPDX-License-Identifier: BSL-1.0
// fails: deleted (member )?function .*view

#include "dlock/dlock.hpp"

std::size_t length() {
#ifdef DLOCK_SHOULD_COMPILE
  const dlock::lock_key key("k");
  const auto bytes = key.view();
#else
  const auto bytes = dlock::lock_key("k").view();
#endif
  return bytes.size();
}
