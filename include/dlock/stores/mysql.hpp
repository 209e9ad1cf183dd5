// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in InnoDB tables of a MySQL (8.0 or later) or MariaDB (10.5 or later) database. Linking dlock::mysql makes
/// the scheme known to open_store().
///
///   mysql://user:password@host:port,host2:port2/database?parameter=value&...
///   mysql://user:password@/database?socket=/run/mysqld/mysqld.sock
///
/// Several hosts are tried in turn, beginning with the last that worked; one that takes no writes (read_only,
/// super_read_only, innodb_read_only) is passed over. They must lead to the same data: one primary and its heirs, or
/// the nodes of a Galera cluster. A named host is always reached by TCP, "localhost" too; port 3306 unless given.
///
/// | parameter         | values, default               | meaning                                                      |
/// |-------------------|-------------------------------|--------------------------------------------------------------|
/// | socket            | a path, none                  | a Unix socket instead of a host                              |
/// | tls               | off, prefer, require, verify; | require: an encrypted connection or none. verify: and the    |
/// |                   | prefer, with a socket off     | server's certificate must be right for its name; only this   |
/// |                   |                               | keeps out who can change packets on the way                  |
/// | tls_ca            | a file, the system's          | certificates to trust                                        |
/// | tls_cert, tls_key | files, none                   | our own certificate and its key                              |
/// | credentials       | a name, none                  | set_mysql_credentials() says with which user and password    |
/// |                   |                               | each connection logs in; the URL has none then               |
/// | schema            | create, verify, none; create  | create: make missing tables, migrate older ones; needs       |
/// |                   |                               | CREATE (ALTER to migrate) only when there is work to do.     |
/// |                   |                               | verify: they must be there. none: don't look                 |
/// | prefix            | 1 to 40 word characters,      | begins the names of the tables lock, session, floor, waiter  |
/// |                   | dlock_                        | and schema_version                                           |
/// | wake              | on, off; on                   | on: a release wakes who has waited for more than a moment    |
/// |                   |                               | (docs/waiting.md); a process that waits has two more         |
/// |                   |                               | connections. off: waiters poll; releases wake all the same   |
/// | connect_timeout   | ms, 5000; 1 to 3600000        | for one attempt to connect, rounded up to whole seconds      |
/// | statement_timeout | ms, 5000; 1 to 3600000        | without an answer for so long, rounded up to whole seconds,  |
/// |                   |                               | a statement has an unknown outcome, its connection is ended  |
///
/// | scheme            | lease_table, unique_insert,   | which tables, and how: this page describes lease_table. The  |
/// |                   | state_row, shedlock, t_lock,  | others use a table that you have, or none, and have          |
/// |                   | for_update, named_lock;       | their parameters in mysql_shared_tables.hpp,                 |
/// |                   | lease_table                   | mysql_for_update.hpp and mysql_named_lock.hpp                |
///
/// Any other parameter is an error. The password is in no text that dlock makes. The user needs SELECT, INSERT,
/// UPDATE and DELETE on the tables; KILL of its own connections needs no privilege. Programs that wake each other share
/// one user, or have the right to KILL the connections of others.

#include <functional>
#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// Makes the store, which connects to nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value.
DLOCK_EXPORT std::shared_ptr<store> open_mysql(store_url url);

struct mysql_login {
  std::string user{};
  std::string password{};
};

/// For passwords that change while the program runs: a URL with credentials=`name` asks the function at each login, of
/// dlock's connections and of those of open_database(). It may be called from several threads at once; what it throws
/// is the reason why that connection is not made. A second call with that name replaces the function.
///
/// Errors: std::invalid_argument, no name or no function.
/// Thread safety: any thread.
DLOCK_EXPORT void set_mysql_credentials(std::string name, std::function<mysql_login()> ask);

}  // namespace dlock::stores
