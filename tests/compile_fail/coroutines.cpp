// SPDX-License-Identifier: BSL-1.0
// Coroutines. Only clang warns of a result of co_await that is dropped.
#include "dlock/asio.hpp"

// As -Werror does; the warning itself is on by default.
#pragma clang diagnostic error "-Wunused-result"

// fails: ignoring return value of function declared with .nodiscard.
boost::asio::awaitable<void> coroutine_drops_lease(const dlock::asio::service& locks) {
#ifndef MISUSE_coroutine_drops_lease
  auto held = co_await locks.async_acquire("k");
  co_await locks.async_release(std::move(held));
#else
  co_await locks.async_acquire("k");
#endif
}
