// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the output of dlock-gen calls for a function that returns an awaitable of Asio. Only generated code includes
/// this header.

#include <concepts>
#include <type_traits>
#include <utility>

#include "dlock/asio.hpp"
#include "dlock/detail/annotated.hpp"
#include "dlock/detail/annotated_coroutine.hpp"

namespace dlock::asio::detail {

/// The result of a coroutine that DLOCK_ON_BUSY(skip) skips.
template <class T, class Executor>
net::awaitable<T, Executor> nothing() {
  if constexpr (std::is_void_v<T>) {
    co_return;
  } else {
    co_return T();
  }
}

/// Runs body(true), which gives an awaitable, as service::async_with_lock() does. Where the keys are busy it gives an
/// empty result, or body(false).
template <dlock::detail::busy_coroutine Busy, class Keys, class Body>
auto annotated_awaitable(lock_service& locks, Keys keys, lock_options options, Body body)
    -> std::invoke_result_t<Body&, bool> {
  using dlock::detail::busy_coroutine;
  using awaitable = awaitable_traits<std::invoke_result_t<Body&, bool>>;
  using executor = typename awaitable::executor;
  using result = typename awaitable::result;
  using held_type = dlock::detail::held_by<Keys>;
  static_assert(Busy != busy_coroutine::skip || std::is_void_v<result> || std::is_default_constructible_v<result>,
                "dlock: DLOCK_ON_BUSY(skip) on a coroutine: let it give nothing, or a std::optional");
  const service here(locks, co_await net::this_coro::executor);
  const net::use_awaitable_t<executor> token;
  auto acquiring = [&] {
    if constexpr (Busy == busy_coroutine::fail && std::same_as<Keys, lock_key>) {
      return here.async_acquire(keys, options, token);
    } else if constexpr (Busy == busy_coroutine::fail) {
      return here.async_acquire_all(keys, options, token);
    } else if constexpr (std::same_as<Keys, lock_key>) {
      return here.async_try_acquire(keys, options, token);
    } else {
      return here.async_try_acquire_all(keys, options, token);
    }
  };
  const auto run = [&body](held_type& held) -> std::invoke_result_t<Body&, bool> {
    if constexpr (Busy == busy_coroutine::skip) {
      return held ? body(true) : nothing<result, executor>();
    } else {
      return body(static_cast<bool>(held));
    }
  };
  // No lease is in a coroutine that has not begun: a cancellation would end that one first, and release with blocking.
  if constexpr (std::is_void_v<result>) {
    co_await with_lock(acquiring(), run);
  } else {
    co_return co_await with_lock(acquiring(), run);
  }
}

}  // namespace dlock::asio::detail
