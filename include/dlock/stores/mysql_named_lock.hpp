// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in the memory of a MySQL (8.0 or later) or MariaDB (10.5 or later) server: GET_LOCK. There is no table, and
/// nothing is written to a disk. All locks of a process are on one connection for each ttl that it uses, thousands of
/// them if need be; the server frees them when that connection ends. docs/mysql-schemes.md says what is promised, and
/// what is not.
///
///   mysql://user:password@host/database?scheme=named_lock
///
/// | parameter | default         | meaning                                                                              |
/// |-----------|-----------------|--------------------------------------------------------------------------------------|
/// | prefix    | the database's  | what the names of the locks begin with: up to 64 printable ASCII characters. Named   |
/// |           | name and ':'    | locks belong to the server, whatever the database                                    |
/// | waiters   | 2               | 0 to 64: connections that wait at the server for busy keys, so that no thread polls   |
/// |           |                 | poll again and again; keys beyond them are polled with back-off                      |
///
/// Those of dlock/stores/mysql.hpp that say how to reach the server hold too, with one host; `schema` is an error.
///
/// A key's lock has the name prefix + key, and another program that calls GET_LOCK with this name excludes dlock, and
/// dlock excludes it. Where the servers would take two names for one, or a name is longer than 64 characters, it is
/// CONCAT('#', LEFT(SHA2(<prefix + key>, 256), 63)): if it has a capital letter, anything but printable ASCII, a blank
/// at its end or '#' at its beginning.
///
/// Leases: those that the service renews (renewal::automatic), one statement per ttl in use and third of it. There are
/// no fencing tokens (lease::fencing_token() throws std::logic_error), no verify(), min_hold, renewal::none,
/// renewal::manual and rows. lock_service::held_keys() has the keys of this very store, because the server tells no
/// names.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// What the URL does not name.
struct named_lock_options {
  std::size_t waiters = 2;              ///< 0 to 64
  std::optional<std::string> prefix{};  ///< 0 to 64 printable ASCII characters; unset: the database's name and ':'
};

/// Makes the store, which connects to nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value. The store's prepare() throws store_error where a
/// named lock could be granted twice: on a node of a Galera cluster, behind a proxy.
DLOCK_EXPORT std::shared_ptr<store> open_named_lock(store_url url, const named_lock_options& options = {});

}  // namespace dlock::stores
