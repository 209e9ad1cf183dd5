// SPDX-License-Identifier: BSL-1.0
// fails: dlock: asynchronous calls need #include <dlock/async.hpp>
#include "dlock/dlock.hpp"

#include <exception>

int main() {
  const auto handler = [](std::exception_ptr, dlock::lease) {};
#ifdef DLOCK_SHOULD_COMPILE
  static_cast<void>(handler);
#else
  dlock::default_service().async_acquire("k", {}, handler);
#endif
  return 0;
}
