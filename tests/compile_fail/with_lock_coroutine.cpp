// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the function returns a coroutine, which would run after the lock is released: co_await async_with_lock
#include "dlock/with_lock.hpp"

struct task {
#ifndef DLOCK_SHOULD_COMPILE
  struct promise_type;
#endif
};

int main() {
  dlock::default_service().with_lock("k", [] { return task(); });
}
