// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks without a waiting thread: calls that return at once and notify a handler at their end. For coroutines see
/// dlock/asio.hpp, which is made of these; for more see docs/asynchronous.md.
///
///   locks.async_acquire("order:42", {.ttl = 30s, .wait = 2s}, [](std::exception_ptr failed, dlock::lease held) {
///     if (failed) return give_up(failed);  // what acquire() would have thrown
///     ship(std::move(held));
///   });
///
/// The handler is called exactly once, also when the service is closed or destroyed, and never before the call has
/// returned. It gets either what the blocking call would have thrown, or what it would have given.
///
/// All handlers of a service are called on one thread of the service, which serves nothing else but the observer's
/// events of such calls. So a handler that blocks keeps other handlers waiting, but nothing else: no renewal, no lease,
/// no other thread. What a handler throws is caught, counted and reported to the observer (handler_failed). It may call
/// dlock; release() in it takes a round trip, async_release() none. It may close its service by close(0ms), but not
/// wait for the end of the service or destroy it (lock_service.hpp).
///
/// Owner: that of the innermost owner_scope in force at the call, else a new owner for each call. So two such calls
/// exclude each other, whichever thread makes them, and a blocking call does not re-enter what such a call got.
///
/// Cancellation: lock_options::cancel, as for blocking calls: lock_refused (errc::cancelled). A grant that has come in
/// the same moment counts: the handler gets the lease.
///
/// Errors: the call throws errors of the call itself (std::invalid_argument, a forked child, no memory, no thread, a
/// transaction of this thread for which it would wait), and then the handler is never called.
/// Thread safety: any thread.
/// Cost: that of the blocking call; no thread waits, and each queued call holds about 1 KiB
/// (docs/asynchronous.md).

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

#include "dlock/detail/once_function.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_service.hpp"

namespace DLOCK_EXPORT dlock {

/// What is called with the end of an asynchronous call: any callable, move-only ones too, for (std::exception_ptr,
/// Result...). The results are empty leases where there is an exception. One of up to three pointers in size needs no
/// allocation of its own.
template <class... Results>
class async_handler final : public detail::once_function<void(std::exception_ptr, Results...)> {
 public:
  /// From a null pointer, or an empty std::function, it is empty, and every call refuses it.
  /// Errors: std::bad_alloc.
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, async_handler> &&
           std::invocable<std::decay_t<F>&, std::exception_ptr, Results...>)  //
      async_handler(F&& fn)
      : detail::once_function<void(std::exception_ptr, Results...)>(std::forward<F>(fn)) {}
};

/// release() of the lease, which is empty afterwards, unless this throws: the handler gets null, lock_lost or
/// store_error. May be called after the service has been destroyed.
/// Precondition: the lease is not empty; std::logic_error otherwise.
/// Cost: as release(); leases that end at about the same time share statements.
DLOCK_EXPORT void async_release(lease&& held, async_handler<> then);
/// The same of all of them, within one release_limit.
DLOCK_EXPORT void async_release(multi_lease&& held, async_handler<> then);

/// renew() of the lease, which may be moved meanwhile: the handler gets null, lock_lost or store_error.
/// Precondition: as lease::renew().
/// Errors: with a `ttl`, std::invalid_argument as lease::renew(ttl).
/// Cost: one statement.
DLOCK_EXPORT void async_renew(const lease& held, async_handler<> then);
DLOCK_EXPORT void async_renew(const lease& held, std::chrono::milliseconds ttl, async_handler<> then);

}  // namespace dlock
