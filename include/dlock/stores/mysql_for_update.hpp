// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks on rows of a table of your own, each by an open transaction: `select ... where resource = ? for update`. A
/// lock is bound to a connection: the server frees it as soon as that ends, so there is nothing to clean up after a
/// crash. The table stays as it is, and so do other programs that do this by themselves: they exclude dlock, and dlock
/// excludes them. docs/mysql-schemes.md has the statements, and what is promised.
///
///   mysql://user:password@host/database?scheme=for_update&table=lock_table&key=resource
///
/// | parameter | default    | meaning                                                                                     |
/// |-----------|------------|---------------------------------------------------------------------------------------------|
/// | table     | lock_table | the table                                                                                   |
/// | key       | resource   | the column that says what is locked: text or bytes with a unique index of its own           |
/// | held      | 32         | 1 to 10000: how many locks one service may hold at once; each needs a connection            |
/// | make_rows | 0          | 1: a key without a row gets one, of the key alone. 0: that is an error (store_failed)       |
/// | waiters   | 2          | 0 to 64: connections that wait at the server for busy keys, so that no thread has to poll   |
/// |           |            | again and again; keys beyond them are polled with back-off                                  |
///
/// Those of dlock/stores/mysql.hpp that say how to reach the server hold too, with one host; `schema` and `prefix` are
/// errors.
///
/// Leases: those that the service renews (renewal::automatic), with one statement each per third of the ttl. There are
/// no fencing tokens (lease::fencing_token() throws std::logic_error), no verify(), min_hold, renewal::none,
/// renewal::manual and rows locked in place. Keys that the column takes for equal (letter case, blanks at the end, as
/// its collation has it) are one lock; a key that does not fit is std::invalid_argument. lock_service::held_keys() has
/// the keys of this very store.

#include <cstddef>
#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// What the URL does not name.
struct for_update_options {
  std::string table = "lock_table";  ///< 1 to 64 characters
  std::string key = "resource";      ///< likewise
  std::size_t held = 32;             ///< 1 to 10000
  bool make_rows = false;
  std::size_t waiters = 2;  ///< 0 to 64
};

/// Makes the store, which connects to nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value. The store's prepare() throws store_error where
/// the table lacks something, on a node of a Galera cluster, and behind a proxy.
DLOCK_EXPORT std::shared_ptr<store> open_for_update(store_url url, const for_update_options& options = {});

}  // namespace dlock::stores
