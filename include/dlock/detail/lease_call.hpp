// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Calling a function under a lease and vouching for its result: what with_lock and the decorators share.

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "dlock/detail/invoke.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/maybe_bool.hpp"
#include "dlock/multi_lease.hpp"
#include "dlock/runs_later.hpp"

namespace dlock::detail {

// Without the lease is tried first: asking whether a generic lambda takes a lease would compile its body with one.
// Held: lease or multi_lease.
template <class Held, class F, class... Args>
concept callable_under = std::invocable<F, Args...> || std::invocable<F, Held&, Args...>;
template <class F, class... Args>
concept callable_under_lock = callable_under<lease, F, Args...>;
template <class F, class... Args>
concept callable_under_locks = callable_under<multi_lease, F, Args...>;

template <class Held, class F, class... Args>
struct result_under : std::invoke_result<F, Held&, Args...> {};
template <class Held, class F, class... Args>
requires std::invocable<F, Args...>
struct result_under<Held, F, Args...> : std::invoke_result<F, Args...> {
};

// What a checked call gives back. A const value could not be moved out.
template <class Held, class F, class... Args>
using result_under_t = std::remove_cv_t<typename result_under<Held, F, Args...>::type>;
template <class F, class... Args>
using call_result_t = result_under_t<lease, F, Args...>;

template <class F>
using locks_result_t = result_under_t<multi_lease, F>;

// locked(key, options) is not about a callable.
template <class F>
concept not_options = !std::same_as<std::remove_cvref_t<F>, lock_options>;

template <class Held, class F, class... Args>
decltype(auto) call_under(Held& held, F&& fn, Args&&... args) {
  if constexpr (std::invocable<F, Args...>) {
    return detail::invoke(std::forward<F>(fn), std::forward<Args>(args)...);
  } else {
    return detail::invoke(std::forward<F>(fn), held, std::forward<Args>(args)...);
  }
}

// The function may have released the lease itself, which checked it, or moved it away, which made it another's care.
template <class Held>
void finish(Held& held) {
  if (held) held.release();
}

// The lease ends with the call.
template <class Held, class R>
concept dangles = std::is_reference_v<R> && std::same_as<std::remove_cvref_t<R>, Held>;

template <class R>
constexpr void check_no_future() noexcept {
  static_assert(!runs_later<std::remove_cvref_t<R>>,
                "dlock: the function returns a future, whose task may run on after the lock is released: wait for it "
                "inside the function and return its value; a type that is no future specialises dlock::runs_later");
}
template <class R>
constexpr void check_has_run() noexcept {
  static_assert(!suspended<R>,
                "dlock: the function returns a coroutine, which would run after the lock is released: co_await "
                "async_with_lock() of dlock/asio.hpp, or hold the lease inside the coroutine");
  if constexpr (!suspended<R>) check_no_future<R>();
}

// The function's result, once the release has confirmed that the key was ours all the time.
template <class Held, class F, class... Args>
result_under_t<Held, F, Args...> call_checked(Held held, F&& fn, Args&&... args) {
  using result = result_under_t<Held, F, Args...>;
  check_has_run<result>();
  static_assert(!dangles<Held, result>,
                "dlock: the function returns a reference to the lease, which ends with this call: return a value, or "
                "move the lease "
                "out to keep the lock");
  if constexpr (std::is_void_v<result>) {
    call_under(held, std::forward<F>(fn), std::forward<Args>(args)...);
    finish(held);
  } else if constexpr (std::is_reference_v<result>) {
    result value = call_under(held, std::forward<F>(fn), std::forward<Args>(args)...);
    finish(held);
    return static_cast<result>(value);
  } else {
    static_assert(std::move_constructible<result>,
                  "dlock: the result must be movable: it is kept until the lock has been checked and released");
    result value = call_under(held, std::forward<F>(fn), std::forward<Args>(args)...);
    finish(held);
    return value;
  }
}

// Whether it ran, and its result: bool for void, maybe_bool for bool, a reference_wrapper for an lvalue reference,
// otherwise the value.
template <class R>
struct or_nothing {
  using type = std::optional<std::remove_cvref_t<R>>;
};
template <class R>
struct or_nothing<R&> {
  using type = std::optional<std::reference_wrapper<R>>;
};
template <>
struct or_nothing<void> {
  using type = bool;
};
template <>
struct or_nothing<bool> {
  using type = maybe_bool;
};
template <class Held, class F, class... Args>
using nothing_or_t = typename or_nothing<result_under_t<Held, F, Args...>>::type;
template <class F, class... Args>
using call_or_nothing_t = nothing_or_t<lease, F, Args...>;
template <class F>
using locks_or_nothing_t = nothing_or_t<multi_lease, F>;

template <class Held, class F, class... Args>
nothing_or_t<Held, F, Args...> call_unless_empty(Held held, F&& fn, Args&&... args) {
  using result = nothing_or_t<Held, F, Args...>;
  if (!held) return result();
  if constexpr (std::is_void_v<result_under_t<Held, F, Args...>>) {
    call_checked(std::move(held), std::forward<F>(fn), std::forward<Args>(args)...);
    return true;
  } else {
    return result(std::in_place, call_checked(std::move(held), std::forward<F>(fn), std::forward<Args>(args)...));
  }
}

}  // namespace dlock::detail
