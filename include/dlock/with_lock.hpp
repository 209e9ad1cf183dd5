// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A function under a lock, and a result that can be trusted:
///
///   int left = locks.with_lock("stock:42", {.ttl = 30s, .wait = 2s}, [&] { return sell(42); });
///   locks.with_lock("report:daily", [](const dlock::lease& held) { build_report(held.fencing_token()); });
///
/// The function takes nothing, or the lease (`const dlock::lease&`, or `dlock::lease&` to renew or release it
/// early). One that can be called both ways is called without. Under several keys, with_locks({"a", "b"}, ...), it is a
/// dlock::multi_lease.
///
/// Unlike a destructor, with_lock can say at its end that the lock was lost. When the function
///   - returned, and the lock was ours all the time: its result, of any kind (void, values, move-only ones,
///     references);
///   - returned, but the lease was lost meanwhile: lock_lost, and the result is thrown away, because others may
///     have worked on the same thing at the same time;
///   - returned, but the release got no answer: store_error. Whether the key was ours to the end is not known;
///     the release is finished in the background;
///   - threw: its exception passes, and the key is released.
///
/// try_with_lock() does not call the function where the key is busy (at once, or after options.wait: as try_acquire()),
/// and its result is empty then. Otherwise as with_lock, the result in a std::optional: of a std::reference_wrapper for
/// a reference; for void, bool says whether it ran; for bool it is a maybe_bool (maybe_bool.hpp), which is no
/// condition.
///
/// A function that returns a coroutine or a future (dlock/runs_later.hpp) does not compile: its work would go on
/// without the lock.
///
/// The function never runs without the lock. If it lets the lease go itself (release(), or moving it away),
/// with_lock checks nothing at its end.
///
/// Errors: what acquire() throws and what the function throws; lock_lost and store_error as said.
/// Cost: that of lock_service::acquire() and lease::release(): two round trips, none for re-entry; with_locks: that of
/// acquire_all() and multi_lease::release().

#include <utility>

#include "dlock/detail/lease_call.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"

namespace DLOCK_EXPORT dlock {

template <detail::callable_under_lock F>
detail::call_result_t<F> lock_service::with_lock(const lock_key& key, const lock_options& options, F&& fn) {
  return detail::call_checked(acquire(key, options), std::forward<F>(fn));
}
template <detail::callable_under_lock F>
detail::call_result_t<F> lock_service::with_lock(const lock_key& key, F&& fn) {
  return with_lock(key, lock_options{}, std::forward<F>(fn));
}

template <detail::callable_under_lock F>
detail::call_or_nothing_t<F> lock_service::try_with_lock(const lock_key& key, const lock_options& options, F&& fn) {
  return detail::call_unless_empty(try_acquire(key, options), std::forward<F>(fn));
}
template <detail::callable_under_lock F>
detail::call_or_nothing_t<F> lock_service::try_with_lock(const lock_key& key, F&& fn) {
  return try_with_lock(key, lock_options{}, std::forward<F>(fn));
}

template <detail::callable_under_locks F>
detail::locks_result_t<F> lock_service::with_locks(const lock_keys& keys, const lock_options& options, F&& fn) {
  return detail::call_checked(acquire_all(keys, options), std::forward<F>(fn));
}
template <detail::callable_under_locks F>
detail::locks_result_t<F> lock_service::with_locks(const lock_keys& keys, F&& fn) {
  return with_locks(keys, lock_options{}, std::forward<F>(fn));
}

template <detail::callable_under_locks F>
detail::locks_or_nothing_t<F> lock_service::try_with_locks(const lock_keys& keys, const lock_options& options, F&& fn) {
  return detail::call_unless_empty(try_acquire_all(keys, options), std::forward<F>(fn));
}
template <detail::callable_under_locks F>
detail::locks_or_nothing_t<F> lock_service::try_with_locks(const lock_keys& keys, F&& fn) {
  return try_with_locks(keys, lock_options{}, std::forward<F>(fn));
}

}  // namespace dlock
