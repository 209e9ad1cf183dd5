// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <concepts>
#include <type_traits>

#include "dlock/detail/lease_call.hpp"
#include "dlock/detail/no_unit.hpp"
#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"

// Overloads for calls with a plain mistake. Without them a compiler lists all that it has tried, on 20 to 50 lines;
// with them it prints one sentence. What they give can't be compiled.
namespace DLOCK_EXPORT dlock {

template <class... Results>
class async_handler;

namespace detail {

template <class T>
concept no_options = !std::convertible_to<const T&, lock_options>;

template <class T>
inline constexpr bool is_duration = false;
template <class Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;

template <class T>
concept function_like = std::is_function_v<T> || std::is_member_pointer_v<T> || callable_under<lease, const T&> ||
    callable_under<lease, T&> || requires {
  &T::operator();
};

/// What stands where lock_options belong, and is none.
template <class T>
struct wrong_options : time_without_unit<T> {
  static_assert(!is_duration<T>,
                "dlock: options have names: write {.wait = 5s} for how long to wait, {.ttl = 5s} for the lease");
  static_assert(!std::convertible_to<const T&, lock_key>,
                "dlock: this call takes one key; several go into a list: acquire_all({\"a\", \"b\"}), "
                "with_locks({\"a\", \"b\"}, fn)");
  static_assert(
      !function_like<T>,
      "dlock: this call takes no function: write with_lock(key, fn), or async_acquire(key, options, handler)");
  static_assert(is_duration<T> || std::convertible_to<const T&, lock_key> || function_like<T> || without_units<T>,
                "dlock: behind the key stand lock_options: {.ttl = 30s, .wait = 2s}");
};

struct several_keys {};
template <class T>
struct wrong_keys {
  static_assert(
      !std::same_as<T, several_keys>,
      "dlock: this call takes one key; a list of keys goes to acquire_all(), try_acquire_all(), with_locks() or "
      "try_with_locks()");
};

/// A function that can't be called under the lock.
template <class Held, class F>
struct wrong_function {
  static_assert(!std::convertible_to<const F&, lock_options>,
                "dlock: the function that runs under the lock is missing: with_lock(key, options, fn)");
  static_assert(!std::same_as<Held, lease> || std::convertible_to<const F&, lock_options>,
                "dlock: the function under the lock takes nothing, or the lease: [](const dlock::lease& held) { ... }; "
                "other values it captures");
  static_assert(!std::same_as<Held, multi_lease> || std::convertible_to<const F&, lock_options>,
                "dlock: the function under several locks takes nothing, or the leases: "
                "[](const dlock::multi_lease& held) { ... }; other values it captures");
};

template <class F>
struct wrong_order {
  static_assert(std::same_as<F, void>, "dlock: options stand before the function: with_lock(key, {.wait = 2s}, fn)");
};

template <class Handler, class F>
concept complete = requires {
  sizeof(Handler);
};
template <class F>
struct no_async_header {
  static_assert(std::same_as<F, void>,
                "dlock: asynchronous calls need #include <dlock/async.hpp>; coroutines <dlock/asio.hpp>");
};

/// lock_service has these as well. `more` makes their parameters differ from those of its own functions: clang 14 takes
/// what has the same for hidden by them, whatever the constraints.
class wrong_calls {
  struct more {};

 public:
  template <no_options T = options_without_units>
  wrong_options<T> acquire(const lock_key&, const T&);
  template <no_options T = options_without_units>
  wrong_options<T> try_acquire(const lock_key&, const T&);
  template <no_options T = options_without_units>
  wrong_options<T> acquire_all(const lock_keys&, const T&);
  template <no_options T = options_without_units>
  wrong_options<T> try_acquire_all(const lock_keys&, const T&);
  template <class T = several_keys>
  wrong_keys<T> acquire(key_list, const lock_options& = {});
  template <class T = several_keys>
  wrong_keys<T> try_acquire(key_list, const lock_options& = {});

  template <callable_under_lock F, no_options T = options_without_units>
  wrong_options<T> with_lock(const lock_key&, const T&, F&&);
  template <callable_under_lock F, no_options T = options_without_units>
  wrong_options<T> try_with_lock(const lock_key&, const T&, F&&);
  template <class F>
  requires(!callable_under_lock<F>) wrong_function<lease, std::decay_t<F>> with_lock(const lock_key&,
                                                                                     const lock_options&, F&&,
                                                                                     more = {});
  template <class F>
  requires(!callable_under_lock<F>) wrong_function<lease, std::decay_t<F>> with_lock(const lock_key&, F&&, more = {});
  template <class F>
  requires(!callable_under_lock<F>) wrong_function<lease, std::decay_t<F>> try_with_lock(const lock_key&,
                                                                                         const lock_options&, F&&,
                                                                                         more = {});
  template <class F>
  requires(!callable_under_lock<F>) wrong_function<lease, std::decay_t<F>> try_with_lock(const lock_key&, F&&,
                                                                                         more = {});
  template <class F>
  wrong_order<F> with_lock(const lock_key&, F&&, const lock_options&);
  template <class F>
  wrong_order<F> try_with_lock(const lock_key&, F&&, const lock_options&);

  template <class F>
  requires(!callable_under_locks<F>) wrong_function<multi_lease, std::decay_t<F>> with_locks(const lock_keys&,
                                                                                             const lock_options&, F&&,
                                                                                             more = {});
  template <class F>
  requires(!callable_under_locks<F>) wrong_function<multi_lease, std::decay_t<F>> with_locks(const lock_keys&, F&&,
                                                                                             more = {});
  template <class F>
  requires(!callable_under_locks<F>) wrong_function<multi_lease, std::decay_t<F>> try_with_locks(const lock_keys&,
                                                                                                 const lock_options&,
                                                                                                 F&&, more = {});
  template <class F>
  requires(!callable_under_locks<F>) wrong_function<multi_lease, std::decay_t<F>> try_with_locks(const lock_keys&, F&&,
                                                                                                 more = {});
  template <class F>
  wrong_order<F> with_locks(const lock_keys&, F&&, const lock_options&);
  template <class F>
  wrong_order<F> try_with_locks(const lock_keys&, F&&, const lock_options&);

  template <class F>
  requires(!complete<async_handler<lease>, F>) no_async_header<F> async_acquire(const lock_key&, const lock_options&,
                                                                                F&&);
  template <class F>
  requires(!complete<async_handler<lease>, F>) no_async_header<F> async_try_acquire(const lock_key&,
                                                                                    const lock_options&, F&&);
  template <class F>
  requires(!complete<async_handler<multi_lease>, F>) no_async_header<F> async_acquire_all(const lock_keys&,
                                                                                          const lock_options&, F&&);
  template <class F>
  requires(!complete<async_handler<multi_lease>, F>) no_async_header<F> async_try_acquire_all(const lock_keys&,
                                                                                              const lock_options&, F&&);
};

}  // namespace detail

}  // namespace dlock
