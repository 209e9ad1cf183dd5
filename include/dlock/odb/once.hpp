// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Work that is done exactly once, because its mark is committed with it:
///
///   odb::transaction t{dlock::begin_write(db)};
///   locks.once(t, "payment:7", [&] { db.persist(payment); });
///   t.commit();
///
/// The mark is a row that the transaction inserts, and the table's unique key decides: of two transactions that mark
/// the same key, the second one waits for the outcome of the first. If that commits, the second one is told that it is
/// done; if it is rolled back, the second one does the work. No lock is needed, and the server's lock wait timeout
/// limits the wait, not lock_options::wait. The work that counts is what this transaction writes.
///
/// Until the transaction has ended, a failure undoes both. What is done elsewhere (a message, a file) is done at least
/// once: the transaction may be rolled back afterwards.
///
/// The database must be the one that the locks live in, and the application's user needs SELECT, INSERT and UPDATE on
/// the table of marks (dlock_done).

#include "dlock/detail/odb_compat.hpp"
//
#include <odb/transaction.hxx>

#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/once.hpp"

namespace DLOCK_EXPORT dlock {

/// What lock_service::once(transaction, ...) calls: marks the key, unless it is marked. Returns whether it did.
/// Precondition: the transaction is open, on the database of the locks; std::logic_error or std::invalid_argument
/// otherwise.
/// Errors: store_error, and then the transaction has been rolled back: transient() after a deadlock, or if the other
/// transaction took longer than the server waits for a lock; std::invalid_argument, a bad option;
/// std::logic_error, the store keeps no marks, or is no database.
/// Cost: one statement if it is done, else two; up to three more if another one marks it at the same time, or an
/// expired mark is replaced.
DLOCK_EXPORT bool once_in(odb::transaction& in, lock_service& service, const lock_key& key,
                          const once_options& options);
/// What it calls after the function.
/// Errors: std::logic_error or store_error (transient()), the transaction is not open any more: a deadlock that the
/// function ignored has rolled it back, or a statement that commits by itself (DDL, for example) has ended it.
/// Cost: nothing.
DLOCK_EXPORT void end_once_in(odb::transaction& in, lock_service& service, const lock_key& key);
/// Rolls it back, unless it has ended.
DLOCK_EXPORT void roll_back_once(odb::transaction& in, const lock_key& key) noexcept;

}  // namespace dlock
