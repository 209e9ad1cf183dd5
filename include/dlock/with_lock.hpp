// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// A function under a lock, and a result that can be trusted:
///
///   int left = dlock::with_lock("stock:42", {.ttl = 30s, .wait = 2s}, [&] { return sell(42); });
///   dlock::with_lock("report:daily", [](const dlock::lease& held) { build_report(held.fencing_token()); });
///
/// The function takes nothing, or the lease (`const dlock::lease&`, or `dlock::lease&` to renew or release it
/// early). One that can be called both ways is called without. Under several keys, with_lock({"a", "b"}, ...), it is a
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
/// The function never runs without the lock. If it lets the lease go itself (release(), or moving it away),
/// with_lock checks nothing at its end.
///
/// Thread safety: any thread. Cost: that of lock_service::acquire() and lease::release(): two round trips,
/// none for re-entry.

#include <utility>

#include "dlock/detail/lease_call.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"

namespace dlock {

/// Waits for the key, calls `fn` under it, releases. Throws what acquire() throws, what `fn` throws,
/// lock_lost and store_error as said above. Without options: the service's defaults.
template <detail::callable_under_lock F>
detail::call_result_t<F> with_lock(lock_service& service, const lock_key& key, const lock_options& options, F&& fn) {
  return detail::call_checked(service.acquire(key, options), std::forward<F>(fn));
}
template <detail::callable_under_lock F>
detail::call_result_t<F> with_lock(lock_service& service, const lock_key& key, F&& fn) {
  return dlock::with_lock(service, key, service.defaults(), std::forward<F>(fn));
}

/// The same on the default service. Throws std::logic_error while none is set.
template <detail::callable_under_lock F>
detail::call_result_t<F> with_lock(const lock_key& key, const lock_options& options, F&& fn) {
  return dlock::with_lock(default_service(), key, options, std::forward<F>(fn));
}
template <detail::callable_under_lock F>
detail::call_result_t<F> with_lock(const lock_key& key, F&& fn) {
  return dlock::with_lock(default_service(), key, std::forward<F>(fn));
}

/// For {.wait = 5}: doesn't compile, and says why.
template <detail::callable_under_lock F, detail::without_units T = detail::options_without_units>
void with_lock(const lock_key&, const T&, F&&) {
  detail::refuse_time_without_unit<T>();
}
template <detail::callable_under_lock F, detail::without_units T = detail::options_without_units>
void with_lock(lock_service&, const lock_key&, const T&, F&&) {
  detail::refuse_time_without_unit<T>();
}

/// One attempt, whatever options.wait says. Busy: `fn` is not called and the result is empty. Otherwise as
/// with_lock, its result in a std::optional: of a std::reference_wrapper for a reference; for void, bool says
/// whether it ran.
template <detail::callable_under_lock F>
[[nodiscard]] detail::call_or_nothing_t<F> try_with_lock(lock_service& service, const lock_key& key,
                                                         const lock_options& options, F&& fn) {
  return detail::call_unless_empty(service.try_acquire(key, options), std::forward<F>(fn));
}
template <detail::callable_under_lock F>
[[nodiscard]] detail::call_or_nothing_t<F> try_with_lock(lock_service& service, const lock_key& key, F&& fn) {
  return dlock::try_with_lock(service, key, service.defaults(), std::forward<F>(fn));
}
template <detail::callable_under_lock F>
[[nodiscard]] detail::call_or_nothing_t<F> try_with_lock(const lock_key& key, const lock_options& options, F&& fn) {
  return dlock::try_with_lock(default_service(), key, options, std::forward<F>(fn));
}
template <detail::callable_under_lock F>
[[nodiscard]] detail::call_or_nothing_t<F> try_with_lock(const lock_key& key, F&& fn) {
  return dlock::try_with_lock(default_service(), key, std::forward<F>(fn));
}

/// The same for several keys, all or none: a list, {"a", "b"}, lock_keys, or a range of keys. Cost: as
/// lock_service::acquire(keys) and multi_lease::release().
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
detail::locks_result_t<Keys, F> with_lock(lock_service& service, const Keys& keys, const lock_options& options,
                                          F&& fn) {
  return detail::call_checked(service.acquire(keys, options), std::forward<F>(fn));
}
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
detail::locks_result_t<Keys, F> with_lock(lock_service& service, const Keys& keys, F&& fn) {
  return dlock::with_lock(service, keys, service.defaults(), std::forward<F>(fn));
}
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
detail::locks_result_t<Keys, F> with_lock(const Keys& keys, const lock_options& options, F&& fn) {
  return dlock::with_lock(default_service(), keys, options, std::forward<F>(fn));
}
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
detail::locks_result_t<Keys, F> with_lock(const Keys& keys, F&& fn) {
  return dlock::with_lock(default_service(), keys, std::forward<F>(fn));
}

/// One attempt, as above.
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
[[nodiscard]] detail::locks_result_or_nothing_t<Keys, F> try_with_lock(lock_service& service, const Keys& keys,
                                                                       const lock_options& options, F&& fn) {
  return detail::call_unless_empty(service.try_acquire(keys, options), std::forward<F>(fn));
}
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
[[nodiscard]] detail::locks_result_or_nothing_t<Keys, F> try_with_lock(lock_service& service, const Keys& keys,
                                                                       F&& fn) {
  return dlock::try_with_lock(service, keys, service.defaults(), std::forward<F>(fn));
}
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
[[nodiscard]] detail::locks_result_or_nothing_t<Keys, F> try_with_lock(const Keys& keys, const lock_options& options,
                                                                       F&& fn) {
  return dlock::try_with_lock(default_service(), keys, options, std::forward<F>(fn));
}
template <detail::several_keys Keys = key_list, detail::callable_under_locks F>
[[nodiscard]] detail::locks_result_or_nothing_t<Keys, F> try_with_lock(const Keys& keys, F&& fn) {
  return dlock::try_with_lock(default_service(), keys, std::forward<F>(fn));
}

}  // namespace dlock
