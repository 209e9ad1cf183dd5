// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The application's own database beside its locks, on both databases alike.
///
///   const auto db = dlock::open_database("mysql://app:secret@db.example.com/shop");   // the same URL as for the locks
///   odb::transaction t{dlock::begin_write(*db)};
///   held.verify(t);
///   db->update(wallet);
///   t.commit();
///
/// Both are conveniences: any odb::database will do for everything in dlock/odb/.

#include "dlock/detail/odb_compat.hpp"
//
#include <odb/database.hxx>
#include <odb/transaction.hxx>

#include <memory>
#include <string_view>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// A database for ODB, with a pool of connections that are made as they are needed, at the place that a lock store's
/// URL names. Connects to nothing yet.
///
/// mysql: the hosts are tried in turn, one that takes no writes is passed over; tls, connect_timeout and socket mean
/// what they mean for locks; texts are utf8mb4; the session has the server's settings, and no statement a time limit.
/// On MariaDB wsrep_sync_wait includes 1, so that on a Galera cluster a transaction begins after what was committed at
/// other nodes. sqlite: connections do not share a cache, enforce foreign keys, and wait up to 20 s (busy_timeout, if
/// that is longer) while others write.
///
/// Errors: std::invalid_argument, a bad URL, or one that leads to no database of ODB's (memory:); std::logic_error,
/// dlock::odb_mysql or dlock::odb_sqlite is not linked. Connecting, in ODB's functions, throws what ODB throws.
/// Thread safety: of the database, any thread, as ODB says.
DLOCK_EXPORT std::unique_ptr<odb::database> open_database(std::string_view url);

/// Begins a transaction that writes: odb::transaction t{begin_write(db)}. Where transactions that read first could be
/// refused later, it takes the right to write at once: on SQLite it is BEGIN IMMEDIATE, on MySQL and MariaDB BEGIN.
/// Precondition: for an SQLite database dlock::odb_sqlite is linked; std::logic_error otherwise.
/// Cost: that statement.
DLOCK_EXPORT odb::transaction_impl* begin_write(odb::database& db);

}  // namespace dlock
