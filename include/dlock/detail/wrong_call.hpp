// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <type_traits>

#include "dlock/detail/lease_call.hpp"
#include "dlock/detail/no_unit.hpp"
#include "dlock/detail/wrong_argument.hpp"
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
  wrong_key<T> acquire(key_list, const lock_options& = {});
  template <class T = several_keys>
  wrong_key<T> try_acquire(key_list, const lock_options& = {});
  template <class F, class T = several_keys>
  wrong_key<T> with_lock(key_list, F&&);
  template <class F, class T = several_keys>
  wrong_key<T> with_lock(key_list, const lock_options&, F&&);
  template <class F, class T = several_keys>
  wrong_key<T> try_with_lock(key_list, F&&);
  template <class F, class T = several_keys>
  wrong_key<T> try_with_lock(key_list, const lock_options&, F&&);

  template <no_key K>
  wrong_key<K> acquire(const K&, const lock_options& = {});
  template <no_key K>
  wrong_key<K> try_acquire(const K&, const lock_options& = {});
  template <no_key K, class F>
  wrong_key<K> with_lock(const K&, F&&);
  template <no_key K, class F>
  wrong_key<K> with_lock(const K&, const lock_options&, F&&);
  template <no_key K, class F>
  wrong_key<K> try_with_lock(const K&, F&&);
  template <no_key K, class F>
  wrong_key<K> try_with_lock(const K&, const lock_options&, F&&);

  template <no_keys K, class... More>
  wrong_keys<K> acquire_all(const K&, const More&...);
  template <no_keys K>
  wrong_keys<K> acquire_all(const K&, const lock_options&);
  template <no_keys K, class... More>
  wrong_keys<K> try_acquire_all(const K&, const More&...);
  template <no_keys K>
  wrong_keys<K> try_acquire_all(const K&, const lock_options&);
  template <no_keys K, class... More>
  wrong_keys<K> with_locks(const K&, More&&...);
  template <no_keys K, class F>
  wrong_keys<K> with_locks(const K&, const lock_options&, F&&);
  template <no_keys K, class... More>
  wrong_keys<K> try_with_locks(const K&, More&&...);
  template <no_keys K, class F>
  wrong_keys<K> try_with_locks(const K&, const lock_options&, F&&);

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
