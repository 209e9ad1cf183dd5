// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Two statements that run code under the lock on a row, in the default service or one that you name. Nothing needs
/// them: define DLOCK_NO_MACROS, use lock_row.hpp and with_lock.hpp instead. All that dlock/macros.hpp says of its
/// statements holds.
///
///   DISTRIBUTED_LOCKED_ROW_AS(row, order, db, 42, {.wait = 2s}) {
///     row->status = "shipped";
///     row.commit();                       // writes and unlocks; without it, nothing is written
///   }
///
///   DISTRIBUTED_LOCKED_ROW(order, db, 42, {.wait = 2s}) { archive(42); }   // locks, does not load
///   DISTRIBUTED_LOCKED_ROW(order, locks, db, 42) { archive(42); }          // of the lock_service `locks`
///
/// The arguments: (the name of the locked_row,) the mapped class, (the lock_service,) the odb::database, the id, then
/// one lock_options; what it leaves open is inherited from the service's defaults. Each is evaluated once, before the
/// body. A class or an id with a comma outside of parentheses needs a name of its own before the statement.

#ifndef DLOCK_NO_MACROS

#include "dlock/macros.hpp"
#include "dlock/odb/lock_row.hpp"

namespace dlock::detail {

template <class T>
locked_row<T> hold_row(lock_service& locks, odb::database& db, const row_id_of<T>& id,
                       const lock_options& options = {}) {
  return lock_row<T>(locks, db, id, options);
}
template <class T>
locked_row<T> hold_row(odb::database& db, const row_id_of<T>& id, const lock_options& options = {}) {
  return lock_row<T>(default_service(), db, id, options);
}
// A key, so that the lock alone is asked for: nothing is loaded that the body can't name.
template <class T>
lease hold_row_unread(lock_service& locks, odb::database& db, const row_id_of<T>& id,
                      const lock_options& options = {}) {
  return locks.acquire(row<T>(locks, db, id), options);
}
template <class T>
lease hold_row_unread(odb::database& db, const row_id_of<T>& id, const lock_options& options = {}) {
  return hold_row_unread<T>(default_service(), db, id, options);
}

}  // namespace dlock::detail

// The tokens of the expansions, where they differ from those of dlock/macros.hpp:
//   ::dlock::locked_row<type>, not const
//     commit(), update() and a plain `row->member = ...` change it. It can be emptied in mid-body: that is its use.

/// Runs the block that follows under the lock on the row of `type` with that id; the locked_row is `row_name` in
/// it.
#define DISTRIBUTED_LOCKED_ROW_AS(row_name, type, database, ...)                          \
  if constexpr ([[maybe_unused]] ::dlock::locked_row<type> row_name =                     \
                    ::dlock::detail::hold_row<type>(database __VA_OPT__(, ) __VA_ARGS__); \
                false) {                                                                  \
  } else                                                                                  \
    DLOCK_DETAIL_A_BLOCK_IN_BRACES_FOLLOWS

/// The same where the entity is not needed: the row is locked, not loaded.
#define DISTRIBUTED_LOCKED_ROW(type, database, ...)                                              \
  if constexpr ([[maybe_unused]] const ::dlock::lease DLOCK_DETAIL_UNIQUE(dlock_lease_) =        \
                    ::dlock::detail::hold_row_unread<type>(database __VA_OPT__(, ) __VA_ARGS__); \
                false) {                                                                         \
  } else                                                                                         \
    DLOCK_DETAIL_A_BLOCK_IN_BRACES_FOLLOWS

#endif
