// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in the table t_lock(lock_key, request_id, lock_count, timeout, version), beside programs that lock there by its
/// well-known protocol: read the row, then compare-and-set by version. They exclude dlock, and dlock excludes them; the table
/// stays as it is. docs/mysql-schemes.md has the statements, and what is promised.
///
///   mysql://user:password@host/database?scheme=t_lock&table=t_lock&skew=1000
///
/// | parameter | default | meaning                                                                                   |
/// |-----------|---------|-------------------------------------------------------------------------------------------|
/// | table     | t_lock  | the table; its columns have the names above                                               |
/// | skew      | 1000    | ms, 0 to 3600000: by how much the clocks of the other programs may differ from the        |
/// |           |         | server's. Ours end by the server's clock alone                                            |
///
/// Those of dlock/stores/mysql.hpp that say how to reach the server hold too; `schema` and `prefix` are errors.
///
/// Leases: expiring ones, which the service renews with one statement each per third of the ttl (renewal::automatic), or the
/// caller, or nobody. lease::fencing_token() is the row's version at the grant: it grows as long as nobody deletes a row of
/// the table or sets a version back, which neither dlock nor the protocol does. There are no verify(), min_hold and rows
/// locked in place. Keys are at most as long as the column (32 characters); those that it takes for equal are one lock.
///
/// A request that several processes or programs serve by one id, dlock::owner{id}, enters again what any of them holds. Its
/// leases are not renewed automatically, and take a statement more. Other programs of it must not lock for less time.
///
/// A program whose clock is wrong by more than `skew` can take any lock early, as it can take those of its own kind: hand
/// the fencing token to what the lock protects.

#include <chrono>
#include <memory>
#include <string>

#include "dlock/store/store_url.hpp"

namespace dlock::stores {

/// What the URL does not name.
struct t_lock_options {
  std::string table = "t_lock";           ///< 1 to 64 characters
  std::chrono::milliseconds skew{1'000};  ///< 0 to an hour
};

/// Connects to nothing yet. Throws std::invalid_argument naming the parameter and its value. The store's prepare() throws
/// store_error, which names what is missing: the table, a column, its type or room.
std::shared_ptr<store> open_t_lock(store_url url, const t_lock_options& options = {});

}  // namespace dlock::stores
