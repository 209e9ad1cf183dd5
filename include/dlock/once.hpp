// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Work that is done once, by whichever process comes first, for ever or for a given time:
///
///   locks.once("migrate:2026-12", [] { migrate(); });
///   locks.once("digest:42", {.valid = 24h}, [&] { send_digest(42); });
///
/// Those who come later wait until it is done, and return. The store keeps a mark for it, in a table of its own. The
/// function runs under the lock of that key, and the mark is written by a statement that checks that the lock is still
/// ours. So of two processes that believe to hold the key, only the one that holds it can mark.
///
/// Whether the call did the work: true. It was done before: false. When the function
///   - returned, and was marked: true;
///   - returned, but the lease was lost before the mark: lock_lost. It is not marked, and others do the work again,
///     unless an attempt to mark had no answer: then it is not known, and done() tells;
///   - returned, but the store wrote no mark for a whole ttl: store_error. It is not known whether it is marked;
///   - threw: its exception passes. It is not marked, and the next one does the work.
///
/// A process that dies between the work and the mark leaves it undone: at least once, not at most once. Inside a
/// transaction of the application's it is exactly once, because work and mark are committed together:
///
///   #include <dlock/odb/once.hpp>
///   odb::transaction t{begin_write(db)};
///   locks.once(t, "payment:7", [&] { db.persist(payment); });
///   t.commit();
///
/// Call it first in the transaction, and after false read in a new one: this one may see what was there before. The
/// mark keeps out only those who name the same key: what different keys change together needs a lock of its own.
///
/// Mark with one of the two forms for a key, because a transaction that is still open is not seen by the other one.

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "dlock/detail/lease_call.hpp"
#include "dlock/export.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/store_interface/mark_store.hpp"

namespace DLOCK_EXPORT dlock {

class lock_service;

/// An aggregate, owning. Validated at each call.
struct once_options {
  /// How long the work counts as done, by the server's clock, from the mark on. Default: for ever; 1 s to 3,650 days.
  optional_time valid{};
  /// How the key is held meanwhile, and for how long others wait for it. `reentry` can't be allow, because a function
  /// that asks for its own key would find it undone; a default of the service that allows it counts as refuse. `cancel`
  /// also ends the attempts to mark after the first one. In a transaction of the application's there is no lock:
  /// nothing may be set.
  lock_options lock{};
};

namespace detail {
template <class F>
concept callable_once = std::invocable<F> || std::invocable<F, const lease&>;

/// Checks at compile time what the function of once() returns.
template <class Result>
consteval void check_done_by() {
  check_has_run<Result>();
  static_assert(std::is_void_v<Result>,
                "dlock: what the function of once() returns would be lost to those who come later: store it in the "
                "function, and return nothing");
}

template <class F>
void call_once_under(const lease& held, F&& fn) {
  check_done_by<typename result_under<const lease, F>::type>();
  call_under(held, std::forward<F>(fn));
}
}  // namespace detail

/// The calls of a lock_service about work that is done once.
/// Errors: std::logic_error, the store keeps no marks (capabilities::marks), or the key is a row.
/// Thread safety: as lock_service.
class once_calls {
 public:
  /// Calls `fn` under the key's lock, unless it is done: `fn` takes nothing or the lease (`const dlock::lease&`), and
  /// returns nothing. Returns whether this call did it.
  /// Errors: std::logic_error, a transaction is open on this thread in the database of the locks, before `fn` or after
  /// it; as lock_service::acquire() (lock_timeout: another one was doing it for the whole wait; lock_refused
  /// (already_held): this owner holds the key); what `fn` throws; lock_lost and store_error as said above.
  /// Cost: one round trip if it is done; else five, and `fn`.
  template <detail::callable_once F>
  bool once(const lock_key& key, const once_options& options, F&& fn) {
    const lease held = begin_once(key, options);
    if (!held) return false;
    detail::call_once_under(held, std::forward<F>(fn));
    end_once(held, options);
    return true;
  }
  template <detail::callable_once F>
  bool once(const lock_key& key, F&& fn) {
    return once(key, once_options{}, std::forward<F>(fn));
  }

  /// The same inside an open transaction of the application's in the database of the locks: needs dlock/odb/once.hpp,
  /// which explains it. If it throws, or `fn` does, the transaction has been rolled back.
  template <class Transaction, std::invocable F>
  bool once(Transaction& in, const lock_key& key, const once_options& options, F&& fn) {
    static_assert(
        requires { once_in(in, service(), key, options); },
        "dlock: once() takes an odb::transaction: include <dlock/odb/once.hpp> and link dlock::odb");
    detail::check_done_by<std::invoke_result_t<F>>();
    if (!once_in(in, service(), key, options)) return false;
    try {
      detail::invoke(std::forward<F>(fn));
      end_once_in(in, service(), key);
    } catch (...) {
      roll_back_once(in, key);
      throw;
    }
    return true;
  }
  template <class Transaction, std::invocable F>
  requires(!std::convertible_to<Transaction&, lock_key>) bool once(Transaction& in, const lock_key& key, F&& fn) {
    return once(in, key, once_options{}, std::forward<F>(fn));
  }

  /// The key's mark; empty: it is not done, or does not count any more.
  /// Errors: store_error.
  /// Cost: one statement.
  std::optional<done_mark> done(const lock_key& key);
  /// Marks the work as done that was done under this lease: what once() does at its end. Tries for the ttl at most, as
  /// long as the lease can be trusted.
  /// Errors: lock_lost, the lease is not ours any more: its text says whether nothing was marked, or it is not known;
  /// store_error, it is not known whether it was marked; std::logic_error, a transaction is open on this thread in the
  /// database of the locks, or has verified the lease; std::invalid_argument, `valid`.
  /// Cost: one statement.
  void mark_done(const lease& held, optional_time valid = {});
  /// Takes the mark away, so that the next one does the work again. False: there is none.
  /// Errors: store_error.
  /// Cost: one statement.
  bool forget_done(const lock_key& key);

 protected:
  ~once_calls() = default;

 private:
  lock_service& service() noexcept;
  /// A lease, or nothing if it is done.
  lease begin_once(const lock_key& key, const once_options& options);
  /// Marks.
  void end_once(const lease& held, const once_options& options);
};

/// Checks every field. `in_transaction`: nothing of the lock may be set.
/// Errors: std::invalid_argument, naming the first bad field and its value.
DLOCK_EXPORT void validate(const once_options& options, bool in_transaction = false);

}  // namespace dlock
