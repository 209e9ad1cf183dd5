// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in an SQLite file, for the processes of one host.
///
///     sqlite:path                    relative to the working directory, or absolute
///     sqlite:///path                 absolute
///     sqlite:path?schema=verify&prefix=locks_&busy_timeout=2000
///
/// - schema: create (default) makes the file and the tables if missing, and migrates older ones; verify refuses to work
///   if they are missing or of another version; none trusts that they are there.
/// - prefix: of the table names, 1 to 40 letters, digits and '_'. Default dlock_.
/// - busy_timeout: how long, in ms, a statement waits while others write to the file. Default 5000; 1 to 3600000.
///   At most 1000 counts where a call waits for a key or frees one: then the key is busy, and asked for again within
///   the wait.
/// - filesystem: local (default) refuses a file on NFS, SMB, 9p, FUSE and other file systems that machines may share,
///   one that is mounted without its folder, and one with hard links. any does not look.
///
/// - wake: on (default): a waiter sleeps until the release of another process wakes it, by a small file
///   `<database>-wake` that the first waiter makes; docs/waiting.md says more. off: waiters poll.
///
/// An unknown parameter, an empty path, `:memory:` (for locks within one process: memory:) and sqlite://path (that
/// would be a host) are std::invalid_argument.
///
/// The file is put into WAL mode and written with synchronous=FULL: a grant that was reported survives a crash. It must
/// be on a file system of this host: WAL does not work on network file systems, nor between a host and its virtual
/// machines. All processes must share the kernel and its CLOCK_BOOTTIME. Containers of one host do, also with boot ids
/// of their own, but not in a time namespace that shifts that clock, which prepare() refuses.
///
/// Time is CLOCK_BOOTTIME. After a reboot no holder is alive. The first prepare() frees what they left where the file
/// shows times that are still to come; what it can't tell from the living ends within its ttl.
///
/// SQLite has one writer at a time. A transaction that any program keeps open for writing in that file stops
/// renewals too: longer than ttl - margin, and the leases are lost. Keep such transactions short, or give the
/// locks a file of their own. A thread whose current odb::transaction writes to that file may not wait for a
/// lock at all, it would wait for itself: transactional_store::caller_may_wait() says so, if dlock::odb_sqlite is
/// linked. Transactions made without ODB can't be seen.
///
/// For the same reason a transaction that verifies a lease begins with BEGIN IMMEDIATE (odb::sqlite:
/// begin_immediate()): one that has read before it writes can't write any more once anybody else has.
///
/// Rows locked in place (dlock/odb/) are those of the same file. With row_renewal::column their expiry is text in UTC,
/// 'YYYY-MM-DD HH:MM:SS', rounded up to the second, and by the wall clock: what other programs compare with
/// datetime('now'). The other expiries in rows go by the clock of this boot, shifted so that it about shows the wall
/// clock's time, and end after a reboot about when they would have ended without.
///
/// A child of fork() can't open a file that its parent had open at the fork (store_error): SQLite's locks do not
/// survive that. Close the parent's service before, or call exec() after it.
///
/// Deleting or replacing the file while it is in use is detected at the next statement; the leases in it are lost.

#include <memory>

#include "dlock/export.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// Makes the store, which opens nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value. The store's prepare() throws store_error: no such
/// folder, no permission, not a database, a file system that machines may share, no WAL on it, schema missing or of
/// another version.
DLOCK_EXPORT std::shared_ptr<store> open_sqlite(store_url url);

}  // namespace dlock::stores
