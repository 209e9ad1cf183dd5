// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in a table of your own that has a row for each key, and a state that says whether it is taken: `update ... set
/// lock_state = 1 where lock_name = ? and lock_state = 0`. The table stays as it is, and so do other programs that do this by
/// themselves: they exclude dlock, and dlock excludes them. docs/mysql-schemes.md has the statements, and what is promised.
///
///   mysql://user:password@host/database?scheme=state_row&table=lock_table&key=lock_name
///
/// | parameter | default         | the column that holds                                                                |
/// |-----------|-----------------|--------------------------------------------------------------------------------------|
/// | table     | lock_table      | (the table)                                                                          |
/// | key       | lock_name       | what is locked: text or bytes with a unique index of its own                         |
/// | state     | lock_state      | a number: 0 is free, everything else is taken; dlock writes 1                        |
/// | owner     | lock_info       | who holds it: text of 49 characters or more                                          |
/// | expiry    | expiration_time | until when: TIMESTAMP or DATETIME, which others compare with NOW(); NULL: for ever   |
///
/// Those of dlock/stores/mysql.hpp that say how to reach the server hold too; `schema` and `prefix` are errors.
///
/// Rows that were made beforehand are used; a key without one gets its row at its first use. Leases, and what there is not
/// (fencing tokens, verify(), min_hold, rows locked in place), as of dlock/stores/mysql_unique_insert.hpp: the table has no
/// column that counts grants. A table without owner or expiry is refused.

#include <memory>
#include <string>

#include "dlock/store/store_url.hpp"

namespace dlock::stores {

/// What the URL does not name. Each 1 to 64 characters.
struct state_row_options {
  std::string table = "lock_table";
  std::string key = "lock_name";
  std::string state = "lock_state";
  std::string owner = "lock_info";
  std::string expiry = "expiration_time";
};

/// Connects to nothing yet. Throws std::invalid_argument naming the parameter and its value. The store's prepare() throws
/// store_error, which names what is missing: the table, a column, its type or room, a unique index.
std::shared_ptr<store> open_state_row(store_url url, const state_row_options& options = {});

}  // namespace dlock::stores
