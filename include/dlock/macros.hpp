// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Four statements that run code under a lock of the default service, or of one that you name. Each is one call of its
/// acquire() or try_acquire(), for several keys acquire_all() or try_acquire_all(), which throw as said in
/// lock_service.hpp; nothing needs them: define DLOCK_NO_MACROS, use with_lock.hpp instead.
///
///   DISTRIBUTED_LOCKED("report:daily", {.ttl = 30s, .wait = 2s}) { build_report(); }
///
///   DISTRIBUTED_LOCKED_AS(held, dlock::key<"order:{o.id}">(o)) {
///     return ship(o, held.fencing_token());                       // leaves the function, as in any block
///   }
///
///   DISTRIBUTED_TRY_LOCKED("report:daily") { build_report(); } else { count_skip(); }  // or _TRY_LOCKED_AS(held, ...)
///
///   DISTRIBUTED_LOCKED({"wallet:7", "wallet:9"}, {.wait = 2s}) { transfer(); }   // several keys, all or none
///   DISTRIBUTED_LOCKED(locks, "report:daily") { build_report(); }                 // of the lock_service `locks`
///
/// The first argument (after the lease's name) is the lock_service, or left out for the default one; then comes the key
/// or a list of keys (then the lease is a multi_lease), the rest is one lock_options; what it leaves open is inherited
/// from the service's defaults. Key and options are evaluated once, before the body. The lease lives until the end of
/// the statement; it is const, so no code releases it in mid-body (to renew by hand, use with_lock). return, break,
/// continue and exceptions leave the statement as they leave a plain block, and release.
///
/// A closing brace can't report that the lock was lost meanwhile (destructors do not throw): call
/// held.ensure_held() before what matters, or use with_lock.
///
/// The body is a block in braces. Anything else does not compile, so DISTRIBUTED_LOCKED("k"); { ... }, whose block
/// would run without the lock, is an error.

#ifndef DLOCK_NO_MACROS

#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"

namespace dlock::detail {

// What the macros expand to: the one place where a braced list must mean "several", also with one key in it.
inline lease hold(lock_service& locks, const lock_key& key, const lock_options& options = {}) {
  return locks.acquire(key, options);
}
inline multi_lease hold(lock_service& locks, const lock_keys& keys, const lock_options& options = {}) {
  return locks.acquire_all(keys, options);
}
inline multi_lease hold(lock_service& locks, key_list keys, const lock_options& options = {}) {
  return locks.acquire_all(keys, options);
}
inline lease hold(const lock_key& key, const lock_options& options = {}) {
  return default_service().acquire(key, options);
}
inline multi_lease hold(const lock_keys& keys, const lock_options& options = {}) {
  return default_service().acquire_all(keys, options);
}
inline multi_lease hold(key_list keys, const lock_options& options = {}) {
  return default_service().acquire_all(keys, options);
}
inline lease try_hold(lock_service& locks, const lock_key& key, const lock_options& options = {}) {
  return locks.try_acquire(key, options);
}
inline multi_lease try_hold(lock_service& locks, const lock_keys& keys, const lock_options& options = {}) {
  return locks.try_acquire_all(keys, options);
}
inline multi_lease try_hold(lock_service& locks, key_list keys, const lock_options& options = {}) {
  return locks.try_acquire_all(keys, options);
}
inline lease try_hold(const lock_key& key, const lock_options& options = {}) {
  return default_service().try_acquire(key, options);
}
inline multi_lease try_hold(const lock_keys& keys, const lock_options& options = {}) {
  return default_service().try_acquire_all(keys, options);
}
inline multi_lease try_hold(key_list keys, const lock_options& options = {}) {
  return default_service().try_acquire_all(keys, options);
}
// For {.wait = 5} and the like: they don't compile, and say why.
template <no_options T = options_without_units>
wrong_options<T> hold(lock_service&, const lock_key&, const T&);
template <no_options T = options_without_units>
wrong_options<T> try_hold(lock_service&, const lock_key&, const T&);
template <no_options T = options_without_units>
wrong_options<T> hold(const lock_key&, const T&);
template <no_options T = options_without_units>
wrong_options<T> try_hold(const lock_key&, const T&);

}  // namespace dlock::detail

#define DLOCK_DETAIL_JOIN_2(left, right) left##right
#define DLOCK_DETAIL_JOIN(left, right) DLOCK_DETAIL_JOIN_2(left, right)
// From the line, not from __COUNTER__, which differs between the files that include one header. Statements on
// one line can only nest, and then the inner name hides the outer one.
#define DLOCK_DETAIL_UNIQUE(prefix) DLOCK_DETAIL_JOIN(prefix, __LINE__)

// The tokens of the expansions, one by one:
//   if constexpr (...; false) {} else
//     The body is the else branch, so an else that follows belongs to an outer if. A for would swallow break
//     and continue; without constexpr, g++ -O0 complains of a function that returns its value in the body.
//   [[maybe_unused]]
//     The name may be there only to keep the lease alive.
//   const
//     No release(), no move, in mid-body.
//   auto
//     A lease for a key, a multi_lease for a list of keys.
//   ::dlock::
//     Right wherever the macro is used, also inside a namespace x::dlock.
//   DLOCK_DETAIL_A_BLOCK_IN_BRACES_FOLLOWS
//     Both branches of an `if consteval` must be in braces. In C++20 compilers have it as an extension, of which they
//     warn; the warning is off up to there. A lock is no constant, so its first branch is never taken. g++ takes no
//     pragma between the else and the brace, and without one there clang warns of an else that dangles.
//   key_expr __VA_OPT__(, ) __VA_ARGS__
//     Puts together again what the preprocessor took apart: the commas of {.ttl = 1s, .wait = 2s}, of
//     {"a", "b"} and of key<"{o}:{u}", "o", "u">(o, u).

#if defined(__clang__)
#define DLOCK_DETAIL_A_BLOCK_IN_BRACES_FOLLOWS                                                \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc++2b-extensions\"") \
      _Pragma("clang diagnostic ignored \"-Wdangling-else\"") if consteval {                  \
    __builtin_unreachable();                                                                  \
  }                                                                                           \
  else _Pragma("clang diagnostic pop")
#else
#define DLOCK_DETAIL_A_BLOCK_IN_BRACES_FOLLOWS                                                           \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wc++23-extensions\"") if consteval { \
    _Pragma("GCC diagnostic pop") __builtin_unreachable();                                               \
  }                                                                                                      \
  else
#endif

/// Runs the block that follows under the lock or locks; the lease is called `lease_name` in it.
#define DISTRIBUTED_LOCKED_AS(lease_name, key_expr, ...)                                                             \
  if constexpr ([[maybe_unused]] const auto lease_name = ::dlock::detail::hold(key_expr __VA_OPT__(, ) __VA_ARGS__); \
                false) {                                                                                             \
  } else                                                                                                             \
    DLOCK_DETAIL_A_BLOCK_IN_BRACES_FOLLOWS

/// The same where the lease needs no name.
#define DISTRIBUTED_LOCKED(key_expr, ...) \
  DISTRIBUTED_LOCKED_AS(DLOCK_DETAIL_UNIQUE(dlock_lease_), key_expr __VA_OPT__(, ) __VA_ARGS__)

/// One attempt, or as options.wait allows: runs the block if it got the key (all keys), the one after
/// `else` (where there is one) if it was busy. A plain if: the else is the point, and the next one is always its own.
#define DISTRIBUTED_TRY_LOCKED_AS(lease_name, key_expr, ...)                                                   \
  if ([[maybe_unused]] const auto lease_name = ::dlock::detail::try_hold(key_expr __VA_OPT__(, ) __VA_ARGS__)) \
  DLOCK_DETAIL_A_BLOCK_IN_BRACES_FOLLOWS

/// The same where the lease needs no name.
#define DISTRIBUTED_TRY_LOCKED(key_expr, ...) \
  DISTRIBUTED_TRY_LOCKED_AS(DLOCK_DETAIL_UNIQUE(dlock_lease_), key_expr __VA_OPT__(, ) __VA_ARGS__)

#endif
