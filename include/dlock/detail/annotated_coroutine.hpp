// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the output of dlock-gen calls for a coroutine of a library that dlock does not know. Only generated code
/// includes this header.

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "dlock/async.hpp"
#include "dlock/detail/annotated.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"

namespace dlock::detail {

/// What DLOCK_ON_BUSY says of a coroutine.
enum class busy_coroutine { fail, skip, call };

/// A coroutine whose promise has resume_later(handle), from which its library resumes it later on one of the
/// library's threads, waits for a key without a thread. Any other coroutine blocks the thread that runs it.
template <class Promise>
concept resumed_later = requires(Promise& promise, std::coroutine_handle<Promise> handle) {
  promise.resume_later(handle);
};

/// Awaited, it begins an asynchronous call of dlock and gives its result, or throws what it throws.
template <class Result, class Begin>
class call_awaiter {
 public:
  explicit call_awaiter(Begin begin) : begin_(std::move(begin)) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> waiting) {
    begin_([this, waiting](std::exception_ptr failed, auto... results) {
      failed_ = std::move(failed);
      if constexpr (!std::is_void_v<Result>) result_.emplace(std::move(results)...);
      waiting.promise().resume_later(waiting);
    });
  }
  Result await_resume() {
    if (failed_) std::rethrow_exception(failed_);
    if constexpr (!std::is_void_v<Result>) return std::move(*result_);
  }

 private:
  Begin begin_;
  std::exception_ptr failed_{};
  std::optional<std::conditional_t<std::is_void_v<Result>, bool, Result>> result_{};
};
template <class Result, class Begin>
call_awaiter<Result, Begin> awaiting(Begin begin) {
  return call_awaiter<Result, Begin>(std::move(begin));
}

template <class Held>
auto begin_acquire(lock_service& locks, const auto& keys, const lock_options& options, bool tries) {
  return awaiting<Held>([&locks, &keys, &options, tries](auto then) {
    if constexpr (std::same_as<Held, lease>) {
      tries ? locks.async_try_acquire(keys, options, std::move(then))
            : locks.async_acquire(keys, options, std::move(then));
    } else {
      tries ? locks.async_try_acquire_all(keys, options, std::move(then))
            : locks.async_acquire_all(keys, options, std::move(then));
    }
  });
}
template <class Held>
auto begin_release(Held& held) {
  return awaiting<void>([&held](auto then) { dlock::async_release(std::move(held), std::move(then)); });
}
template <class Held>
Held acquire_here(lock_service& locks, const auto& keys, const lock_options& options, bool tries) {
  if constexpr (std::same_as<Held, lease>) {
    return tries ? locks.try_acquire(keys, options) : locks.acquire(keys, options);
  } else {
    return tries ? locks.try_acquire_all(keys, options) : locks.acquire_all(keys, options);
  }
}

/// What `co_await` of a value gives.
template <class T>
decltype(auto) awaiter_of(T&& value) {
  if constexpr (requires { std::forward<T>(value).operator co_await(); }) {
    return std::forward<T>(value).operator co_await();
  } else if constexpr (requires { operator co_await(std::forward<T>(value)); }) {
    return operator co_await(std::forward<T>(value));
  } else {
    return std::forward<T>(value);
  }
}
template <class T>
using awaited_t = decltype(awaiter_of(std::declval<T>()).await_resume());

template <class Keys>
using held_by = std::conditional_t<std::same_as<Keys, lock_key>, lease, multi_lease>;
/// The promise of a coroutine that returns R and takes these.
template <class R, class... Args>
using promise_of = typename std::coroutine_traits<R, Args...>::promise_type;

/// Runs body(true), a coroutine, under the key or keys: from before it begins until it has ended. Where they are busy
/// it gives an empty result, or body(false). Everything is taken by value, because it lives as long as the coroutine.
template <busy_coroutine Busy, class Keys, class Body>
auto annotated_coroutine(lock_service& locks, Keys keys, lock_options options, Body body)
    -> std::invoke_result_t<Body&, bool> {
  using coroutine = std::invoke_result_t<Body&, bool>;
  using result = awaited_t<coroutine>;
  using held_type = held_by<Keys>;
  check_no_future<result>();
  static_assert(!std::is_reference_v<result>, "dlock: a coroutine under a lock gives a value, no reference");
  static_assert(Busy != busy_coroutine::skip || std::is_void_v<result> || std::is_default_constructible_v<result>,
                "dlock: DLOCK_ON_BUSY(skip) on a coroutine: let it give nothing, or a std::optional");
  constexpr bool later = resumed_later<promise_of<coroutine, lock_service&, Keys, lock_options, Body>>;
  constexpr bool tries = Busy != busy_coroutine::fail;
  held_type held;
  if constexpr (later) {
    held = co_await begin_acquire<held_type>(locks, keys, options, tries);
  } else {
    held = acquire_here<held_type>(locks, keys, options, tries);
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
  std::exception_ptr failed;
  std::optional<std::conditional_t<std::is_void_v<result>, bool, result>> value;
  try {
    if constexpr (std::is_void_v<result>) {
      co_await body(true);
    } else {
      value.emplace(co_await body(true));
    }
  } catch (...) {
    failed = std::current_exception();
  }
  try {
    if constexpr (later) {
      co_await begin_release(held);
    } else {
      held.release();
    }
  } catch (...) {
    if (!failed) failed = std::current_exception();
  }
  if (failed) std::rethrow_exception(failed);
  if constexpr (!std::is_void_v<result>) co_return std::move(*value);
}

}  // namespace dlock::detail
