// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the function returns a coroutine, which would run after the lock is released: co_await async_with_lock
#include "dlock/with_lock.hpp"

struct awaitable {};
#ifndef DLOCK_SHOULD_COMPILE
struct awaiter {};
awaiter operator co_await(awaitable);
#endif

int main() {
  return dlock::default_service().try_with_lock("k", [] { return awaitable(); }) ? 0 : 1;
}
