// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A check of the lock inside your own transaction, after which a late write is impossible.
///
///   odb::transaction t{begin_write(db)};   // dlock/odb/database.hpp; on SQLite it is db.begin_immediate()
///   held.verify(t);                        // or verify(t, from, to): several leases, in a safe order
///   db.update(wallet);
///   t.commit();                            // until here no one else can be granted the key
///
/// The check is one UPDATE of the lock's own row on the transaction's connection. If it finds the row ours, the row
/// stays locked by this transaction: a take-over waits for the commit, whatever happens to this process or its clock.
/// If it does not, or fails in any way, the transaction has been rolled back when verify() throws: nothing of it can be
/// committed. That holds because writes go through the same database; it holds under XA as well. A node of a Galera
/// cluster may roll the transaction back unseen: there the check is repeated before the first write after a read and by
/// t.commit(), which then may throw what verify() throws. On a transaction begun by hand, verify again at these points.
///
/// Of a reader or a permit (lock_options::mode) the check is a SELECT on MySQL and MariaDB that locks the row of the
/// member shared: it keeps those out whom the lease excludes, and lets other members verify, join and leave. It does
/// not hold under XA on MariaDB, whose XA PREPARE releases shared locks. It needs SELECT on the table of members.
///
/// The database must be the one that the lock lives in, and the application's user needs SELECT and UPDATE on the lock
/// table. Renewal is not affected: it writes another table (on SQLite it waits for the transaction, like every writer).
///
/// A lease that ends inside the transaction, verified or not, is released after the transaction's outcome: the next
/// holder sees what was committed. Until then it stays held, renewed, and can be entered again.
///
/// A savepoint: ROLLBACK TO one made before verify() may undo the check. Verify after the last savepoint you may go
/// back to.
/// Thread safety: as the transaction.
/// Cost: one statement for each lease, and once for each database one that asks it who it is; on a Galera cluster one
/// more before COMMIT, and one before the first write after a read.

#include <concepts>
#include <initializer_list>
#include <ranges>
#include <vector>

#include "dlock/detail/odb_compat.hpp"
//
#include <odb/connection.hxx>
#include <odb/transaction.hxx>

#include "dlock/export.hpp"
#include "dlock/lease.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {
DLOCK_EXPORT void verify_all(odb::transaction& in, std::vector<const lease*> held);
DLOCK_EXPORT void verify_all(odb::connection& connection, std::vector<const lease*> held);
/// Makes ODB's transactions known to leases that end inside one.
DLOCK_EXPORT bool watch_odb_transactions() noexcept;
inline const bool odb_transactions_watched = watch_odb_transactions();

template <class Range>
std::vector<const lease*> pointers_to(const Range& held) {
  std::vector<const lease*> all;
  for (const lease& each : held) all.push_back(&each);
  return all;
}
template <class T>
concept range_of_leases = std::ranges::input_range<const T> && std::same_as < std::ranges::range_reference_t<const T>,
const lease& > ;
}  // namespace detail

/// Proves that all of them are ours, in an order that can't deadlock with another verify(). When it throws, the
/// transaction has been rolled back.
/// Precondition: there is a lease, none is empty, and the transaction is open; and if a lease was acquired inside this
/// transaction, it sees what was committed before the grant: it had not read before, or is READ COMMITTED (SQLite:
/// store_error). std::logic_error otherwise. Its
/// database is the one that the locks live in; std::invalid_argument otherwise.
/// Errors: lock_lost, of the first that is not ours; store_error.
template <std::same_as<lease>... More>
void verify(odb::transaction& in, const lease& held, const More&... more) {
  detail::verify_all(in, {&held, &more...});
}
template <detail::range_of_leases Leases>
void verify(odb::transaction& in, const Leases& held) {
  detail::verify_all(in, detail::pointers_to(held));
}

/// The same where the transaction was begun by hand on a connection ("BEGIN"). Release the leases after its end: no
/// callback tells when that is.
template <std::same_as<lease>... More>
void verify(odb::connection& connection, const lease& held, const More&... more) {
  detail::verify_all(connection, {&held, &more...});
}
template <detail::range_of_leases Leases>
void verify(odb::connection& connection, const Leases& held) {
  detail::verify_all(connection, detail::pointers_to(held));
}

}  // namespace dlock
