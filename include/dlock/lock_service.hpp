// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/detail/fixed_string.hpp"
#include "dlock/detail/lease_call.hpp"
#include "dlock/detail/wrong_call.hpp"
#include "dlock/export.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/multi_lease.hpp"
#include "dlock/observer.hpp"
#include "dlock/once.hpp"
#include "dlock/service_options.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store_overview.hpp"

namespace DLOCK_EXPORT dlock {

class store;
struct capabilities;

/// Gives out leases from one store. Make one per process and database and keep it; it owns connections, and a few
/// threads. What options leave open is inherited from service_options::defaults (lock_options.hpp).
/// Errors: in a forked child every call that needs the store, and its leases, throw lock_refused (forked); destroying
/// the service or its leases does nothing.
/// Thread safety: all functions from any thread.
class lock_service : public once_calls, private detail::wrong_calls {
 public:
  /// Opens the store (store_url.hpp), makes or verifies its schema. If the database may start later than this program,
  /// use service_options::start_limit, or lazy.
  /// Errors: std::invalid_argument, a bad URL or option, or no store; store_error.
  explicit lock_service(std::string_view url, service_options options = {});
  explicit lock_service(std::shared_ptr<store> store, service_options options = {});
  /// Calls close(service_options::close_limit), unless everything held is held by calls of this thread. Leases still
  /// held then stay valid, renewed and releasable. The observer gets what the destructor waits for and what stays held
  /// (still_held).
  /// Precondition: this thread does not run a handler, an observer or a callback on a lost token of this service, for
  /// which the destructor would wait; otherwise std::terminate, with a text that says so. close(0ms) may be called
  /// there.
  ~lock_service();
  lock_service(const lock_service&) = delete;
  lock_service& operator=(const lock_service&) = delete;

  /// Acquires the key; waits for at most options.wait if it is busy.
  /// Errors: lock_timeout, still busy after options.wait; lock_refused, the wait ended earlier (error.hpp);
  /// store_error; std::invalid_argument, a bad option or key; lock_lost, this owner holds the key by a lease that is
  /// lost.
  /// Cost: one round trip if the key is free, known and the connection warm; none for re-entry.
  lease acquire(const lock_key& key, const lock_options& options = {});
  /// An empty lease when the key is busy: if (const auto held = locks.try_acquire("k")) { ... }. At once if
  /// options.wait is not set (one attempt, whatever the defaults say), else when it is still busy after that wait, or
  /// as soon as acquire() would throw lock_deadlock.
  /// Errors: as acquire(), without lock_timeout; lock_deadlock only for a wait for itself (docs/shared.md).
  /// Cost: one round trip if free, two if busy.
  lease try_acquire(const lock_key& key, const lock_options& options = {});

  // For calls such as acquire("k", 5s): they don't compile, and say why.
  using wrong_calls::acquire;
  using wrong_calls::acquire_all;
  using wrong_calls::async_acquire;
  using wrong_calls::async_acquire_all;
  using wrong_calls::async_try_acquire;
  using wrong_calls::async_try_acquire_all;
  using wrong_calls::try_acquire;
  using wrong_calls::try_acquire_all;
  using wrong_calls::try_with_lock;
  using wrong_calls::try_with_locks;
  using wrong_calls::with_lock;
  using wrong_calls::with_locks;

  /// Several keys, all or none, under the one wait: acquire_all({from, to}, {.wait = 2s}). See docs/several-keys.md.
  /// Keys that this owner holds are entered again.
  /// Errors: as acquire(); lock_timeout names the key that was busy.
  /// Cost: two round trips if all are free and known, on MySQL and MariaDB; else about two more for each that is not.
  multi_lease acquire_all(const lock_keys& keys, const lock_options& options = {});
  /// Empty when one of them is busy: at once, or after options.wait, as try_acquire().
  multi_lease try_acquire_all(const lock_keys& keys, const lock_options& options = {});
  /// The same without a thread that waits: a handler gets the result. They need async.hpp, which explains them.
  void async_acquire(const lock_key& key, const lock_options& options, async_handler<lease> then);
  void async_try_acquire(const lock_key& key, const lock_options& options, async_handler<lease> then);
  void async_acquire_all(const lock_keys& keys, const lock_options& options, async_handler<multi_lease> then);
  void async_try_acquire_all(const lock_keys& keys, const lock_options& options, async_handler<multi_lease> then);

  /// Calls `fn` while the key, or all of several, are held, and returns its result; throws lock_lost if a lease was
  /// lost meanwhile. The try_ forms wait like try_acquire(), and return an empty result if a key is busy.
  /// with_lock.hpp has their contract.
  template <detail::callable_under_lock F>
  detail::call_result_t<F> with_lock(const lock_key& key, const lock_options& options, F&& fn);
  template <detail::callable_under_lock F>
  detail::call_result_t<F> with_lock(const lock_key& key, F&& fn);
  template <detail::callable_under_lock F>
  [[nodiscard]] detail::call_or_nothing_t<F> try_with_lock(const lock_key& key, const lock_options& options, F&& fn);
  template <detail::callable_under_lock F>
  [[nodiscard]] detail::call_or_nothing_t<F> try_with_lock(const lock_key& key, F&& fn);
  template <detail::callable_under_locks F>
  detail::locks_result_t<F> with_locks(const lock_keys& keys, const lock_options& options, F&& fn);
  template <detail::callable_under_locks F>
  detail::locks_result_t<F> with_locks(const lock_keys& keys, F&& fn);
  template <detail::callable_under_locks F>
  [[nodiscard]] detail::locks_or_nothing_t<F> try_with_locks(const lock_keys& keys, const lock_options& options,
                                                             F&& fn);
  template <detail::callable_under_locks F>
  [[nodiscard]] detail::locks_or_nothing_t<F> try_with_locks(const lock_keys& keys, F&& fn);

  /// A callable that runs under a lock whose key is composed from its arguments: needs locked.hpp, which explains it.
  template <detail::fixed_string Pattern, detail::fixed_string... Names, class F>
  [[nodiscard]] auto locked(F&& fn, const lock_options& options = {});
  template <class Key, detail::not_options F>
  [[nodiscard]] auto locked(Key&& key, F&& fn, const lock_options& options = {});
  template <detail::fixed_string Pattern, detail::fixed_string... Names, class F>
  [[nodiscard]] auto locked_or_skip(F&& fn, const lock_options& options = {});
  template <class Key, detail::not_options F>
  [[nodiscard]] auto locked_or_skip(Key&& key, F&& fn, const lock_options& options = {});

  const lock_options& defaults() const& noexcept;  ///< service_options::defaults with every field set
  const lock_options& defaults() const&& = delete;

  /// Whether the current owner holds the key by a lease that can be trusted now and that it could enter again
  /// (owner.hpp), or by a distributed_mutex. For checks: assert(locks.holds("stock:42")).
  /// Errors: lock_refused (forked).
  /// Cost: no statement.
  bool holds(const lock_key& key) const;
  /// The present holder of the key, or row, of several the first; empty if it is free.
  /// Errors: store_error; std::invalid_argument, a row of another service, or a key that the store can't have;
  /// std::logic_error, the store does not show the holders of its locks.
  /// Cost: one statement.
  std::optional<holder_info> holder(const lock_key& key);
  /// All that share it, one for each lease; otherwise as holder(), with one more statement for a shared key.
  std::vector<holder_info> holders(const lock_key& key);
  /// Held keys in byte order, after `after`, at most `limit`, shared ones with all holders; no rows locked in place.
  /// Errors: store_error; std::logic_error, as holder().
  /// Cost: one statement, and one more where holder_info::waiters is counted.
  std::vector<holder_info> held_keys(std::size_t limit = 1000, std::string_view after = {});
  /// The processes that wait for the key, or row, at most `limit` of them with their names, those that have waited
  /// longest first. The server does not know a waiter that polls, as each does for its first 10 ms on the lease tables.
  /// `known` is false where all poll (docs/waiting.md#where-waiters-poll).
  /// Errors: as holder().
  /// Cost: one statement.
  waiter_overview waiters(const lock_key& key, std::size_t limit = 100);
  /// Takes the key, or row, from its holders: at once, or when their sessions expire, which are revoked with all that
  /// they keep (docs/operations.md#taking-a-lock-away). False: it is free, or a program without dlock holds it.
  /// Errors: as holder(); store_error names a holder from whom the store can't take it.
  /// Cost: at most three statements.
  bool force_release(const lock_key& key);

  /// No new acquires from now on (lock_refused(closed), waiters too), except for those that the database is granting
  /// just now. Waits up to `limit`, at most wait_forever, until leases are released and handlers called. Returns the
  /// keys still held; they stay renewed until they are released.
  /// Errors: std::invalid_argument, a negative limit; std::logic_error, a limit above 0 in a handler, an observer or a
  /// callback on a lost token of this service, for which it would wait.
  std::vector<std::string> close(std::chrono::milliseconds limit);
  /// The same, but then revokes what is still held (loss_reason::closed): notifies the holders, waits for the greatest
  /// of their margins, and frees the keys, in 1 s and release_limit more at most. A later grant of the
  /// database is given back, and its caller gets lock_refused(closed). Returns those keys.
  /// Errors: as close(limit), with any limit.
  std::vector<std::string> close(std::chrono::milliseconds limit, release_all_t tag);

  /// How often something happened since the service was made; also without an observer.
  std::uint64_t count(event::kind kind) const noexcept;
  /// Gauges: keys and rows held now, an entered one once, also until its transaction ends; keys that linger; waiters.
  /// Cost: some mutexes, no statement.
  std::size_t held() const noexcept;
  std::size_t lingering() const noexcept;
  std::size_t waiting() const noexcept;
  /// For how long the oldest of each has been held, or has waited; 0: there is none. A holder that hangs and renews is
  /// seen here alone.
  /// Cost: looks at each of them; no statement.
  std::chrono::microseconds oldest_hold() const noexcept;
  std::chrono::microseconds oldest_wait() const noexcept;
  /// The capabilities of the store, such as rows, min_hold or fence (store_interface/store_types.hpp).
  capabilities caps() const noexcept;
  /// Statements sent for acquires, releases and inspection; renewals and background work not counted.
  std::uint64_t statements() const noexcept;
  const std::string& name() const& noexcept;  ///< of the store: its URL without the password
  const std::string& name() const&& = delete;

 private:
  friend struct detail::access;
  std::shared_ptr<engine::service_core> core_;
};

/// Makes `service` the one that macros use, until it is destroyed.
/// Errors: std::logic_error, another one is set; a forked child may replace the one that its parent has set.
DLOCK_EXPORT void set_default_service(lock_service& service);
/// The service that macros use.
/// Errors: std::logic_error, none is set; the text says what to do.
DLOCK_EXPORT lock_service& default_service();

}  // namespace dlock

#include "dlock/with_lock.hpp"  // the members' definitions
