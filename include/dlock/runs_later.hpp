// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <type_traits>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {

// std::future, std::shared_future, and those of Boost, folly, HPX; a sender.
template <class R>
concept future_like = requires(R& result) {
  result.wait();
  result.get();
}
|| requires { typename R::sender_concept; };

// A coroutine has not run when it returns.
template <class R>
concept suspended = requires(R& result) {
  result.await_ready();
}
|| requires(R&& result) { static_cast<R&&>(result).operator co_await(); }
|| requires(R&& result) { operator co_await(static_cast<R&&>(result)); }
|| requires { typename std::remove_cvref_t<R>::promise_type; };

}  // namespace detail

/// Whether a result stands for work that may go on after the function has returned, when the lock is gone: with_lock
/// and the decorators refuse it. It is found by its members wait() and get(). Specialise it for a type that has others,
/// or for one that is no future.
template <class R>
inline constexpr bool runs_later = detail::future_like<R>;

}  // namespace dlock
