// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <concepts>
#include <type_traits>

#include "dlock/detail/lease_call.hpp"
#include "dlock/detail/no_unit.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"

// What is wrong with an argument of a call, each in one sentence: these types can't be compiled.
namespace dlock::detail {

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
/// What stands where one key belongs, and is none.
template <class T>
struct wrong_key {
  static_assert(
      !std::same_as<T, several_keys> && !std::convertible_to<const T&, lock_keys>,
      "dlock: this call takes one key; a list of keys goes to acquire_all(), try_acquire_all(), with_locks() or "
      "try_with_locks()");
  static_assert(std::same_as<T, several_keys> || std::convertible_to<const T&, lock_keys>,
                "dlock: a key is a text: acquire(\"order:42\"); values go into a pattern: "
                "acquire(dlock::key<\"order:{id}\">(42))");
};
template <class T>
concept no_key = !std::convertible_to<const T&, lock_key>;
/// The same where a list of keys belongs.
template <class T>
struct wrong_keys {
  static_assert(!std::convertible_to<const T&, lock_key>,
                "dlock: this call takes a list of keys: acquire_all({\"a\", \"b\"}), with_locks({\"a\", \"b\"}, fn)");
  static_assert(std::convertible_to<const T&, lock_key>,
                "dlock: a list of keys is texts, or ranges of texts: acquire_all({\"order:42\", \"order:43\"})");
};
template <class T>
concept no_keys = !std::convertible_to<const T&, lock_keys>;

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

}  // namespace dlock::detail
