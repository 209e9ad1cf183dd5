// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Coroutines under a lock: what dlock::asio::service::async_with_lock() does.

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "dlock/detail/asio_operation.hpp"
#include "dlock/detail/lease_call.hpp"

#if defined(DLOCK_STANDALONE_ASIO)
#include <asio/awaitable.hpp>
#include <asio/this_coro.hpp>
#else
#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#endif

namespace dlock::asio::detail {

template <class Held, class Token>
auto release(const net::any_io_executor& executor, Held&& held, Token& token) {
  return begin<>(executor, token, [held = std::move(held)](async_handler<> then, auto&) mutable {
    dlock::async_release(std::move(held), std::move(then));
  });
}

template <class A>
struct awaitable_traits {
  static constexpr bool is_awaitable = false;
};
template <class T, class Executor>
struct awaitable_traits<net::awaitable<T, Executor>> {
  static constexpr bool is_awaitable = true;
  using result = T;
  using executor = Executor;
};
/// What `body` returns when it is called under a lease.
template <class Held, class F>
using body_traits = awaitable_traits<dlock::detail::result_under_t<Held, F&>>;

template <class Held, class F>
auto token_for() {
  static_assert(
      body_traits<Held, F>::is_awaitable,
      "dlock: async_with_lock() runs a function that returns an awaitable; for any other there is with_lock()");
  return net::use_awaitable_t<typename body_traits<Held, F>::executor>();
}

/// Releases without blocking, then throws `failed`, if there is one, else why it was not released. `throws`: what
/// throw_if_cancelled was before it was unset for this.
template <class Executor, class Held>
net::awaitable<void, Executor> finish(Held& held, std::exception_ptr failed, bool throws) {
  if (held) {  // otherwise the coroutine has let it go itself
    try {
      const net::any_io_executor executor = co_await net::this_coro::executor;
      const net::use_awaitable_t<Executor> token;
      co_await release(executor, std::move(held), token);
    } catch (...) {
      if (failed == nullptr) failed = std::current_exception();
    }
  }
#if defined(DLOCK_ASIO_CANCELS)
  co_await net::this_coro::throw_if_cancelled(throws);
#else
  static_cast<void>(throws);
#endif
  if (failed != nullptr) std::rethrow_exception(failed);
}

/// `acquiring` gives the lease; it and `body` live as long as this. A lease stays where it is until it is released, so
/// that it may be referred to.
template <class Held, class F, class Executor>
auto with_lock(net::awaitable<Held, Executor> acquiring, F body)
    -> net::awaitable<typename body_traits<Held, F>::result, Executor> {
  using result_type = typename body_traits<Held, F>::result;
  dlock::detail::check_no_future<result_type>();
  auto held = co_await net::awaitable<Held, Executor>(std::move(acquiring));
  std::exception_ptr failed;
  std::optional<std::conditional_t<std::is_void_v<result_type>, bool, result_type>> result;
  try {
    if constexpr (std::is_void_v<result_type>) {
      co_await dlock::detail::call_under(held, body);
    } else {
      result.emplace(co_await dlock::detail::call_under(held, body));
    }
  } catch (...) {
    failed = std::current_exception();
  }
  bool throws = true;
#if defined(DLOCK_ASIO_CANCELS)
  throws = co_await net::this_coro::throw_if_cancelled();
  co_await net::this_coro::throw_if_cancelled(false);
#endif
  co_await finish<Executor>(held, std::move(failed), throws);
  if constexpr (!std::is_void_v<result_type>) co_return std::move(*result);
}

}  // namespace dlock::asio::detail
