// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/export.hpp"
#include "dlock/odb/locked_row.hpp"

namespace DLOCK_EXPORT dlock {

/// Waits until the row is ours, then loads it. By one conditional UPDATE by primary key, without a read before it.
/// Inside a transaction of the caller's the load does not see what that one did: see locked_row.hpp.
/// Errors: as lock_service::acquire(); lock_refused (no_such_row), there is no row with that id; std::invalid_argument,
/// as row(), and for options that a row can't have (min_hold; with expiring_lock_columns a ttl of less than 5 s). An
/// exception from loading (odb::object_not_persistent: deleted meanwhile) releases the lock.
/// Cost: one statement to lock; BEGIN, one statement, COMMIT to load.
template <class T>
locked_row<T> lock_row(lock_service& service, odb::database& db, const row_id_of<T>& id,
                       const lock_options& options = {}) {
  return detail::row_maker::load<T>(service, db, id, service.acquire(dlock::row<T>(service, db, id), options));
}

/// Empty when the row is busy: at once, or after options.wait, as lock_service::try_acquire().
/// Errors: as lock_row(), without lock_timeout.
/// Cost: as lock_row(); two statements if it is busy.
template <class T>
locked_row<T> try_lock_row(lock_service& service, odb::database& db, const row_id_of<T>& id,
                           const lock_options& options = {}) {
  return detail::row_maker::load<T>(service, db, id, service.try_acquire(dlock::row<T>(service, db, id), options));
}

}  // namespace dlock
