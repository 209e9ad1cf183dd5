// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in a table of your own, beside programs that lock there by their own SQL: they exclude dlock, and dlock
/// excludes them. The table stays as it is. docs/mysql-schemes.md has the statements, and what is promised.
///
///   mysql://user:password@host/database?scheme=unique_insert&table=lock_table&key=resource
///   mysql://user:password@host/database?scheme=state_row&table=lock_table&key=lock_name
///   mysql://user:password@host/database?scheme=shedlock&table=shedlock
///   mysql://user:password@host/database?scheme=t_lock&table=t_lock&skew=1000
///
/// The parameters of dlock/stores/mysql.hpp that say how to reach the server hold too; `schema` and `prefix` are
/// errors. The rest depends on the scheme.
///
/// Leases: expiring ones, which the service renews with one statement each per third of the ttl (renewal::automatic),
/// or the caller, or no program. There are no verify(), min_hold and rows locked in place. Keys that the column takes
/// for equal (letter case, blanks at the end, as its collation has it) are one lock; a key that does not fit is
/// std::invalid_argument.
///
/// wake=on in the URL, or `wake` below: a release by dlock wakes a waiter of dlock (docs/waiting.md), in whatever
/// process. The database needs the table dlock_waiter_<table> for it, which sql/waiter.sql makes, and the user SELECT,
/// INSERT and DELETE on it; without them waiters only poll. wake=off, the default: they only poll. What other programs
/// release is found by polling in both cases.
///
/// unique_insert, state_row and shedlock have no fencing tokens, because no column counts grants and a deleted row
/// keeps no number: lease::fencing_token() throws std::logic_error. They refuse a table without owner or expiry.

#include <chrono>
#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// A row is a lock: to insert it takes the key, which a unique index allows once, and to delete it frees the key. What
/// the URL does not name; each 1 to 64 characters, `state` may be empty.
///
/// | parameter | default          | the column that holds                                                               |
/// |-----------|------------------|-------------------------------------------------------------------------------------|
/// | table     | lock_table       | (the table)                                                                         |
/// | key       | resource         | what is locked: text or bytes with a unique index of its own                        |
/// | owner     | lock_owner       | who holds it: text of 49 characters or more; '' means free                          |
/// | expiry    | lock_expire_time | until when: TIMESTAMP or DATETIME, which others compare with NOW()                  |
/// | state     | (none)           | a number that must be set and that no one reads, where the table has one: dlock     |
/// |           |                  | writes 1                                                                            |
struct unique_insert_options {
  std::string table = "lock_table";
  std::string key = "resource";
  std::string owner = "lock_owner";
  std::string expiry = "lock_expire_time";
  std::string state{};
  bool wake = false;
};

/// A row for each key, and a state that says whether it is taken: `update ... set lock_state = 1 where lock_name = ?
/// and lock_state = 0`. Rows that were made beforehand are used; a key without one gets its row at its first use. What
/// the URL does not name; each 1 to 64 characters.
///
/// | parameter | default         | the column that holds                                                                |
/// |-----------|-----------------|--------------------------------------------------------------------------------------|
/// | table     | lock_table      | (the table)                                                                          |
/// | key       | lock_name       | what is locked: text or bytes with a unique index of its own                         |
/// | state     | lock_state      | a number: 0 is free, everything else is taken; dlock writes 1                        |
/// | owner     | lock_info       | who holds it: text of 49 characters or more                                          |
/// | expiry    | expiration_time | until when: TIMESTAMP or DATETIME, which others compare with NOW(); NULL: no end    |
struct state_row_options {
  std::string table = "lock_table";
  std::string key = "lock_name";
  std::string state = "lock_state";
  std::string owner = "lock_info";
  std::string expiry = "expiration_time";
  bool wake = false;
};

/// ShedLock's table, shedlock(name, lock_until, locked_at, locked_by): a row for each key, which is free when
/// lock_until has passed. ShedLock's programs must use the database's time (usingDbTime()), and the sessions of both
/// the server's time zone. A parameter of the URL replaces its default; each name has 1 to 64 characters.
///
/// | parameter | default    | the column that holds                                                                   |
/// |-----------|------------|-----------------------------------------------------------------------------------------|
/// | table     | shedlock   | (the table)                                                                             |
/// | key       | name       | what is locked: text or bytes with a unique index of its own                            |
/// | owner     | locked_by  | who holds it: text of 49 characters or more; a release by dlock writes ''               |
/// | expiry    | lock_until | until when: TIMESTAMP or DATETIME, in UTC                                               |
/// | since     | locked_at  | since when: TIMESTAMP or DATETIME, in UTC                                               |
struct shedlock_options {
  std::string table = "shedlock";
  std::string key = "name";
  std::string owner = "locked_by";
  std::string expiry = "lock_until";
  std::string since = "locked_at";
  bool wake = false;
};

/// The table t_lock(lock_key, request_id, lock_count, timeout, version), and its well-known protocol: read the row,
/// then compare-and-set by version. lease::fencing_token() is the row's version at the grant: it grows as long as
/// no program deletes a row of the table or sets a version back, which neither dlock nor the protocol does. Keys are at
/// most as long as the column (32 characters). What the URL does not name.
///
/// | parameter | default | meaning                                                                                   |
/// |-----------|---------|-------------------------------------------------------------------------------------------|
/// | table     | t_lock  | the table; its columns have the names above                                               |
/// | skew      | 1000    | ms, 0 to 3600000: by how much the clocks of the other programs may differ from the        |
/// |           |         | server's. Ours end by the server's clock alone                                            |
///
/// A request that several processes or programs serve by one id, dlock::owner{id}, enters again what any of them holds.
/// Its leases are not renewed automatically, and take a statement more. Other programs of it must not lock for less
/// time.
///
/// A program whose clock is wrong by more than `skew` can take any lock early, as it can take those of the same
/// protocol: hand the fencing token to what the lock protects.
struct t_lock_options {
  std::string table = "t_lock";           ///< 1 to 64 characters
  std::chrono::milliseconds skew{1'000};  ///< 0 to an hour
  bool wake = false;
};

/// Make the stores, which connect to nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value. The store's prepare() throws store_error, which
/// names what is missing: the table, a column, its type or room, a unique index.
DLOCK_EXPORT std::shared_ptr<store> open_unique_insert(store_url url, const unique_insert_options& options = {});
DLOCK_EXPORT std::shared_ptr<store> open_state_row(store_url url, const state_row_options& options = {});
DLOCK_EXPORT std::shared_ptr<store> open_shedlock(store_url url, const shedlock_options& options = {});
DLOCK_EXPORT std::shared_ptr<store> open_t_lock(store_url url, const t_lock_options& options = {});

}  // namespace dlock::stores
