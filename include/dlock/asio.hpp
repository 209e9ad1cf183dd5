// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks for Asio: every asynchronous call as an operation that takes a completion token. Link dlock::asio.
///
///   dlock::asio::service locks{lock_service, executor};
///
///   boost::asio::awaitable<void> ship(int id) {
///     auto held = co_await locks.async_acquire("order:42", {.ttl = 30s, .wait = 2s});
///     ...
///     co_await locks.async_release(std::move(held));
///   }
///
/// and, better, because the lease is released and checked whatever happens:
///
///     co_await locks.async_with_lock("order:42", [&]() -> boost::asio::awaitable<void> { ... });
///
/// The signatures are void(std::exception_ptr, lease), void(std::exception_ptr, multi_lease) and
/// void(std::exception_ptr), so that co_await throws what the blocking call throws (std::invalid_argument, too), and
/// gives what it gives. The default token is use_awaitable; a token may also stand in the place of the options. No
/// thread waits: see async.hpp.
///
/// Executors: a handler is called on its associated executor, otherwise on the one given here, never on a thread of
/// dlock; the executor has outstanding work until then. To end a loop, close() the lock_service and let the loop run
/// out; if the execution context is destroyed while calls wait, their handlers are destroyed with it and never called.
/// Allocators: the associated one. Cancellation: any type, by the associated slot (Boost 1.77 or later), and by
/// lock_options::cancel: lock_refused (cancelled). A lease that was granted in the same moment is given all the same.
/// Releases and renewals are not cancelled.
///
/// Owner: each operation is a separate owner (async.hpp), so two coroutines exclude each other, and one that asks for
/// what it holds already waits for itself. as(me) acts in the name of a dlock::owner, which re-enters what it holds.
///
/// Cheap to copy.
/// Precondition: the lock_service outlives it and all copies.
/// Thread safety: any thread.

#include <chrono>
#include <concepts>
#include <optional>
#include <utility>

#include "dlock/detail/asio_operation.hpp"
#include "dlock/detail/asio_with_lock.hpp"

namespace dlock::asio {

class service {
 public:
  using executor_type = net::any_io_executor;

  /// `executor`: for handlers without an executor. Coroutines have theirs.
  service(lock_service& locks, executor_type executor) : locks_(&locks), executor_(std::move(executor)) {}
  /// The executor of an execution context, such as an io_context.
  template <std::derived_from<net::execution_context> Context>
  service(lock_service& locks, Context& context) : service(locks, context.get_executor()) {}

  executor_type get_executor() const noexcept { return executor_; }
  /// Asks in the name of `me`, whatever owner_scope there is.
  service as(owner me) const {
    auto copy = *this;
    copy.owner_ = std::move(me);
    return copy;
  }
  lock_service& locks() const noexcept { return *locks_; }

  /// lock_service::acquire(), try_acquire(), acquire_all() and try_acquire_all().
  template <detail::token Token = net::use_awaitable_t<>>
  auto async_acquire(const lock_key& key, const lock_options& options = {}, Token&& token = Token()) const {
    return acquire<lease, lock_key, &lock_service::async_acquire>(key, options, token);
  }
  template <detail::token Token = net::use_awaitable_t<>>
  auto async_try_acquire(const lock_key& key, const lock_options& options = {}, Token&& token = Token()) const {
    return acquire<lease, lock_key, &lock_service::async_try_acquire>(key, options, token);
  }
  template <detail::token Token = net::use_awaitable_t<>>
  auto async_acquire_all(const lock_keys& keys, const lock_options& options = {}, Token&& token = Token()) const {
    return acquire<multi_lease, lock_keys, &lock_service::async_acquire_all>(keys, options, token);
  }
  template <detail::token Token = net::use_awaitable_t<>>
  auto async_try_acquire_all(const lock_keys& keys, const lock_options& options = {}, Token&& token = Token()) const {
    return acquire<multi_lease, lock_keys, &lock_service::async_try_acquire_all>(keys, options, token);
  }
  template <detail::token Token>
  auto async_acquire(const lock_key& key, Token&& token) const {
    return async_acquire(key, lock_options{}, std::forward<Token>(token));
  }
  template <detail::token Token>
  auto async_try_acquire(const lock_key& key, Token&& token) const {
    return async_try_acquire(key, lock_options{}, std::forward<Token>(token));
  }
  template <detail::token Token>
  auto async_acquire_all(const lock_keys& keys, Token&& token) const {
    return async_acquire_all(keys, lock_options{}, std::forward<Token>(token));
  }
  template <detail::token Token>
  auto async_try_acquire_all(const lock_keys& keys, Token&& token) const {
    return async_try_acquire_all(keys, lock_options{}, std::forward<Token>(token));
  }

  /// lease::release() and multi_lease::release(). `held` is taken at once.
  template <detail::token Token = net::use_awaitable_t<>>
  auto async_release(lease held, Token&& token = Token()) const {
    return detail::release(executor_, std::move(held), token);
  }
  template <detail::token Token = net::use_awaitable_t<>>
  auto async_release(multi_lease held, Token&& token = Token()) const {
    return detail::release(executor_, std::move(held), token);
  }
  /// lease::renew(ttl).
  /// Precondition: as lease::renew(), and `held` lives until the handler is called.
  template <detail::token Token = net::use_awaitable_t<>>
  auto async_renew(const lease& held, std::chrono::milliseconds ttl, Token&& token = Token()) const {
    return detail::begin<>(executor_, token, [&held, ttl](async_handler<> then, auto&) {
      dlock::async_renew(held, ttl, std::move(then));
    });
  }

  /// Runs `body`, which returns an awaitable, under the key: from before it begins until it has ended. `body` takes
  /// nothing, or the lease (lease&), which lives as long. Gives what the coroutine gives or throws. The lease is
  /// released without blocking, also after an exception and after a cancellation of the coroutine, both of which pass
  /// afterwards. Several keys: async_with_locks, multi_lease&.
  /// Errors: as lock_service::with_lock(): lock_lost instead of the result, the lease was lost meanwhile.
  template <class F>
  auto async_with_lock(const lock_key& key, const lock_options& options, F body) const {
    return detail::with_lock(async_acquire(key, options, detail::token_for<lease, F>()), std::move(body));
  }
  template <class F>
  auto async_with_lock(const lock_key& key, F body) const {
    return async_with_lock(key, lock_options{}, std::move(body));
  }
  template <class F>
  auto async_with_locks(const lock_keys& keys, const lock_options& options, F body) const {
    return detail::with_lock(async_acquire_all(keys, options, detail::token_for<multi_lease, F>()), std::move(body));
  }
  template <class F>
  auto async_with_locks(const lock_keys& keys, F body) const {
    return async_with_locks(keys, lock_options{}, std::move(body));
  }

 private:
  template <class Held, class Keys>
  using start = void (lock_service::*)(const Keys&, const lock_options&, async_handler<Held>);
  template <class Held, class Keys, start<Held, Keys> Call, class Token>
  auto acquire(const Keys& keys, const lock_options& options, Token& token) const {
    return detail::begin<Held>(executor_, token,
                               [locks = locks_, me = owner_, keys = Keys(keys), options = lock_options(options)](
                                   async_handler<Held> then, auto& op) mutable {
                                 op.listen(options.cancel);
                                 const detail::maybe_owner here(me);
                                 (locks->*Call)(keys, options, std::move(then));
                               });
  }

  lock_service* locks_;
  executor_type executor_;
  std::optional<owner> owner_{};
};

}  // namespace dlock::asio
