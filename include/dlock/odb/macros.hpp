// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// Two statements that run code under the lock on a row, in the default service. Nothing needs them: define
/// DLOCK_NO_MACROS, use lock_row.hpp and with_lock.hpp instead. All that dlock/macros.hpp says of its statements holds.
///
///   DISTRIBUTED_LOCKED_ROW_AS(row, order, db, 42, {.wait = 2s}) {
///     row->status = "shipped";
///     row.commit();                       // writes and unlocks; without it, nothing is written
///   }
///
///   DISTRIBUTED_LOCKED_ROW(order, db, 42, {.wait = 2s}) { archive(42); }   // locks, does not load
///
/// The arguments: (the name of the locked_row,) the mapped class, the odb::database, the id, then one lock_options; what
/// it leaves open is inherited from the service's defaults. Each is evaluated once, before the body. A class or an id with a comma outside of
/// parentheses needs a name of its own before the statement.

#ifndef DLOCK_NO_MACROS

#include "dlock/macros.hpp"
#include "dlock/odb/lock_row.hpp"

// The tokens of the expansions, where they differ from those of dlock/macros.hpp:
//   ::dlock::locked_row<type>, not const
//     commit(), update() and a plain `row->member = ...` change it. It can be emptied in mid-body: that is its use.
//   ::dlock::row<type>(service, database, id)
//     A key, so that the lock alone is asked for: nothing is loaded that the body can't name.

/// Runs the statement that follows under the lock on the row of `type` with that id; the locked_row is `row_name` in it.
#define DISTRIBUTED_LOCKED_ROW_AS(row_name, type, database, id, ...)                                              \
  if constexpr ([[maybe_unused]] ::dlock::locked_row<type> row_name =                                             \
                    ::dlock::lock_row<type>(::dlock::default_service(), database, id __VA_OPT__(, ) __VA_ARGS__); \
                false) {                                                                                          \
  } else

/// The same where the entity is not needed: the row is locked, not loaded.
#define DISTRIBUTED_LOCKED_ROW(type, database, id, ...)                                                          \
  if constexpr ([[maybe_unused]] const ::dlock::lease DLOCK_DETAIL_UNIQUE(dlock_lease_) = ::dlock::detail::hold( \
                    ::dlock::row<type>(::dlock::default_service(), database, id) __VA_OPT__(, ) __VA_ARGS__);    \
                false) {                                                                                         \
  } else

#endif
