// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in a table of your own where a row is a lock: to insert it takes the key, which a unique index allows once, and to
/// delete it frees the key. The table stays as it is, and so do other programs that insert and delete there by themselves:
/// they exclude dlock, and dlock excludes them. docs/mysql-schemes.md has the statements, and what is promised.
///
///   mysql://user:password@host/database?scheme=unique_insert&table=lock_table&key=resource
///
/// | parameter | default          | the column that holds                                                               |
/// |-----------|------------------|-------------------------------------------------------------------------------------|
/// | table     | lock_table       | (the table)                                                                         |
/// | key       | resource         | what is locked: text or bytes with a unique index of its own                        |
/// | owner     | lock_owner       | who holds it: text of 49 characters or more; '' is nobody                           |
/// | expiry    | lock_expire_time | until when: TIMESTAMP or DATETIME, which others compare with NOW()                  |
/// | state     | (none)           | a number that must be set and that nobody reads, where the table has one: dlock     |
/// |           |                  | writes 1                                                                            |
///
/// Those of dlock/stores/mysql.hpp that say how to reach the server hold too; `schema` and `prefix` are errors.
///
/// Leases: expiring ones, which the service renews with one statement each per third of the ttl (renewal::automatic), or the
/// caller, or nobody. There are no fencing tokens, because a deleted row keeps no number: lease::fencing_token() throws
/// std::logic_error. Neither are there verify(), min_hold and rows. Keys that the column takes for equal (letter case, blanks
/// at the end, as its collation has it) are one lock; a key that does not fit is std::invalid_argument.

#include <memory>
#include <string>

#include "dlock/store/store_url.hpp"

namespace dlock::stores {

/// What the URL does not name. Each 1 to 64 characters; `state` may be empty.
struct unique_insert_options {
  std::string table = "lock_table";
  std::string key = "resource";
  std::string owner = "lock_owner";
  std::string expiry = "lock_expire_time";
  std::string state{};
};

/// Connects to nothing yet. Throws std::invalid_argument naming the parameter and its value. The store's prepare() throws
/// store_error, which names what is missing: the table, a column, its type or room, a unique index.
std::shared_ptr<store> open_unique_insert(store_url url, const unique_insert_options& options = {});

}  // namespace dlock::stores
