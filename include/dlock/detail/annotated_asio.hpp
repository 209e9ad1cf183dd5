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

template <class Held, class Executor>
net::awaitable<Held, Executor> already(Held held) {
  co_return std::move(held);
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
  held_type held;
  if constexpr (Busy == busy_coroutine::fail && std::same_as<Keys, lock_key>) {
    held = co_await here.async_acquire(keys, options, token);
  } else if constexpr (Busy == busy_coroutine::fail) {
    held = co_await here.async_acquire_all(keys, options, token);
  } else if constexpr (std::same_as<Keys, lock_key>) {
    held = co_await here.async_try_acquire(keys, options, token);
  } else {
    held = co_await here.async_try_acquire_all(keys, options, token);
  }
  if (!held) {
    if constexpr (Busy == busy_coroutine::call) {
      co_return co_await body(false);
    } else if constexpr (std::is_void_v<result>) {
      co_return;
    } else {
      co_return result();
    }
  }
  const auto run = [&body] { return body(true); };
  if constexpr (std::is_void_v<result>) {
    co_await with_lock(already<held_type, executor>(std::move(held)), run);
  } else {
    co_return co_await with_lock(already<held_type, executor>(std::move(held)), run);
  }
}

}  // namespace dlock::asio::detail
