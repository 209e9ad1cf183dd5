// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Decorators: a callable becomes one that runs under a lock whose key is composed from its arguments.
///
///   order_result place_order(const order& o, const user& u);
///
///   const auto place = locks.locked<"order:{o.id}:{u.name}", "o", "u">(place_order, {.ttl = 30s});
///   place(o, u);  // locks "order:42:ann", calls place_order(o, u), releases
///
///   // Classes with private members; one key for all calls; not called when busy:
///   auto ship = locks.locked(dlock::key_of("order", dlock::arg<1>(&order::id)), &depot::ship);
///   auto report = locks.locked("report:daily", build_report);
///   auto tick = locks.locked_or_skip("tick", [](const dlock::lease& held) { ... });
///
/// Any callable: functions, lambdas, function objects, pointers to members (their object is the first
/// argument), overload sets through a generic lambda, other decorators. It is copied or moved into the
/// decorator, options are copied. Arguments are forwarded perfectly; a leading `const dlock::lease&` (or
/// `dlock::lease&`) parameter is supplied by the decorator. The result is checked as with_lock checks it:
/// lock_lost instead of a result that can't be trusted. A decorator is never noexcept.
///
/// The key is composed once, before the call, so the callable may change or move its arguments; it is composed
/// from them as the caller passes them, not as the parameters will convert them. Key patterns are those of
/// key.hpp: listed names stand for all arguments in their order ("_" for one that the key leaves out); a
/// pattern without braces takes any arguments. Misfits are static_asserts that begin with "dlock:".
///
/// Precondition: the service outlives the decorator.
/// Errors: std::invalid_argument, bad options, from each of the four at once; the decorator throws as with_lock does,
/// and std::invalid_argument for a key that can't be composed.
/// Thread safety: a const decorator may be called from any thread if its callable may.
/// Cost: that of with_lock. Recursion is re-entry and costs nothing.

#include <utility>

#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/locked_function.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"

namespace DLOCK_EXPORT dlock {

/// Waits for the key at each call.
template <detail::fixed_string Pattern, detail::fixed_string... Names, class F>
auto lock_service::locked(F&& fn, const lock_options& options) {
  return detail::decorate<detail::when_busy::wait>(detail::pattern_key<Pattern, Names...>(), std::forward<F>(fn), *this,
                                                   options);
}
/// The same with a key of another kind: plain text, a lock_key, key_of(...), or anything that is called with
/// the arguments by const reference and gives one of these.
template <class Key, detail::not_options F>
auto lock_service::locked(Key&& key, F&& fn, const lock_options& options) {
  return detail::decorate<detail::when_busy::wait>(std::forward<Key>(key), std::forward<F>(fn), *this, options);
}

/// One attempt at each call, or what options.wait allows (try_acquire()). Busy: the callable is not called and the
/// result is empty. Otherwise as locked, its result in a std::optional: of a std::reference_wrapper for a reference;
/// for void, bool says whether it ran; for bool it is a maybe_bool. Nothing but busy is taken for busy.
template <detail::fixed_string Pattern, detail::fixed_string... Names, class F>
auto lock_service::locked_or_skip(F&& fn, const lock_options& options) {
  return detail::decorate<detail::when_busy::skip>(detail::pattern_key<Pattern, Names...>(), std::forward<F>(fn), *this,
                                                   options);
}
template <class Key, detail::not_options F>
auto lock_service::locked_or_skip(Key&& key, F&& fn, const lock_options& options) {
  return detail::decorate<detail::when_busy::skip>(std::forward<Key>(key), std::forward<F>(fn), *this, options);
}

}  // namespace dlock
