// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the output of dlock-gen calls for DLOCK_VERIFIED. Only generated code includes this header.

#include "dlock/odb/verify.hpp"
//
#include <odb/database.hxx>
#include <odb/transaction.hxx>

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "dlock/detail/annotated.hpp"
#include "dlock/odb/database.hpp"

namespace dlock::detail {

/// The transaction that verifies: the current one, whose owner ends it, or a new one.
class verified_transaction {
 public:
  template <class Held>
  verified_transaction(odb::database& db, const Held& held) : joins_(odb::transaction::has_current()) {
    if (joins_) {
      auto& current = odb::transaction::current();
      if (&current.database() != &db) {
        throw std::logic_error(
            "dlock: a function with DLOCK_VERIFIED was called inside a transaction of another database: end that "
            "first");
      }
      held.verify(current);
    } else {
      own_.reset(begin_write(db));
      held.verify(own_);
    }
  }
  /// Throws what ODB throws, also where the function has ended the transaction itself.
  void commit() {
    if (!joins_) own_.commit();
  }

 private:
  bool joins_;
  odb::transaction own_{};
};

/// Calls `fn` inside a transaction that verifies `held`, and commits it. What it has committed is written: so a lease
/// that is lost between the commit and its release is the observer's matter, and the caller gets the result.
template <class Held, class F>
result_under_t<Held, F> call_verified(Held held, odb::database& db, F&& fn) {
  using result = result_under_t<Held, F>;
  static_assert(!suspended<result>,
                "dlock: DLOCK_VERIFIED can't run a coroutine: a transaction of ODB belongs to one thread");
  check_no_future<result>();
  verified_transaction in(db, held);
  if constexpr (std::is_void_v<result>) {
    call_under(held, std::forward<F>(fn));
    in.commit();
  } else if constexpr (std::is_reference_v<result>) {
    result value = call_under(held, std::forward<F>(fn));
    in.commit();
    return static_cast<result>(value);
  } else {
    result value = call_under(held, std::forward<F>(fn));
    in.commit();
    return value;
  }
}

/// The same of a lease that may be empty: then `busy` gives the result.
template <class Held, class F, class Busy>
result_under_t<Held, F> call_verified_or(Held held, odb::database& db, F&& fn, Busy&& busy) {
  if (!held) return std::forward<Busy>(busy)();
  return call_verified(std::move(held), db, std::forward<F>(fn));
}

/// The same where the result is empty then, as that of try_with_lock().
template <class Held, class F>
nothing_or_t<Held, F> try_verified(Held held, odb::database& db, F&& fn) {
  using result = nothing_or_t<Held, F>;
  if (!held) return result();
  if constexpr (std::is_void_v<result_under_t<Held, F>>) {
    call_verified(std::move(held), db, std::forward<F>(fn));
    return true;
  } else {
    return result(std::in_place, call_verified(std::move(held), db, std::forward<F>(fn)));
  }
}

}  // namespace dlock::detail
